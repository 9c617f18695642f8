// Talks to Python's own prompt: an expression, a function over several lines, an exception.
import assert from 'node:assert/strict';
import { connect, serverCommand } from './client.mjs';

// Which of the two prompts came is told by the outcome's index.
const ready = 0, more = 1;
const prompts = { until: [{ pattern: '^>>> ', flags: 'm' }, { pattern: '^\\.\\.\\. ', flags: 'm' }] };

const shelld = await connect(serverCommand());

/** Types a line, waits for the prompt that must follow, and resolves to what stands between them. */
async function enter(line, prompt = ready) {
  const { outcome } = await shelld.request('job/write',
    { handle: 'repl', input: line, appendNewline: true, wait: { ...prompts, stripEcho: true } });
  assert.equal(outcome.reason, 'pattern');
  assert.equal(outcome.index, prompt, 'which prompt followed');
  // A terminal shows what is typed. That is left out; the last line is the prompt.
  return outcome.output.pty.text.split('\n').slice(0, -1).join('\n');
}

console.log('Starting python3 on a terminal.');
// -q: no banner. -I: nothing from the user's own set-up, nothing into the user's history.
// A dumb terminal keeps newer versions from colours and from redrawing the line.
const started = await shelld.request('job/start',
  { argv: ['python3', '-I', '-q'], env: { TERM: 'dumb' }, name: 'repl', wait: prompts });
assert.equal(started.outcome.index, ready);

let answer = await enter('6*7');
console.log(`6*7 is ${answer}`);
assert.equal(answer, '42');

console.log('Defining a function, line by line.');
await enter('def square(n):', more);
await enter('    return n * n', more);
await enter(''); // an empty line ends it
answer = await enter('square(12)');
console.log(`square(12) is ${answer}`);
assert.equal(answer, '144');

answer = await enter('1/0');
console.log(`1/0 is\n${answer}`);
assert.match(answer, /ZeroDivisionError: division by zero$/);

console.log("Ending it with the terminal's end-of-file character, as Ctrl-D does.");
const { outcome } = await shelld.request('job/write',
  { handle: 'repl', eof: true, wait: { until: [{ exit: true }] } });
assert.equal(outcome.reason, 'exit');
assert.equal(outcome.job.exit.code, 0);

await shelld.close();
console.log('The server ended with status 0.');
