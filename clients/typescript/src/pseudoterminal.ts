import type { Job } from './job.js';
import type { Pipe } from './pipe.js';

type Listener<T> = (value: T) => unknown;
type VscodeEvent<T> = (listener: Listener<T>) => { dispose(): void };

/** A vscode.Pseudoterminal: for createTerminal({ name, pty }), and for a CustomExecution of a task. */
export interface Pseudoterminal {
  onDidWrite: VscodeEvent<string>;
  onDidClose: VscodeEvent<number | void>;
  open(size: { columns: number; rows: number } | undefined): void;
  close(): void;
  handleInput(data: string): void;
  setDimensions(size: { columns: number; rows: number }): void;
}

/** Shows a job in a terminal of VS Code. Closing that terminal ends the job with everything that it has started. */
export function pseudoterminal(job: Job): Pseudoterminal {
  const written = new Emitter<string>();
  const closed = new Emitter<number | void>();
  const typed = new Emitter<string>();
  const resized = new Emitter<{ cols: number; rows: number }>();
  let pipe: Pipe | undefined;
  return {
    onDidWrite: written.event,
    onDidClose: closed.event,
    open(size) {
      pipe = job.pipe({
        write: (data, done) => { written.fire(String(data)); done?.(); },
        onData: typed.event,
        onResize: resized.event,
        ...(size && { cols: size.columns, rows: size.rows }),
      });
      pipe.done.then(({ code }) => closed.fire(code ?? 1), () => closed.fire(1));
    },
    close() {
      job[Symbol.asyncDispose]().catch(() => {});
    },
    handleInput: (data) => typed.fire(data),
    setDimensions: ({ columns, rows }) => resized.fire({ cols: columns, rows }),
  };
}

class Emitter<T> {
  #listeners = new Set<Listener<T>>();

  event: VscodeEvent<T> = (listener) => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };

  fire(value: T): void {
    for (const listener of this.#listeners) listener(value);
  }
}
