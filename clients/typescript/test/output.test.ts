import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import type { Job, ShelldError } from 'shelld';
import { client, held, soon } from './helpers.js';

async function text(job: Job, options = {}): Promise<string> {
  let all = '';
  for await (const chunk of job.output(options)) all += chunk.text;
  return all;
}

/** The checksum of what `seq 1 LAST` writes. */
function sequence(last: number): { bytes: number; sum: string } {
  const hash = createHash('sha256');
  let bytes = 0;
  for (let n = 1; n <= last;) {
    let part = '';
    for (const end = Math.min(last, n + 100_000); n <= end; n++) part += `${n}\n`;
    hash.update(part);
    bytes += part.length;
  }
  return { bytes, sum: hash.digest('hex') };
}

test('100 MB through the iterator: every byte, in flat memory', async (t) => {
  const shelld = await client(t);
  const wanted = sequence(12_400_000);
  assert.ok(wanted.bytes > 100e6);
  // A runtime takes memory of its own at first: what the second half adds to that would be output that is kept.
  let first = 0;
  let most = 0;
  let bytes = 0;
  const hash = createHash('sha256');
  const begun = performance.now();
  await using job = await shelld.start(['seq', '12400000'], { mode: 'pipe', whenSlow: 'block' });
  for await (const chunk of job.output()) {
    assert.equal(chunk.gap, undefined);
    assert.equal(chunk.offset, bytes);
    hash.update(chunk.bytes);
    bytes += chunk.length;
    most = Math.max(most, process.memoryUsage.rss());
    if (bytes < wanted.bytes / 2) first = most;
  }
  t.diagnostic(`${bytes} bytes in ${Math.round(performance.now() - begun)} ms, memory ${Math.round(first / 1e6)} to ${Math.round(most / 1e6)} MB`);
  assert.equal(bytes, wanted.bytes);
  assert.equal(hash.digest('hex'), wanted.sum);
  assert.ok(most - first < 40e6, `memory grew by ${(most - first) / 1e6} MB in the second half`);
  assert.equal((await job.exit).code, 0);
});

test('a reader that stops makes the program wait, and nothing grows', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start(['yes'], { mode: 'pipe' });
  const reader = job.output();
  await reader.next();
  const offset = await soon(held(shelld, job), 'the program\'s wait');
  assert.ok(offset < 32e6, `${offset} bytes`);
  const { perJob } = await shelld.request('server/stats');
  assert.ok(perJob[0]!.streams['stdout']!.unackedBytes! <= shelld.server.limits.windowBytes!);
  await reader.next(); // it goes on
  await reader.return(); // and is released
  await soon(job.wait({ bytes: offset + 1e6 }, { from: { stdout: 0, stderr: 0 }, timeoutMs: null }), 'the program to go on');
});

test('a job can wait for its reader from the first byte on', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start(['yes'], { mode: 'pipe', whenSlow: 'block' });
  await soon(held(shelld, job), 'the program\'s wait');
  let bytes = 0;
  for await (const chunk of job.output()) {
    assert.deepEqual([chunk.gap, chunk.offset], [undefined, bytes]);
    if ((bytes += chunk.length) > 20e6) break;
  }
  await job.wait({ bytes: 40e6 }, { from: { stdout: 0, stderr: 0 } }); // it no longer waits for anybody
});

test('output is read from the start, whenever the reader comes', async (t) => {
  const shelld = await client(t);
  const running = await shelld.start('echo early; read x; echo late');
  await running.question();
  const reading = text(running);
  await running.answer('x');
  assert.equal((await reading).replaceAll('\r', ''), 'early\nx\nlate\n');
  await running.closed;
  assert.equal((await text(running)).replaceAll('\r', ''), 'early\nx\nlate\n'); // once more, of a closed job
  const silent = await shelld.start(['true']);
  await silent.closed;
  assert.equal(await text(silent), '');
  // A leader that has ended, and a process that lives on.
  await using background = await shelld.start('echo now; sleep 1000 &', { mode: 'pipe' });
  await background.exit;
  assert.equal(await text(background), 'now\n');
});

