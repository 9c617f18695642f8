// A connection of vscode-jsonrpc as it is in extensions. The package is no dependency: $VSCODE_JSONRPC names it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'node:test';
import { attach, RequestError, ServerEndedError, type ShelldError } from 'shelld';
import { soon } from './helpers.js';

const library = process.env['VSCODE_JSONRPC'];

test('a client on a MessageConnection of vscode-jsonrpc', { skip: library ? false : '$VSCODE_JSONRPC is not set' }, async (t) => {
  const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = await import(library!);
  const server = spawn(process.env['SHELLD']!, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(server, 'exit');
  t.after(() => server.kill());
  const connection = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  connection.listen();
  await using shelld = await attach(connection, { secret: () => 'hunter2', options: { persist: { mode: 'memory' } } });
  assert.equal((await shelld.run('echo hi')).stdout, 'hi\n');
  await using job = await shelld.start('for i in 1 2 3; do echo line $i; done; read -s -p "Password: " p; echo; echo "${#p}"');
  const lines: string[] = [];
  for await (const line of job.lines()) lines.push(line);
  assert.deepEqual(lines, ['line 1', 'line 2', 'line 3', 'Password: ', '7']);
  await assert.rejects(shelld.start(['no-such-program']), (error: ShelldError) => error instanceof RequestError && error.kind === 'commandNotFound');
  const over = new AbortController();
  const run = shelld.run('sleep 1000', { signal: over.signal, name: 'slow' });
  await shelld.request('job/get', { handle: 'slow' });
  over.abort();
  await assert.rejects(run, { name: 'AbortError' });
  assert.equal((await shelld.request('job/wait', { handle: 'slow', until: [{ closed: true }] })).outcome.reason, 'closed');
  await shelld.close();
  await assert.rejects(shelld.run('true'), ServerEndedError);
  assert.equal((await soon(ended, 'the end of the server'))[0], 0);
});

test('the connection alone encodes params, unless they are so long that they may be too long', { skip: library ? false : '$VSCODE_JSONRPC is not set' }, async (t) => {
  const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = await import(library!);
  const server = spawn(process.env['SHELLD']!, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => server.kill());
  const connection = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  connection.listen();
  await using shelld = await attach(connection, { options: { persist: { mode: 'memory' } } });
  const stringify = JSON.stringify;
  t.after(() => { JSON.stringify = stringify; });
  let encoded = 0;
  JSON.stringify = (...args: [any]) => { encoded++; return stringify(...args); };
  const { maxMessageBytes } = shelld.server.limits;
  await shelld.request('job/list', { _meta: { x: ['x'.repeat(maxMessageBytes / 8), 1, null] } });
  assert.equal(encoded, 1);
  // Each of these characters has six bytes in JSON.
  await shelld.request('job/list', { _meta: { x: '\x01'.repeat(maxMessageBytes / 6 - 100) } });
  const tooLong = ({ kind }: ShelldError) => kind === 'messageTooLarge';
  for (const x of ['\x01'.repeat(maxMessageBytes / 6), Array(maxMessageBytes / 2).fill(1), { toJSON: () => 'x'.repeat(maxMessageBytes) }]) {
    await assert.rejects(shelld.request('job/list', { _meta: { x } }), tooLong);
  }
  const cycle: Record<string, unknown> = {};
  cycle['cycle'] = cycle;
  for (const _meta of [cycle, { big: 1n }]) await assert.rejects(shelld.request('job/list', { _meta }), TypeError);
  assert.equal((await shelld.run('echo alive')).stdout, 'alive\n');
});

test('a connection that is disposed rejects pending calls', { skip: library ? false : '$VSCODE_JSONRPC is not set' }, async (t) => {
  const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = await import(library!);
  const server = spawn(process.env['SHELLD']!, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => server.kill());
  const connection = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  connection.listen();
  const shelld = await attach(connection, { options: { persist: { mode: 'memory' } } });
  const job = await shelld.start(['sleep', '1000']);
  await assert.rejects(shelld.request('job/list', { _meta: { x: 'x'.repeat(1 << 24) } }), ({ kind }: ShelldError) => kind === 'messageTooLarge');
  connection.dispose();
  assert.match((await soon(shelld.ended, 'the end')).message, /was disposed/);
  await assert.rejects(soon(job.exit, 'the end'), ServerEndedError);
  await assert.rejects(shelld.run('true'), ServerEndedError);
  assert.equal(shelld.inFlight, 0);
  await shelld.close();
});
