import { ShelldError } from './errors.js';
import type { Job } from './job.js';
import { readOutput, type OutputOptions } from './output.js';

/** A stream of bytes cannot say that some are missing, so its reader makes the job wait, and a gap is an error. */
export type ReadableOptions = Omit<OutputOptions, 'whenSlow'>;

/** A write is this long at most, and never longer than the input that may wait for the job. */
const pieceBytes = 1 << 16;

/** The output as a stream of bytes. It holds no chunk that was not asked for: the reader sets the pace. */
export function readable(job: Job, { signal, ...options }: ReadableOptions): ReadableStream<Uint8Array> {
  const canceled = new AbortController();
  const output = readOutput(job, { ...options, signal: signal ? AbortSignal.any([signal, canceled.signal]) : canceled.signal });
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await output.next();
      if (done) return controller.close();
      if (value.gap) {
        await output.return();
        throw outputLost(job.handle, value.gap.from, value.gap.to);
      }
      controller.enqueue(value.bytes);
    },
    async cancel(reason) {
      canceled.abort(reason); // a read that waits for output would hold up the end
      await output.return();
    },
  }, { highWaterMark: 0 });
}

/** The job's input as a stream of text or bytes. A write ends when the kernel has taken it. */
export function writable(job: Job): WritableStream<string | Uint8Array> {
  return new WritableStream({
    // The types of Node 20 lack the signal, which aborts with the stream.
    async write(chunk, { signal }: WritableStreamDefaultController & { signal?: AbortSignal | undefined }) {
      const bytes = Buffer.from(chunk as Uint8Array);
      const length = Math.min(pieceBytes, job.shelld.server.limits.inputQueueBytes);
      for (let begin = 0; begin < bytes.length; begin += length) {
        await job.write({ send: [{ base64: bytes.toString('base64', begin, begin + length) }] }, { signal });
      }
    },
    async close() {
      try {
        await job.write({ eof: true });
      } catch (error) {
        // The program has ended, or has closed its input: then that is at its end already.
        if (!(error instanceof ShelldError) || !['jobExited', 'notInteractive'].includes(error.kind)) throw error;
      }
    },
  });
}

function outputLost(handle: number, from: number, to: number): ShelldError {
  const message = `the bytes from ${from} to ${to} of job ${handle} are no longer kept: ` +
    "start it with whenSlow: 'block', or read what is kept with output()";
  return new ShelldError('outputLost', message);
}
