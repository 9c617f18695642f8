import { stripVTControlCharacters } from 'node:util';
import { onAbort } from './abort.js';
import { RequestError, ShelldError } from './errors.js';
import type { Job } from './job.js';
import type { Gap, JobOutputParams, JobState, JobSubscribeParams, Stream } from './protocol.js';

export interface OutputOptions {
  /** One stream alone. Default: all. */
  stream?: Stream;
  /** From where: an offset, start or now. Default start. */
  from?: number | 'start' | 'now';
  /** The end: exited (default) is that of the command, closed that of everything it started. */
  until?: 'exited' | 'closed';
  /** The effect of a reader that is slower than the job. Default block: the job waits. */
  whenSlow?: JobSubscribeParams['whenSlow'];
  /** Ends the reading with an exception. */
  signal?: AbortSignal | undefined;
}

/** A piece of output. */
export class Chunk {
  readonly stream: Stream;
  /** The offset of its first byte in the stream. */
  readonly offset: number;
  /** How many bytes of the stream it stands for. */
  readonly length: number;
  /** The range before it that is no longer kept, if there is one. */
  readonly gap: Gap | undefined;
  #text: string | undefined;
  #base64: string | undefined;

  constructor({ stream, offset, bytes, gap, text, base64 }: Pick<JobOutputParams, 'stream' | 'offset' | 'bytes' | 'gap' | 'text' | 'base64'>) {
    this.stream = stream;
    this.offset = offset;
    this.length = bytes;
    this.gap = gap;
    this.#text = text;
    this.#base64 = base64;
  }

  /** Its text; bytes that are not UTF-8 are U+FFFD. */
  get text(): string {
    return this.#text ?? Buffer.from(this.#base64!, 'base64').toString();
  }

  /** Its bytes. */
  get bytes(): Uint8Array {
    return this.#text === undefined ? Buffer.from(this.#base64!, 'base64') : Buffer.from(this.#text);
  }
}

/** The options of a reader, and the one that pipe() adds. */
export interface ReadOptions extends OutputOptions {
  queries?: JobSubscribeParams['queries'];
}

/**
 * Reads a job's output in order. A chunk is acknowledged when the next one is asked for, so that the server's
 * window bounds the output on its way, however slow the reader is.
 */
export async function* readOutput(job: Job, options: ReadOptions): AsyncGenerator<Chunk, void, void> {
  const { stream, from = 'start', until = 'exited', whenSlow = 'block', signal, queries } = options;
  signal?.throwIfAborted();
  const endEvent = until === 'closed' ? 'job/closed' : 'job/exited';
  const done = job.beginReading();
  const queue: (Chunk | undefined)[] = []; // undefined is the end
  const position: Partial<Record<Stream, number>> = {};
  let state: JobState | undefined; // as of when the subscription took effect
  let failure: { error: unknown } | undefined;
  let wake = () => {};
  const fail = (error: unknown) => { failure ??= { error }; wake(); };
  const off = job.listen((method, params) => {
    // Events before the answer belong to an earlier subscription.
    if (!state) return;
    if (method === 'job/output') {
      const output = params as JobOutputParams;
      if (stream === undefined || output.stream === stream) queue.push(new Chunk(output));
      else job.acknowledge(output.stream, output.offset + output.bytes);
    } else if (method === endEvent) {
      queue.push(undefined);
    }
    wake();
  }, fail);
  const forget = onAbort(signal, () => fail(signal!.reason));
  const acknowledge = acknowledger(job);
  const reachedEnd = () => {
    const ended = state!.exit && (until === 'exited' || state!.status === 'closed');
    return ended && Object.entries(state!.streams).every(([name, { nextOffset }]) =>
      (stream !== undefined && name !== stream) || (position[name as Stream] ?? 0) >= nextOffset);
  };
  try {
    await job.subscribe({ from, whenSlow, ...(queries && { queries }) }, (subscribed) => {
      state = subscribed;
      for (const [name, { nextOffset }] of Object.entries(state.streams)) {
        position[name as Stream] = from === 'now' ? nextOffset : from === 'start' ? 0 : from;
      }
    });
    while (!failure) {
      // The events of an end that was sent before do not come again: then the offsets say where it is.
      if (queue.length === 0 && reachedEnd()) return;
      if (queue.length === 0) {
        const release = job.shelld.hold();
        await new Promise<void>((resolve) => { wake = resolve; });
        release();
        continue;
      }
      const chunk = queue.shift();
      if (!chunk) return;
      yield chunk;
      position[chunk.stream] = chunk.offset + chunk.length;
      acknowledge(chunk);
    }
    throw failure.error;
  } catch (error) {
    // Everything was sent already, so that there is nothing to subscribe to: it is read.
    if (state || !(error instanceof RequestError) || error.kind !== 'jobExited') throw error;
    yield* readStored(job, options);
  } finally {
    forget();
    off();
    done();
    // A program that waits for this reader goes on.
    if (state) job.subscribe({ whenSlow: 'spool', ...(queries && { queries: 'keep' }) }).catch(() => {});
  }
}

