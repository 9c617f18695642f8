// Output and input as web streams.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import test from 'node:test';
import type { Job, Shelld, ShelldError } from 'shelld';
import { client, held, soon } from './helpers.js';

const ofKind = (kind: string) => (error: ShelldError) => error.kind === kind;
/** Bytes that are no text, and more than may wait for a job. */
const bytes = Buffer.from(Uint32Array.from({ length: 1 << 19 }, (_, i) => i * 2654435761).buffer);

async function text(job: Job): Promise<string> {
  return new Response(job.readable()).text();
}

test('bytes go through a program by its two streams', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start(['cat'], { mode: 'pipe', stdin: 'open' });
  const through = new Blob([bytes]).stream().pipeThrough({ writable: job.writable(), readable: job.readable({ stream: 'stdout' }) });
  const all = await soon(buffer(Readable.fromWeb(through as NodeReadableStream)), 'the bytes');
  assert.ok(all.equals(bytes), `${all.length} bytes`);
  assert.equal((await job.exit).code, 0);
});

test('a slow reader of a stream makes the program wait; cancel releases it', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start(['yes'], { mode: 'pipe' });
  const reader = job.readable().getReader();
  assert.ok((await reader.read()).value instanceof Uint8Array);
  let offset = 0;
  // A stream that reads ahead would let the program go on between two looks.
  for (let look = 0; look < 300; look++) offset = await soon(held(shelld, job), 'the program\'s wait');
  assert.ok(offset < 4e6, `${offset} bytes`);
  const { perJob } = await shelld.request('server/stats');
  assert.ok(perJob[0]!.streams['stdout']!.unackedBytes! <= shelld.server.limits.windowBytes!);
  await reader.read();
  await reader.cancel();
  await soon(job.wait({ bytes: offset + 1e6 }, { from: { stdout: 0, stderr: 0 }, timeoutMs: null }), 'the program to go on');
});

test('cancel ends a read that waits for output, and the next reader begins', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('echo up; read x');
  const reader = job.readable().getReader();
  await reader.read();
  const pending = reader.read();
  await job.question(); // it has been asked for meanwhile
  await soon(reader.cancel('enough'), 'cancel');
  assert.deepEqual(await pending, { done: true, value: undefined });
  const other = job.readable();
  await assert.rejects(Promise.all([other.getReader().read(), job.readable().getReader().read()]), ofKind('outputBusy'));
  await job.readable().cancel(); // never read
});

test('the errors of a stream of output', async (t) => {
  const shelld = await client(t, { options: { limits: { spoolMemoryBytes: 131072 } } });
  await using job = await shelld.start('seq 100000; read x', { mode: 'pipe', stdin: 'open' });
  await job.question();
  await assert.rejects(soon(text(job), 'an error'), ofKind('outputLost'));
  assert.match(await new Response(job.readable({ from: 'now', signal: AbortSignal.timeout(1) })).text().catch(String), /^TimeoutError/);
});

test('close ends the input: of a pipe, and on a terminal', async (t) => {
  const shelld = await client(t);
  for (const options of [{ mode: 'pipe', stdin: 'open' }, {}] as const) {
    await using job = await shelld.start('while read x; do echo "got $x"; done; exit 3', options);
    const writer = job.writable().getWriter();
    await writer.write('é\n');
    await writer.write(Buffer.from('two\n'));
    await writer.close();
    assert.equal((await soon(job.exit, 'the end')).code, 3);
    assert.match(await text(job), /got é\r?\n(two\r?\n)?got two\r?\n$/);
    await job.writable().close(); // once more is no error
    await assert.rejects(job.writable().getWriter().write('x'), ofKind('jobExited'));
  }
});

test('abort withdraws what the program has not read, and leaves its input open', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('kill -STOP $$; wc -c', { mode: 'pipe', stdin: 'open' });
  const writer = job.writable().getWriter();
  const writing = assert.rejects(writer.write(bytes), /no longer wanted/);
  await soon(queued(shelld, job), 'input that waits'); // the write waits with it
  await soon(writer.abort(new Error('no longer wanted')), 'abort');
  await writing;
  await job.signal('CONT', 'leader');
  await job.writable().close();
  await job.exit;
  const count = Number(await text(job));
  assert.ok(count > 0 && count < bytes.length, `${count} bytes`);
});

/** Resolves when input waits for the job to read it. */
async function queued(shelld: Shelld, { handle }: Job): Promise<void> {
  while (!(await shelld.request('server/stats')).perJob.find((job) => job.handle === handle)?.inputQueueBytes);
}
