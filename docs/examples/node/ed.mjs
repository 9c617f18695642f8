// Edits a file with ed, the standard editor, on a terminal of its own.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, serverCommand } from './client.mjs';

const prompt = { pattern: '^ED> ', flags: 'm' }; // flag m: ^ matches at the start of each line
const directory = await mkdtemp(join(tmpdir(), 'shelld-'));
const path = join(directory, 'poem.txt');

/** Types a line, waits for ed's next prompt, and resolves to all that the terminal showed. */
async function command(shelld, line) {
  const { outcome } = await shelld.request('job/write',
    { handle: 'editor', input: line, appendNewline: true, wait: { until: [prompt] } });
  assert.equal(outcome.reason, 'pattern');
  return outcome.output.pty.text;
}

try {
  await writeFile(path, 'Roses are red\n');
  const shelld = await connect(serverCommand());

  console.log('Starting ed on a file with one line.');
  const started = await shelld.request('job/start',
    { argv: ['ed', '-p', 'ED> ', path], name: 'editor', wait: { until: [prompt] } });
  assert.equal(started.outcome.reason, 'pattern');
  assert.match(started.outcome.output.pty.text, /^14$/m, 'ed tells the size of the file');

  console.log('Appending two lines, and correcting one.');
  await command(shelld, 'a\nViolets are green\nSugar is sweet\n.'); // a lone dot ends the text
  assert.match(await command(shelld, '2s/green/blue/p'), /^Violets are blue$/m);

  console.log('Writing the file.');
  assert.match(await command(shelld, 'w'), /^46$/m);

  console.log('Leaving ed.');
  const { outcome } = await shelld.request('job/write',
    { handle: 'editor', input: 'q', appendNewline: true, wait: { until: [{ exit: true }] } });
  assert.equal(outcome.reason, 'exit');
  assert.equal(outcome.job.exit.code, 0);

  const text = await readFile(path, 'utf8');
  assert.equal(text, 'Roses are red\nViolets are blue\nSugar is sweet\n');
  console.log(`The file now reads:\n\n${text}`);

  await shelld.close();
  console.log('The server ended with status 0.');
} finally {
  await rm(directory, { recursive: true });
}
