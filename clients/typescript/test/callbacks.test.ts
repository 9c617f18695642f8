// Secrets and confirmations.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { ConfirmOutcome, ShelldError } from 'shelld';
import { client, soon } from './helpers.js';

const asks = `read -s -p 'Password: ' p; echo; echo "got \${#p}"`;

test('a secret is typed by the callback, and seen by nobody', async (t) => {
  const questions: string[] = [];
  const shelld = await client(t, { secret: ({ prompt, attempt }) => (questions.push(`${prompt} ${attempt}`), 'hunter2') });
  await using job = await shelld.start(`read -s -p 'Password: ' p; echo; echo "$p"`);
  assert.equal((await job.wait({ exit: true })).text.trim().split('\n').at(-1), '***');
  assert.deepEqual(questions, ['Password: 1']);
});

test('a secret that nobody gives leaves the program waiting', async (t) => {
  const shelld = await client(t, { secret: async () => undefined, options: { secretInput: 'any' } });
  await using job = await shelld.start(asks);
  assert.equal((await job.question({ kinds: ['password'] })).question?.kind, 'password');
  assert.equal((await job.answer('typed')).text.trim(), 'got 5');
});

test('passwords are left to the person: they are no question, and nothing else types one', async (t) => {
  let called = () => {};
  const asked = new Promise<void>((resolve) => { called = resolve; });
  let type = () => {};
  const typed = new Promise<void>((resolve) => { type = resolve; });
  const shelld = await client(t, { secret: async () => { called(); await typed; return 'hunter2'; } });
  await using job = await shelld.start(`read -p 'Name? ' n; ${asks}; read -p 'Go on? ' g`);
  assert.equal((await job.question()).prompt, 'Name?');
  const answer = job.answer('Ada');
  await soon(asked, 'the question');
  await assert.rejects(job.write('guess\r'), ({ kind }: ShelldError) => kind === 'policyDenied');
  assert.equal((await job.question({ timeoutMs: 100 })).timedOut, true);
  assert.equal((await job.question({ kinds: ['password'] })).prompt, 'Password:');
  type();
  const { prompt, text } = await answer;
  assert.equal(prompt, 'Go on?');
  assert.match(text, /got 7/);
});

test('a callback that throws is reported, and answered without its words', async (t) => {
  const errors: unknown[] = [];
  let reported = () => {};
  const report = new Promise<void>((resolve) => { reported = resolve; });
  const shelld = await client(t, {
    secret: () => { throw new Error('the vault is closed'); },
    confirm: () => Promise.reject(new TypeError('no dialog')),
    onError: (error) => { errors.push((error as Error).message); reported(); },
    options: { confirm: { kill: 'ask' }, secretInput: 'any' },
  });
  const job = await shelld.start(asks);
  await soon(report, 'the report');
  await job.answer('typed');
  const other = await shelld.start(['sleep', '1000']);
  await assert.rejects(other.kill(), ({ kind, message }: ShelldError) => kind === 'confirmationDenied' && !message.includes('dialog'));
  assert.deepEqual(errors, ['the vault is closed', 'no dialog']);
});

test('a confirmation allows or denies', async (t) => {
  let outcome: ConfirmOutcome = 'once';
  const asked: string[] = [];
  const shelld = await client(t, {
    confirm: ({ command, roots }) => (asked.push(`${command} ${roots}`), outcome),
    options: { confirm: { start: 'ask' } },
  });
  assert.equal((await shelld.run('echo yes')).stdout, 'yes\n');
  outcome = 'deny';
  await assert.rejects(shelld.run(['ls', '-l']), ({ kind }: ShelldError) => kind === 'confirmationDenied');
  assert.deepEqual(asked, ['echo yes echo', 'ls -l ls']);
});

test('a question that is withdrawn aborts the signal of its callback', async (t) => {
  let withdrawn = () => {};
  const over = new Promise<void>((resolve) => { withdrawn = resolve; });
  let called = () => {};
  const asked = new Promise<void>((resolve) => { called = resolve; });
  const shelld = await client(t, {
    confirm: (_, signal) => new Promise((resolve) => {
      signal.addEventListener('abort', () => { withdrawn(); resolve('deny'); });
      called();
    }),
    options: { confirm: { start: 'ask' } },
  });
  const abort = new AbortController();
  const run = shelld.run('true', { signal: abort.signal });
  await asked;
  abort.abort();
  await assert.rejects(run, { name: 'AbortError' });
  await soon(over, 'the withdrawal');
});
