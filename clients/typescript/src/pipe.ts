import { onAbort } from './abort.js';
import { ServerEndedError, ShelldError } from './errors.js';
import type { Job } from './job.js';
import type { Exit, JobWriteParams } from './protocol.js';

interface Disposable {
  dispose(): void;
}

/** A terminal that shows a job; one of xterm.js is one. */
export interface Terminal {
  /** Shows output; calls back when that is done, so that a slow terminal slows the job. */
  write(data: string | Uint8Array, done?: () => void): void;
  /** Reports typed input, and the terminal's answers to queries of the program. */
  onData(listener: (data: string) => void): Disposable;
  /** Reports bytes, a character each, as some mouse events are. */
  onBinary?(listener: (data: string) => void): Disposable;
  /** Reports a new size. */
  onResize?(listener: (size: { cols: number; rows: number }) => void): Disposable;
  readonly cols?: number;
  readonly rows?: number;
}

/** The connection of a job and a terminal. */
export interface Pipe extends AsyncDisposable {
  /** Resolves to how the job ended, when all was shown. Rejects if the server ends first. */
  readonly done: Promise<Exit>;
  /** Parts the two: the job runs on, and the server answers its queries again. */
  dispose(): Promise<void>;
}

export function pipe(job: Job, terminal: Terminal): Pipe {
  const stop = new AbortController();
  // Requests of one job take effect in their order: nothing here has to wait for an answer.
  const send = (request: Promise<unknown>) => request.catch((error) => {
    // A refused key or size is lost, as one for a program that does not read; the job and its output go on.
    if (error instanceof ServerEndedError) stop.abort(error);
  });
  const resize = (cols: number, rows: number) => send(job.resize(cols, rows));
  const write = (params: Omit<JobWriteParams, 'handle'>) => send(job.write(params as JobWriteParams));
  if (terminal.cols !== undefined && terminal.rows !== undefined) resize(terminal.cols, terminal.rows);
  const subscriptions = [
    terminal.onData((input) => write({ input } as JobWriteParams)),
    terminal.onBinary?.((data) => write({ send: [{ base64: Buffer.from(data, 'latin1').toString('base64') }] } as JobWriteParams)),
    terminal.onResize?.(({ cols, rows }) => resize(cols, rows)),
  ];
  // A terminal may never call back: the end of the connection ends that wait, too.
  const off = job.listen(() => {}, (error) => stop.abort(error));
  const show = async (): Promise<Exit> => {
    try {
      for await (const chunk of job.outputForTerminal(stop.signal)) {
        await shown(terminal, chunk.text, stop.signal);
      }
      return await job.exit;
    } finally {
      off();
      for (const subscription of subscriptions) subscription?.dispose();
    }
  };
  const done = show();
  done.catch(() => {}); // the caller may not wait for it
  const dispose = async () => {
    stop.abort(new ShelldError('closed', `job ${job.handle} and its terminal were parted`));
    await done.catch(() => {});
  };
  return { done, dispose, [Symbol.asyncDispose]: dispose };
}

/** Resolves when a terminal has shown a text. Rejects if the signal aborts before. */
function shown(terminal: Terminal, text: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise<void>((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason));
    terminal.write(text, () => { forget(); resolve(); });
  });
}
