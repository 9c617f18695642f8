// Messages of the documentation and of real sessions fit the generated types.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { Checker } from './messages.js';
import { directory, folder } from './helpers.js';

const run = promisify(execFile);

/** Compiles the checks within the package, so that they import it as its users do. */
async function compile(name: string, checker: Checker): Promise<void> {
  const path = join(folder, 'build', 'checks', name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'messages.ts'), checker.source());
  writeFileSync(join(path, 'tsconfig.json'), JSON.stringify({ extends: '../../../tsconfig.json', compilerOptions: { noEmit: true, rootDir: '../../..' }, include: ['.'] }));
  const tsc = join(folder, 'node_modules', 'typescript', 'bin', 'tsc');
  await run(process.env['NODE'] ?? 'node', [tsc, '-p', path]).catch(({ stdout }) => assert.fail(stdout.slice(0, 10_000)));
}

test('the messages of docs/protocol.md have the generated types', async () => {
  const checker = new Checker();
  const page = readFileSync(join(folder, '..', '..', 'docs', 'protocol.md'), 'utf8');
  for (const [, block] of page.matchAll(/^```json\n(.*?)^```/gms)) {
    // "…" stands for members that are left out.
    const lines = block!.split('\n').filter((line) => line.includes('"jsonrpc"') && !line.includes('"…"'));
    const messages = lines.map((line) => JSON.parse(line));
    const [client, server] = [true, false].map((own) => messages.filter((message) => ofClient(message) === own));
    checker.add(client!, server!);
  }
  assert.ok(checker.count > 60, `only ${checker.count} messages`);
  await compile('docs', checker);
});

test('the messages of the conformance sessions have the generated types', { timeout: 300_000 }, async (t) => {
  const path = directory(t);
  const tee = join(path, 'tee');
  // The server of the sessions, with all that goes in and out of it written down.
  writeFileSync(tee, `#!/bin/bash\ntee '${path}'/$$.in | '${process.env['SHELLD']}' | tee '${path}'/$$.out\nexit "\${PIPESTATUS[1]}"\n`, { mode: 0o755 });
  // Whether sessions pass is tested elsewhere: here the tee may make one slower than it has to be.
  await run(process.env['SHELLD']!, ['conformance', 'run', '-framing', 'line', '-within', '5s', '-j', '12', '--', tee]).catch(() => {});
  const checker = new Checker();
  for (const name of readdirSync(path).filter((file) => file.endsWith('.in'))) {
    const [client, server] = ['in', 'out'].map((way) => readFileSync(join(path, name.replace(/in$/, way)), 'utf8').split('\n').flatMap(parse));
    checker.add(client!, server!);
  }
  t.diagnostic(`${checker.count} messages, ${checker.shapes} shapes`);
  assert.ok(checker.count > 4000, `only ${checker.count} messages`);
  await compile('sessions', checker);
});

/** Whether a message on a page is the client's: its answers are those to ids that the server has chosen. */
function ofClient({ id, method }: { id?: unknown; method?: string }): boolean {
  if (method === undefined) return typeof id === 'string';
  return !/^(client\/|log\/|session\/(clientJoined|clientLeft|replaced)$|job\/(started|output|patternMatched|watchRemoved|stateChanged|screenChanged|waitingForInput|commandFinished|inputChanged|exited|closed)$)/.test(method) && !(method.startsWith('$') && id === undefined);
}

/** Sessions send malformed messages, too. */
function parse(line: string): object[] {
  try {
    const message = JSON.parse(line);
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? [message] : [];
  } catch {
    return [];
  }
}
