// What can go wrong is an error that says what to do; nothing hangs, and nothing is left running.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { connect, ConnectError, RequestError, ServerEndedError, type ShelldError } from 'shelld';
import { client, directory, fake, Holders, output, program, runtime, soon, start } from './helpers.js';

/** Connecting fails so, and leaves no process. */
async function fails(options: Parameters<typeof connect>[0], kind: string, message: RegExp): Promise<void> {
  await assert.rejects(soon(connect(options), 'an error'), (error: ShelldError) => {
    assert.ok(error instanceof ConnectError, String(error));
    assert.equal(error.kind, kind);
    assert.match(error.message, message);
    return true;
  });
  assert.deepEqual(children(), []);
}

/** The names of this process's children. */
function children(): string[] {
  const { stdout, pid } = spawnSync('ps', ['-o', 'pid=,comm=', '--ppid', String(process.pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line !== '' && Number.parseInt(line) !== pid);
}

test('a missing program', () => fails({ path: '/nowhere/shelld' }, 'serverNotFound', /^there is no program \/nowhere\/shelld: put shelld on PATH, or name it in \$SHELLD/));

test('a program that cannot be run', async (t) => {
  const path = join(directory(t), 'shelld');
  writeFileSync(path, 'no program\n');
  await fails({ path }, 'notShelld', /shelld cannot be run \(EACCES\)/);
  await fails({ path: directory(t) }, 'notShelld', /cannot be run \(EACCES\)/);
});

test('a process that cannot be started for want of descriptors', async (t) => {
  if (runtime('')[1].length > 1 || 'Bun' in globalThis) return t.skip('other runtimes fail elsewhere');
  const { stdout, stderr } = await output(spawn('sh', ['-c', 'ulimit -n 64; SHELLD=/nowhere/shelld exec "$@"', 'sh', process.execPath, program('test/exhausted.js')]));
  assert.equal(stderr, '');
  assert.match(stdout, /^serverNotFound .*\nnotShelld .* cannot be run \(EMFILE\): close files/);
});

test('an unsupported platform', async () => {
  const platform = Object.getOwnPropertyDescriptor(process, 'platform')!;
  Object.defineProperty(process, 'platform', { configurable: true, enumerable: true, value: 'aix' });
  try {
    await fails({}, 'unsupportedPlatform', /does not run on aix/);
  } finally {
    Object.defineProperty(process, 'platform', platform);
  }
});

test('a program that is no shelld', async (t) => {
  const sh = join(directory(t), 'sh');
  writeFileSync(sh, '#!/bin/sh\necho usage: go away >&2\n');
  chmodSync(sh, 0o755);
  await fails({ path: sh }, 'notShelld', /is no shelld: .* has ended \(exit status 0\)[^]*its last words:\nusage: go away$/);
  await fails({ path: 'cat' }, 'notShelld', /it does not know initialize/);
  await fails(fake('echo'), 'notShelld', /it does not know initialize/);
  await fails(fake('exits'), 'notShelld', /has ended \(exit status 3\)/);
  await fails(fake('words'), 'notShelld', /it wrote "Welcome!" to stdout/);
  await fails(fake('array'), 'notShelld', /it wrote \[\] to stdout/);
  await fails(fake('endless'), 'notShelld', /a line that does not end/);
  await fails(fake('stranger'), 'notShelld', /not that of a shelld/);
  await fails(fake('unknown'), 'notShelld', /does not know initialize/);
  await fails({ ...fake('silent'), connectTimeoutMs: 500 }, 'notShelld', /has not answered within 500 ms/);
});

test('a request over maxMessageBytes is rejected before it is sent', async (t) => {
  const shelld = await client(t, { options: { limits: { maxMessageBytes: 1 << 20 } } });
  assert.equal(shelld.server.limits.maxMessageBytes, 1 << 20);
  // 'é' has two bytes. The envelope is measured, so that the longest request that fits is known.
  const envelope = Buffer.byteLength(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'job/list', params: { _meta: { x: '' } } }));
  const fits = (1 << 20) - envelope;
  await soon(shelld.request('job/list', { _meta: { x: 'x'.repeat(fits) } }), 'the longest request');
  for (const x of ['x'.repeat(fits + 1), 'é'.repeat(fits / 2 + 2)]) {
    await assert.rejects(soon(shelld.request('job/list', { _meta: { x } }), 'an error'), (error: ShelldError) => {
      assert.equal(error.kind, 'messageTooLarge');
      assert.match(error.message, /^job\/list: the message has 10\d+ bytes, and the server takes 1048576: send less at a time/);
      return true;
    });
  }
  assert.equal(shelld.inFlight, 0);
  assert.equal((await shelld.run('echo alive')).stdout, 'alive\n');
});

