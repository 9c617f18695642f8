// Answers a shell script that asks a question.
import assert from 'node:assert/strict';
import { connect, serverCommand } from './client.mjs';

const script = 'read -p "Your name? " n; echo "Hello, $n"';
const shelld = await connect(serverCommand());

console.log('Starting a script that asks for a name.');
// bash shows the question only where its input is a terminal; a job has one unless told otherwise.
const { job, outcome: asked } = await shelld.request('job/start',
  { argv: ['bash', '-c', script], wait: { until: [{ pattern: 'Your name\\? ' }] } });
assert.equal(asked.reason, 'pattern');
console.log(`It asks: ${asked.match.text}`);

console.log('Answering, and waiting for its end.');
const { outcome } = await shelld.request('job/write',
  { handle: job.handle, input: 'Ada', appendNewline: true, wait: { until: [{ exit: true }] } });
assert.equal(outcome.reason, 'exit');
assert.equal(outcome.job.exit.code, 0);

// What the terminal showed since the answer was typed: the answer's echo, then the greeting.
assert.equal(outcome.output.pty.text, 'Ada\nHello, Ada\n');
console.log('It says: Hello, Ada');

await shelld.close();
console.log('The server ended with status 0.');
