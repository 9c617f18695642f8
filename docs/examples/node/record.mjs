// Drives one of four real programs: python, bash, ed or less. What went over the wire while
// it did so is in conformance/sessions/core/recorded-*.txtar, as sessions of the conformance suite:
//
//     node record.mjs ed shelld conformance record -o ed.txtar -- shelld
import assert from 'node:assert/strict';
import { connect } from './client.mjs';

const [name, ...server] = process.argv.slice(2);
const drives = { python, bash, ed, less };
assert.ok(drives[name], `usage: node record.mjs ${Object.keys(drives).join('|')} SERVER COMMAND...`);

const shelld = await connect(server);
const closed = shelld.nextNotification('job/closed');
await drives[name]();
await closed;
await shelld.close();

/** Types into the job, and resolves to the outcome of waiting for one of the conditions. */
async function type(params, ...until) {
  const { outcome } = await shelld.request('job/write', { handle: name, ...params, wait: { until } });
  assert.ok(['pattern', 'exit'].includes(outcome.reason), `${JSON.stringify(params)}: ${outcome.reason}`);
  return outcome;
}

/** Types a line. */
async function enter(input, ...until) {
  return type({ input, appendNewline: true }, ...until);
}

async function start(params, ...until) {
  const { outcome } = await shelld.request('job/start', { ...params, name, wait: { until } });
  assert.equal(outcome.reason, 'pattern');
}

/** Python's own prompt. What an answer looks like besides the patterns depends on its version. */
async function python() {
  // A dumb terminal keeps newer versions from colours and from redrawing the line.
  await start({ argv: ['python3', '-I', '-q'], env: { TERM: 'dumb' } }, { pattern: '^>>> $', flags: 'm' });
  const answer = await enter('6*7', { pattern: '^(\\d+)\\r\\n>>> $', flags: 'm' });
  assert.deepEqual(answer.match.groups, ['42']);
  const wrong = await enter('1/0', { pattern: '^(\\w+): (.*)\\r\\n>>> $', flags: 'm' });
  assert.deepEqual(wrong.match.groups, ['ZeroDivisionError', 'division by zero']);
  const { job } = await enter('exit()', { exit: true });
  assert.equal(job.exit.code, 0);
}

/** A shell at its prompt: several commands, one that fails, and a question with echo off. */
async function bash() {
  const prompt = { pattern: '^\\$ $', flags: 'm' };
  await start({ argv: ['bash', '--norc', '--noprofile', '-i'], env: { PS1: '$ ', TERM: 'dumb', LC_ALL: 'C' } }, prompt);
  await enter('greet() { echo "hello, $1"; }', prompt);
  await enter('for who in Ada Grace; do greet $who; done', prompt);
  await enter('echo one two three | wc -w; echo $$', prompt);
  await enter('false; echo status $?', prompt);
  await enter("read -rsp 'Password: ' word; echo; echo ${#word} characters", { pattern: 'Password: $' });
  await enter('correct horse', prompt);
  const { job } = await enter('exit 3', { exit: true });
  assert.equal(job.exit.code, 3);
}

/** The standard editor, on pipes. */
async function ed() {
  await start({ argv: ['ed', '-p', '* '], mode: 'pipe', stdin: 'open' }, { pattern: '\\* $' });
  // It waits for the prompt each time: what is typed ahead is answered who knows when.
  const command = (input) => type({ input }, { pattern: '\\* $' });
  await command('a\nRoses are red\nViolets are green\n.\n');
  const line = await command('2s/green/blue/p\n');
  assert.match(line.output.stdout.text, /^Violets are blue$/m);
  await command('w poem.txt\n');
  await command(',n\n');
  await command('!rm poem.txt\n');
  await command('nonsense\n');
  const { job } = await type({ input: 'Q\n', eof: true }, { exit: true });
  assert.equal(job.exit.code, 1, 'ed remembers the error where it reads no terminal');
}

/** A pager, as git starts one: a page, a search, the end. How it paints depends on its version. */
async function less() {
  const at = (line) => ({ pattern: `^${line}\\r?\\n(?:.*\\r?\\n?)*:`, flags: 'm' });
  await start({ command: 'seq 100 | less', env: { TERM: 'vt100', LESS: 'FRX' }, rows: 10 }, at(9));
  await type({ input: ' ' }, at(18));
  await type({ input: '/77\r' }, at(77));
  await type({ keys: ['Down'] }, { pattern: '86' });
  const { job } = await type({ input: 'q' }, { exit: true });
  assert.equal(job.exit.code, 0);
}