/** Acknowledges some quarters of a window: that is often enough for the server to go on sending. */
function acknowledger(job: Job): (chunk: Chunk) => void {
  const quarter = (job.shelld.server.limits.windowBytes ?? 1 << 20) / 4;
  const acknowledged: Partial<Record<Stream, number>> = {};
  return ({ stream, offset, length }) => {
    const end = offset + length;
    if (end - (acknowledged[stream] ?? -Infinity) < quarter) return;
    acknowledged[stream] = end;
    job.acknowledge(stream, end);
  };
}

/** Reads the stored output of a closed job, one stream after the other. */
async function* readStored(job: Job, { stream, from = 'start', signal }: OutputOptions): AsyncGenerator<Chunk, void, void> {
  const request = { signal };
  const { job: { streams } } = await job.shelld.request('job/get', { handle: job.handle }, request);
  for (const name of Object.keys(streams) as Stream[]) {
    if (stream !== undefined && name !== stream) continue;
    let offset = from === 'start' ? 0 : from === 'now' ? streams[name]!.nextOffset : from;
    for (let more = true; more;) {
      const page = await job.shelld.request('job/read', { handle: job.handle, stream: name, offset, maxBytes: 1 << 18 }, request);
      const bytes = page.nextOffset - page.offset;
      if (bytes > 0 || page.gap) yield new Chunk({ ...page, stream: name, bytes });
      offset = page.nextOffset;
      more = page.hasMore;
    }
  }
}

export interface LineOptions extends OutputOptions {
  /** Whether escape sequences, such as colours, are removed. Default true. */
  plain?: boolean;
  /** A longer line is broken, so that one without end takes no more memory than this. Default 1 MiB; at least 4. */
  maxLineBytes?: number;
}

/** The unfinished line of a stream. */
interface Begun {
  pieces: string[];
  bytes: number;
  /** It is the rest of a line that was broken. */
  broken: boolean;
}

/** Reads lines without their ends; those of stdout and of stderr are put together by themselves. */
export async function* readLines(job: Job, { plain = true, maxLineBytes = 1 << 20, ...options }: LineOptions): AsyncGenerator<string, void, void> {
  const max = Math.max(maxLineBytes, 4); // the longest character
  const begun: Partial<Record<Stream, Begun>> = {};
  const clean = (line: string) => plain ? stripVTControlCharacters(line) : line;
  const ended = (line: string) => line.endsWith('\r') ? line.slice(0, -1) : line;
  const take = (stream: Stream, broken = false) => {
    const line = begun[stream]!.pieces.join('');
    begun[stream] = { pieces: [], bytes: 0, broken };
    return line;
  };
  // Adds to the line of a stream, and returns the rest of what exceeds it.
  const add = (stream: Stream, text: string) => {
    const line = begun[stream]!;
    const [piece, bytes] = cut(text, max - line.bytes);
    line.pieces.push(piece);
    line.bytes += bytes;
    return text.slice(piece.length);
  };
  for await (const { stream, text, gap } of readOutput(job, options)) {
    begun[stream] ??= { pieces: [], bytes: 0, broken: false };
    const lines = ((gap ? gapText(gap) : '') + text).split('\n');
    const last = lines.length - 1;
    for (const [i, line] of lines.entries()) {
      if (i > 0 && i < last && line.length * 3 <= max) {
        yield clean(ended(line)); // as nearly all are
        continue;
      }
      for (let rest = add(stream, line); rest !== ''; rest = add(stream, rest)) yield clean(take(stream, true));
      if (i === last) break;
      const { broken } = begun[stream]!;
      const end = ended(take(stream));
      if (end !== '' || !broken) yield clean(end);
    }
  }
  for (const [stream, { bytes }] of Object.entries(begun)) if (bytes > 0) yield clean(ended(take(stream as Stream)));
}

/** The beginning of a text that fits into so many bytes, in whole characters, and how many bytes it has. */
function cut(text: string, room: number): [string, number] {
  if (text.length * 3 <= room) return [text, Buffer.byteLength(text)];
  const { read, written } = new TextEncoder().encodeInto(text.slice(0, room), new Uint8Array(room));
  return [text.slice(0, read), written];
}

/** Output that is not kept is never left out in silence; the server's files have the same words. */
function gapText({ from, to }: Gap): string {
  return `\n[shelld: ${to - from} bytes omitted here, offsets ${from} to ${to}]\n`;
}

/** The error of a second reader. */
export function outputBusy(handle: number): ShelldError {
  return new ShelldError('outputBusy', `the output of job ${handle} is being read already: end that reader first, or use request('job/read')`);
}