test('an error without an id rejects the pending requests, and is reported', async () => {
  const errors: string[] = [];
  await using shelld = await connect({ ...fake('null'), onError: (error) => errors.push((error as Error).message) });
  await assert.rejects(soon(shelld.run('true'), 'an error'), ({ kind, message }: ShelldError) => kind === 'invalidRequest' && message.startsWith('job/run: a line'));
  assert.deepEqual(errors, ['a message: a line that is too long']);
});

test('params that cannot be encoded reject the call and leave no request', async (t) => {
  const shelld = await client(t);
  const cycle: Record<string, unknown> = {};
  cycle['cycle'] = cycle;
  for (const _meta of [cycle, { big: 1n }]) await assert.rejects(shelld.request('job/list', { _meta }), TypeError);
  assert.equal(shelld.inFlight, 0);
});

test('an exception of accept rejects the request, one of onLog is reported', async (t) => {
  const errors: string[] = [];
  let reported = () => {};
  const report = new Promise<void>((resolve) => { reported = resolve; });
  const shelld = await client(t);
  await assert.rejects(shelld.request('job/list', {}, { accept: () => { throw new Error('refused'); } }), /refused/);
  const other = await connect({
    ...fake('dies'),
    onLog: () => { throw new Error('the disk is full'); },
    onError: (error) => { errors.push((error as Error).message); reported(); },
  });
  await assert.rejects(other.run('true'), ServerEndedError);
  await soon(report, 'the report');
  assert.equal(errors[0], 'the disk is full');
});

test('another version of the protocol', async () => {
  await fails(fake('version'), 'unsupportedVersion', /versions 2, 3, and this package version 1: update the one that is older/);
  await fails(fake('other'), 'unsupportedVersion', /speaks version 2 .* update the package/);
});

test('what a newer server adds is ignored', async () => {
  await using shelld = await connect(fake('newer'));
  assert.deepEqual((await shelld.request('job/list')).jobs.map(({ handle }) => handle), [1]);
});