test('streams, late output and bytes that are no text', async (t) => {
  const shelld = await client(t);
  const job = await shelld.start(`printf 'a\\377\\n'; echo err >&2; (read x < /dev/null; echo late) & wait`, { mode: 'pipe' });
  await job.closed;
  const bytes: number[] = [];
  for await (const chunk of job.output({ stream: 'stdout' })) bytes.push(...chunk.bytes);
  assert.deepEqual(bytes, [97, 255, 10, ...Buffer.from('late\n')]);
  const lines: string[] = [];
  for await (const line of job.lines({ stream: 'stderr' })) lines.push(line);
  assert.deepEqual(lines, ['err']);
  await using parent = await shelld.start('(read x; echo late; read y) <&0 & echo now; exit 0', { mode: 'pipe', stdin: 'open' });
  await parent.exit;
  const until: string[] = [];
  for await (const line of parent.lines({ until: 'closed' })) {
    until.push(line);
    if (line === 'now') await parent.kill();
  }
  assert.deepEqual(until, ['now']);
});

test('lines: a long line is broken at 1 MiB, whatever the pieces in which it comes', async (t) => {
  const shelld = await client(t);
  const most = 1 << 20;
  for (const length of [most, most + 1, 2 * most, 3 * most + 1]) {
    for (const end of ['', '\\r\\n', '\\nnext']) {
      const job = await shelld.start(`head -c ${length} /dev/zero | tr '\\0' x; printf '${end}'`, { mode: 'pipe' });
      const lengths: number[] = [];
      for await (const line of job.lines()) lengths.push(line.length);
      const wanted = Array.from({ length: Math.ceil(length / most) }, (_, n) => Math.min(most, length - n * most));
      assert.deepEqual(lengths, end.endsWith('next') ? [...wanted, 4] : wanted, `${length} ${end}`);
    }
  }
  const wide = await shelld.start(['node', '-e', `process.stdout.write('a' + '😀'.repeat(${most}))`], { mode: 'pipe' });
  let all = '';
  for await (const line of wide.lines()) all += line;
  assert.ok(all === 'a' + '😀'.repeat(most));
});

test('lines: colours are left out unless asked for, and dropped output is told', async (t) => {
  const shelld = await client(t, { options: { limits: { spoolMemoryBytes: 131072 } } });
  const coloured = await shelld.start(`printf '\\033[31mred\\033[0m\\nlast'`);
  const plain: string[] = [];
  for await (const line of coloured.lines()) plain.push(line);
  assert.deepEqual(plain, ['red', 'last']);
  const raw: string[] = [];
  for await (const line of coloured.lines({ plain: false })) raw.push(line);
  assert.deepEqual(raw, ['\x1b[31mred\x1b[0m', 'last']);
  const long = await shelld.start(['seq', '100000'], { mode: 'pipe' });
  await long.exit;
  const lines: string[] = [];
  for await (const line of long.lines()) lines.push(line);
  assert.equal(lines[0], '1');
  assert.equal(lines.at(-1), '100000');
  assert.equal(lines.filter((line) => /^\[shelld: \d+ bytes omitted here, offsets \d+ to \d+\]$/.test(line)).length, 1);
});

test('one reader at a time; a reader can be aborted', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('echo up; read x');
  const over = new AbortController();
  const first = job.output({ signal: over.signal });
  await first.next();
  await assert.rejects(job.output().next(), ({ kind }: ShelldError) => kind === 'outputBusy');
  const pending = first.next();
  over.abort(new Error('enough'));
  await assert.rejects(pending, /enough/);
  for await (const line of job.lines()) {
    assert.equal(line, 'up');
    break;
  }
});

test('lines: a longer line is broken at maxLineBytes, between characters', async (t) => {
  const shelld = await client(t);
  const job = await shelld.start(`yes é | tr -d '\\n' | head -c 200000; echo; echo last; printf 'xyz'`, { mode: 'pipe' });
  for (const [maxLineBytes, most] of [[10_001, 10_000], [1, 4]] as const) {
    const lines: string[] = [];
    for await (const line of job.lines({ maxLineBytes })) lines.push(line);
    assert.deepEqual(lines, [...Array<string>(200_000 / most).fill('é'.repeat(most / 2)), 'last', 'xyz']);
  }
});
