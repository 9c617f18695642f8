import assert from 'node:assert/strict';
import test from 'node:test';
import { ExitError } from 'shelld';
import { client } from './helpers.js';

test('$ passes values as arguments, whatever is in them', async (t) => {
  const { $ } = await client(t);
  const odd = `a'b "c" $(id) * ; \\ \n|`;
  assert.equal(await $`printf <%s> ${odd} x${1}y ${['p q', 2]} "two words" 'a''b' ""`, `<${odd}><x1y><p q><2><two words><ab><>`);
  assert.equal(await $({ cwd: '/' })`pwd`, '/');
});

test('$ throws for an exit code, and for what only a shell understands', async (t) => {
  const { $ } = await client(t);
  await assert.rejects($`sh -c ${'echo no >&2; exit 3'}`, (error: ExitError) => {
    assert.equal(error.kind, 'commandFailed');
    assert.equal(error.result.exitCode, 3);
    assert.match(error.message, /exit code 3:\nno$/);
    return true;
  });
  await assert.rejects($`ls | wc`, /there is no shell for the \|/);
  await assert.rejects($`echo "open`, /is not closed/);
  await assert.rejects($`   `, /is empty/);
  await assert.rejects($`echo x${['a']}`, /put blanks around it/);
});

test('run: an exit code is no exception without check', async (t) => {
  const shelld = await client(t);
  const failed = await shelld.run('echo out; echo err >&2; kill -TERM $$');
  assert.deepEqual([failed.ok, failed.exitCode, failed.signal, failed.stdout, failed.stderr], [false, null, 'SIGTERM', 'out\n', 'err\n']);
  await assert.rejects(shelld.run(['false'], { check: true }), ExitError);
  assert.equal((await shelld.run('cat', { stdin: { text: 'typed' } })).stdout, 'typed');
  assert.equal((await shelld.run('tty', { mode: 'pty' })).stdout.startsWith('/dev/'), true);
});

test('run: a time limit ends the command', async (t) => {
  const shelld = await client(t);
  const result = await shelld.run('echo begun; sleep 1000', { timeoutMs: 100 });
  assert.deepEqual([result.timedOut, result.signal, result.stdout], [true, 'SIGTERM', 'begun\n']);
});
