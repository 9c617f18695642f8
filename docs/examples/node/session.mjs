// A client is killed with a job at work, and the next one goes on with it, by the command line alone: a session.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { connect, serverCommand } from './client.mjs';

const [program] = serverCommand();
const first = process.argv[3] === 'first';
const session = first ? process.argv[4] : `example-${randomUUID()}`;
const shelld = await connect([program, 'connect', '-session', session]);

if (first) {
  const { outcome } = await shelld.request('job/start', {
    command: 'echo step 1; read -r go; echo step 2', name: 'build', wait: { until: [{ input: true }] },
  });
  console.log(`The first client has started a job, which waits: ${outcome.reason}. It is killed now.`);
  process.kill(process.pid, 'SIGKILL');
}

// The first client is a process of its own, so that it can be killed.
const child = spawn(process.execPath, [process.argv[1], program, 'first', session], { stdio: 'inherit' });
const [, signal] = await once(child, 'exit');
assert.equal(signal, 'SIGKILL');

const { jobs } = await shelld.request('job/list');
const [build] = jobs;
assert.equal(build.name, 'build');
assert.equal(build.status, 'running');
console.log(`The second client finds the job ${build.name}, and answers it.`);
const { outcome } = await shelld.request('job/write', {
  handle: 'build', input: 'go', appendNewline: true, wait: { until: [{ exit: true }], from: 'start' },
});
assert.match(outcome.output.pty.text, /step 1\n[^]*step 2\n/);
assert.equal(outcome.job.exit.code, 0);

// Who has made the session may end it.
await shelld.request('session/end');
await shelld.exit();
console.log('The session has ended, with all its jobs.');