test('connecting can be aborted', async () => {
  const over = new AbortController();
  const connecting = connect({ ...fake('silent'), signal: over.signal });
  over.abort();
  await assert.rejects(soon(connecting, 'the abort'), { name: 'AbortError' });
  await assert.rejects(connect({ signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('wrong options are an error of the server', async () => {
  await assert.rejects(connect({ rootDirectory: '/no/such/place' }), (error: RequestError) => {
    assert.ok(error instanceof RequestError);
    assert.ok(error.data.kind === 'badWorkingDirectory');
    assert.equal(error.data.path, '/no/such/place');
    return true;
  });
});

test('the death of the server rejects every pending request, with its last words', async () => {
  await using shelld = await connect(fake('dies'));
  const calls = await soon(Promise.allSettled([shelld.run('true'), shelld.start('true'), shelld.request('job/list')]), 'the end');
  for (const call of calls) {
    assert.ok(call.status === 'rejected' && call.reason instanceof ServerEndedError);
    assert.match(call.reason.message, /has ended \(signal SIGKILL\), and every job with it: connect again; its last words:(\nfatal error: out of ideas)+$/);
  }
  await assert.rejects(shelld.run('true'), ServerEndedError);
  assert.equal((await shelld.ended).kind, 'serverEnded');
});

test('the death of a real server ends jobs, readers and waits', async (t) => {
  const holders = new Holders(t);
  await using shelld = await connect({ env: { ...process.env, SHELLD_TEST: holders.path } });
  await using job = await shelld.start(`exec 9>${holders.path}; setsid sleep 1000 & echo up; read x`);
  const lines = job.lines();
  assert.equal((await lines.next()).value, 'up');
  await using other = await shelld.start('echo up; read x');
  const reader = other.readable().getReader();
  await reader.read();
  const pending = Promise.allSettled([lines.next(), reader.read(), job.wait(/never/), job.exit, job.closed, job.events(['stateChanged']).next()]);
  process.kill(Number.parseInt(children().find((child) => child.endsWith(' shelld'))!), 'SIGKILL');
  for (const one of await soon(pending, 'the end')) assert.ok(one.status === 'rejected' && one.reason instanceof ServerEndedError, JSON.stringify(one));
  await soon(holders.gone, 'the end of the processes');
});

/** It answers initialize, closes its stdout at the next request, and lives on. */
const muteServer = {
  path: 'sh',
  args: ['-c', `read a; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1","capabilities":{},"limits":{}}}'; read b; exec >&-; while read c; do :; done; exec sleep 1000`],
};

test('garbage on stdout ends the connection', async () => {
  await using shelld = await connect(fake('garbage'));
  await assert.rejects(soon(shelld.run('true'), 'an error'), /it wrote "printf was here" to stdout/);
});

test('a server that closes its stdout has ended', async () => {
  await using shelld = await connect(muteServer);
  await assert.rejects(soon(shelld.run('true'), 'an error'), ServerEndedError);
});

test('paths with spaces', async (t) => {
  const folder = join(directory(t), "it's a \"path\" $HOME");
  mkdirSync(folder);
  symlinkSync(process.env['SHELLD']!, join(folder, 'shelld ü'));
  await using shelld = await connect({ path: join(folder, 'shelld ü'), rootDirectory: folder, options: { persist: { mode: 'memory' } } });
  assert.equal((await shelld.run(['pwd'])).stdout, folder + '\n');
});

test('close ends everything, and later calls say so', async (t) => {
  const holders = new Holders(t);
  const shelld = await connect();
  const job = await shelld.start(`exec 9>${holders.path}; echo up; sleep 1000`);
  await job.wait(/up/);
  const run = shelld.run('sleep 1000');
  await Promise.all([shelld.close(), shelld.close()]);
  await soon(holders.gone, 'the end of the processes');
  assert.equal((await job.exit).reason, 'shutdown');
  assert.equal((await run).raw.exit?.reason, 'shutdown');
  await assert.rejects(shelld.run('true'), ({ kind }: ShelldError) => kind === 'closed');
  await shelld.close();
  await job[Symbol.asyncDispose]();
});

test('the death of this process ends every job', async (t) => {
  const holders = new Holders(t);
  const child = start(program('test/killed.js'), holders.path);
  await new Promise((resolve) => child.stdout!.once('data', resolve)); // the job runs
  child.kill('SIGKILL');
  await soon(holders.gone, 'the end of the processes');
});

for (const way of ['run', 'job', 'reader', 'exit', 'closed', 'lines', 'events', 'all']) {
  test(`a program that forgets to close its client ends, and not too early: ${way}`, async (t) => {
    const holders = way === 'job' ? new Holders(t) : undefined;
    const { stdout, code } = await soon(output(start(program('test/forgets.js'), way, holders?.path ?? '')), 'the program');
    assert.equal(stdout, 'done\n');
    assert.equal(code, 0);
    if (holders) await soon(holders.gone, 'the end of its job');
  });
}
