import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { connect } from 'shelld';
import { client, fake, Holders, soon } from './helpers.js';

const descriptors = () => existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0;

test('1,000 cancelled calls leave no process, request, listener or descriptor', async (t) => {
  const shelld = await client(t);
  await using shell = await shelld.shell();
  await shell.question();
  // Some runtimes open what they need for a file and a process at the first one.
  const warm = new Holders(t);
  await shelld.run(`exec 9>${warm.path}`);
  await warm.gone;
  const before = [descriptors(), process.getActiveResourcesInfo?.().length];
  const holders = new Holders(t);
  const first = await shelld.start(`exec 9>${holders.path}; sleep 1000`, { group: 'cancelled' });
  let outcomes = 0;
  for (let round = 0; round < 20; round++) {
    const over = new AbortController();
    const { signal } = over;
    const calls = [
      ...Array.from({ length: 20 }, () => shelld.run(`exec 9>${holders.path}; setsid sleep 1000 & sleep 1000`, { signal, group: 'cancelled' })),
      ...Array.from({ length: 5 }, () => shelld.start(['sleep', '1000'], { signal, group: 'cancelled' })),
      ...Array.from({ length: 20 }, () => shell.wait(/never/, { signal, timeoutMs: null })),
      ...Array.from({ length: 5 }, () => shell.exec('sleep 1000', { signal })),
    ];
    const ended = Promise.allSettled(calls);
    if (round % 2 === 0) await shelld.request('job/list'); // so that most have begun
    over.abort();
    for (const one of await ended) {
      if (one.status === 'rejected') assert.equal(one.reason.name, 'AbortError');
      outcomes++;
    }
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  }
  assert.equal(outcomes, 1000);
  await soon(shell.exec('true'), 'the shell');
  // The tree of a withdrawn run is ended by the server, and a start that was faster by this.
  await shelld.request('job/kill', { group: 'cancelled' });
  await first.closed;
  await soon(holders.gone, 'the end of the processes');
  const stats = await shelld.request('server/stats');
  assert.equal(stats.jobs.live, 1);
  assert.equal(stats.connection.requestsInFlight, 1);
  assert.equal(shelld.inFlight, 0);
  assert.ok(descriptors() <= before[0]!, `${descriptors()} descriptors, not ${before[0]}`);
  if (before[1] !== undefined) assert.ok(process.getActiveResourcesInfo().length <= before[1], process.getActiveResourcesInfo().join());
});

test('a withdrawn run ends with everything that it has started', async (t) => {
  const shelld = await client(t);
  const holders = new Holders(t);
  const over = new AbortController();
  const run = shelld.run(`exec 9>${holders.path}; trap '' TERM; setsid sleep 1000 & echo up; read x; sleep 1000`, { name: 'it', signal: over.signal });
  await shelld.request('job/wait', { handle: 'it', until: [{ pattern: 'up' }] });
  over.abort(new Error('no longer wanted'));
  await assert.rejects(run, /no longer wanted/);
  await soon(holders.gone, 'the end of the processes');
});

test('a withdrawn exec is interrupted, and the shell lives on', async (t) => {
  const shelld = await client(t);
  await using shell = await shelld.shell();
  const over = new AbortController();
  const exec = shell.exec('echo begun; sleep 1000', { signal: over.signal });
  await shell.wait(/^begun/m);
  over.abort();
  await assert.rejects(exec, { name: 'AbortError' });
  assert.equal((await soon(shell.exec('echo alive'), 'the next command')).output, 'alive\n');
});

test('a start whose result comes although it was withdrawn is ended', async () => {
  await using shelld = await connect(fake('late'));
  const over = new AbortController();
  const starting = shelld.start('sleep 1000', { signal: over.signal });
  over.abort();
  await assert.rejects(starting, { name: 'AbortError' });
  // It ends with this status when it is asked to end the job that it has started.
  assert.match((await soon(shelld.ended, 'the end of the job')).message, /exit status 42/);
});

test('what is aborted before it begins is not sent', async (t) => {
  const shelld = await client(t);
  const signal = AbortSignal.abort();
  await assert.rejects(shelld.start('true', { signal }), { name: 'AbortError' });
  await assert.rejects(shelld.run('true', { signal }), { name: 'AbortError' });
  assert.deepEqual((await shelld.request('job/list')).jobs, []);
});
