import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { ConnectError } from './errors.js';

export interface ServerOptions {
  /** The server's program. Default: `$SHELLD`, the package of this platform, `shelld` on PATH. */
  path?: string;
  /** Its arguments. */
  args?: readonly string[];
  /** Its environment. Default: that of this process. `options.env` selects the variables that jobs inherit. */
  env?: Record<string, string | undefined>;
  /** Receives the server's stderr. */
  onLog?: (text: string) => void;
}

const stderrKept = 4096;
/** How long streams of an ended server are waited for, since a process that it left may hold stderr open. */
const drainMs = 1000;

/** The process of a server, with its streams. */
export class ServerProcess {
  readonly path: string;
  /** The end of its stderr. */
  stderr = '';
  /** Resolves to how it ended, in words, when its output is read. */
  readonly ended: Promise<string>;
  #child: ChildProcessWithoutNullStreams;

  private constructor(path: string, child: ChildProcessWithoutNullStreams, onLog?: (text: string) => void) {
    this.path = path;
    this.#child = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-stderrKept);
      onLog?.(text);
    });
    // Writing to a server that has ended fails; `ended` reports that.
    child.stdin.on('error', () => {});
    const closed = new Promise((resolve) => child.once('close', resolve));
    const exited = new Promise<[number | null, string | null]>((resolve) => child.once('exit', (code, signal) => resolve([code, signal])));
    this.ended = exited.then(async ([code, signal]) => {
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([closed, new Promise((resolve) => { timer = setTimeout(resolve, drainMs); })]);
      clearTimeout(timer);
      return signal === null ? `exit status ${code}` : `signal ${signal}`;
    });
  }

  /** Starts the program itself, without a shell. */
  static async start(path: string, { args, env, onLog }: ServerOptions): Promise<ServerProcess> {
    try {
      const child = spawn(path, [...args ?? []], { env, stdio: 'pipe', windowsHide: true });
      // An error may come at any time, such as that of a signal that could not be sent.
      child.on('error', () => {});
      const spawned = once(child, 'spawn');
      if (!child.stdin) await spawned; // there are no streams (EMFILE, EAGAIN): it rejects
      const server = new ServerProcess(path, child, onLog);
      await spawned;
      return server;
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code;
      if (code === 'ENOENT') {
        const message = `there is no program ${path}: put shelld on PATH, or name it in $SHELLD or in the option path`;
        throw new ConnectError('serverNotFound', message, { cause });
      }
      const exhausted = ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'].includes(code!);
      const remedy = exhausted ? 'close files, end processes, or raise the limit' : 'name an executable shelld in $SHELLD or in the option path';
      const message = `${path} cannot be run (${code}): ${remedy}`;
      throw new ConnectError('notShelld', message, { cause });
    }
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  /** Calls back with the server's stdout, and at its end. */
  read(data: (text: string) => void, end: () => void): void {
    this.#child.stdout.setEncoding('utf8').on('data', data).once('close', end);
  }

  endInput(): void {
    this.#child.stdin.end();
  }

  kill(): void {
    this.#child.kill('SIGKILL');
    // A process that the server leaves behind must not keep our ends open.
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  /**
   * Says whether this process should live on for the server's sake. A program that forgets to close its
   * client ends all the same, and the server and its jobs with it.
   */
  keepAlive(wanted: boolean): void {
    const name = wanted ? 'ref' : 'unref';
    this.#child[name]();
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
      (stream as { ref?(): void; unref?(): void })[name]?.(); // a net.Socket in Node
    }
  }
}
