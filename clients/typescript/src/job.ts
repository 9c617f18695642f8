import { ServerEndedError, ShelldError } from './errors.js';
import { outputBusy, readLines, readOutput, type Chunk, type LineOptions, type OutputOptions } from './output.js';
import { pipe, type Pipe, type Terminal } from './pipe.js';
import { execParams, execResult, type ExecOptions, type ExecResult } from './exec.js';
import { eventsOf, type Event, type EventMethod } from './events.js';
import type {
  EventName, Exit, Hint, JobExitedParams, JobInfo, JobKillParams, JobScreenParams, JobScreenResult,
  JobSearchParams, JobSearchResult, JobState, JobSubscribeParams, JobSubscribeResult, JobWriteParams, KillReport, SignalTarget, Stream,
} from './protocol.js';
import { ExitError, type Shelld } from './shelld.js';
import { Questions } from './questions.js';
import { readable, writable, type ReadableOptions } from './stream.js';
import { answerOf, pattern, waitParams, type Answer, type QuestionOptions, type Until, type WaitOptions } from './wait.js';

/** The screen as text: a row a line. */
export type ScreenText = Extract<JobScreenResult, { lines: string[] }>;

/** The bounds and options of a search, as in the protocol. */
export interface SearchOptions extends Omit<JobSearchParams, 'handle' | 'group' | 'pattern' | 'literal' | 'flags' | '_meta'> {
  /** Withdraws the search. */
  signal?: AbortSignal | undefined;
}

/** How long the end of a scope lets the job's processes end by themselves. */
const disposeGraceMs = 2000;

/** A started command, and everything that it starts. */
export class Job implements AsyncDisposable {
  readonly shelld: Shelld;
  readonly handle: number;
  /** As of its start. */
  readonly info: JobInfo;
  /** Why the command could not be run, if its end was that. */
  hint: Hint | undefined;
  #wanted: Map<EventName, number>; // how many want it
  #listeners = new Set<{ event(method: EventMethod, params: object): void; ended(error: unknown): void }>();
  #reading = false;
  #exit: Promise<Exit>;
  #closed: Promise<void>;
  #questions = new Questions();
  #asking: number | undefined; // the command of exec() that ended with a question

  /** @internal */
  constructor(shelld: Shelld, info: JobInfo, events: readonly EventName[]) {
    this.shelld = shelld;
    this.handle = info.handle;
    this.info = info;
    this.#wanted = new Map(events.map((name) => [name, 1]));
    const forget = shelld.route(info.handle, {
      event: (method, params) => { for (const one of [...this.#listeners]) one.event(method, params); },
      ended: (error) => { for (const one of [...this.#listeners]) one.ended(error); },
    });
    this.#exit = new Promise((resolve, reject) => {
      if (info.exit) resolve(info.exit);
      this.listen((method, params) => {
        if (method !== 'job/exited') return;
        this.hint = (params as JobExitedParams).hint;
        resolve((params as JobExitedParams).exit);
      }, reject);
    });
    this.#closed = new Promise((resolve, reject) => {
      const done = () => { resolve(); forget(); };
      if (info.status === 'closed') done();
      this.listen((method) => { if (method === 'job/closed') done(); }, (error) => { reject(error); forget(); });
    });
    // A caller may wait for neither: the request in progress reports the end of the server.
    this.#exit.catch(() => {});
    this.#closed.catch(() => {});
  }

  get pid(): number {
    return this.info.pid;
  }

  /** Resolves when the command has ended and its output was read; processes that it started may live on. */
  get exit(): Promise<Exit> {
    return this.#awaited(this.#exit);
  }

  /** Resolves when nothing of the job is alive. */
  get closed(): Promise<void> {
    return this.#awaited(this.#closed);
  }

  /** A caller that asks for an end waits for it: until then this process stays alive. */
  #awaited<T>(end: Promise<T>): Promise<T> {
    const release = this.shelld.hold();
    end.then(release, release);
    return end;
  }

  /** Waits for the first of these facts. The end of the command, and of the time, ends every wait: see `reason`. */
  async wait(until: Until | readonly Until[], options: WaitOptions = {}): Promise<Answer> {
    const params = { handle: this.handle, ...waitParams(until, options) };
    const { outcome } = await this.shelld.request('job/wait', params, options);
    return answerOf(this.#questions.note(outcome, params.until));
  }

  /** Waits until the program asks for input (see `prompt`), or has ended. This needs no pattern. */
  question(options: QuestionOptions = {}): Promise<Answer> {
    return this.wait(this.shelld.asks(options.kinds), options);
  }

  /**
   * Types a line, and waits until the program asks again or has ended; `text` is its output meanwhile.
   * Once the program was waited for or answered, the line is typed only if it still waits for the input that was reported
   * last: a question that came after a timeout, and that nobody has seen, gets no answer (the kind is inputNotExpected).
   * Call question() first, use write() to type ahead, or give `ifWaiting`, the `question.waitId` of any answer.
   */
  async answer(line: string, options: QuestionOptions & { until?: Until | readonly Until[]; ifWaiting?: string } = {}): Promise<Answer> {
    const asks = this.shelld.asks(options.kinds);
    const ends = this.#asking === undefined ? asks : [{ command: this.#asking }, asks];
    const { until = ends, ifWaiting = this.#questions.next(this.handle) } = options;
    const wait = waitParams(until, options);
    const params: JobWriteParams = { handle: this.handle, input: line, appendNewline: true, wait };
    if (ifWaiting !== undefined) params.ifWaiting = ifWaiting;
    const { outcome } = await this.shelld.request('job/write', params, options);
    this.#questions.answered();
    if (outcome!.reason === 'command') this.#asking = undefined;
    return answerOf(this.#questions.note(outcome!, wait.until));
  }

  /** Writes text as it is, or with the options of job/write keys, pastes, mouse events, bytes, the end of input. */
  async write(input: string | Omit<JobWriteParams, 'handle' | 'wait'>, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const params = typeof input === 'string' ? { input } : input;
    await this.shelld.request('job/write', { ...params, handle: this.handle } as JobWriteParams, { signal });
  }

  /** Presses keys, such as Enter, Up, Ctrl-C, Alt-x, F5. */
  press(...keys: string[]): Promise<void> {
    return this.write({ keys } as JobWriteParams);
  }

  /**
   * Runs a command in this shell (bash, zsh or fish), which keeps its directory, variables and functions. There is no time
   * limit by default. With `input: true` a question of the command ends the call, too; then answer() waits for the
   * command's end (`command` of its answer) or its next question.
   */
  async exec(command: string, options: ExecOptions = {}): Promise<ExecResult> {
    const { check, signal, ...rest } = options;
    const params = execParams(rest, this.shelld.asks());
    const result = execResult(await this.shelld.request('job/exec', { handle: this.handle, command, ...params }, { signal }));
    this.#questions.note(result.outcome, params.wait?.until);
    const { exitCode, output, question, timedOut, outcome } = result;
    this.#asking = question && result.commandId;
    if (check && !question && (exitCode !== 0 || timedOut)) {
      const ended = { exitCode, signal: outcome.job.exit?.signal ?? null, stdout: output, stderr: '' };
      throw new ExitError(command, ended, timedOut ? 'timeout' : undefined);
    }
    return result;
  }

  /** Finds a pattern, or a text literally, in all output that is kept, of a closed job as well. A pattern has each line to itself, unless it has the flag s. */
  search(what: RegExp | string, options: SearchOptions = {}): Promise<JobSearchResult> {
    const { signal, ...params } = options;
    const found = typeof what === 'string' ? { literal: what } : pattern(what);
    return this.shelld.request('job/search', { ...params, ...found, handle: this.handle } as JobSearchParams, { signal });
  }

  /** The terminal's screen. */
  screen(params?: { signal?: AbortSignal | undefined; scrollback?: number }): Promise<ScreenText>;
  screen(params: Omit<JobScreenParams, 'handle'> & { signal?: AbortSignal | undefined }): Promise<JobScreenResult>;
  screen({ signal, ...params }: Omit<JobScreenParams, 'handle'> & { signal?: AbortSignal | undefined } = {}): Promise<JobScreenResult> {
    return this.shelld.request('job/screen', { ...params, handle: this.handle }, { signal });
  }

  /** A picture of the terminal: the bytes of a PNG. */
  async screenshot({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<Uint8Array> {
    const { png } = await this.screen({ format: 'png', signal });
    return Buffer.from(png!, 'base64');
  }

  /** Changes the size of the terminal. */
  async resize(cols: number, rows: number): Promise<void> {
    await this.shelld.request('job/resize', { handle: this.handle, cols, rows });
  }

  /** Reads the output in order. A reader that is slow makes the job wait; see the option whenSlow. One reader at a time. */
  output(options: OutputOptions = {}): AsyncGenerator<Chunk, void, void> {
    return readOutput(this, options);
  }

  /** Reads the output line by line, as output() does. */
  lines(options: LineOptions = {}): AsyncGenerator<string, void, void> {
    return readLines(this, options);
  }

  /** The output's bytes as a web stream: what output() reads, at the pace of the stream's reader. An error if bytes are lost. */
  readable(options: ReadableOptions = {}): ReadableStream<Uint8Array> {
    return readable(this, options);
  }

  /**
   * The input as a web stream, for a job on a terminal or with `stdin: 'open'`. Its close() ends the input, as
   * `write({ eof: true })` does; its abort() withdraws what the kernel has not taken, and leaves the input open.
   */
  writable(): WritableStream<string | Uint8Array> {
    return writable(this);
  }

  /** Connects the job with a terminal, such as one of xterm.js, which shows it, types into it and answers its queries. */
  pipe(terminal: Terminal): Pipe {
    return pipe(this, terminal);
  }

  /** The job's events of these names from now on. */
  events(names: readonly Exclude<EventName, 'output'>[], { signal }: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<Event, void, void> {
    const methods = new Set<string>(names.map((name) => `job/${name}`));
    return eventsOf(() => this.shelld.hold(), (push, end) => {
      const off = this.listen((method, params) => {
        if (methods.has(method)) push(method, params);
        if (method === 'job/closed') end();
      }, end);
      this.#want(names, 1);
      this.subscribe({}).catch((error) => end(error instanceof ShelldError && error.kind === 'jobExited' ? undefined : error));
      return () => {
        off();
        this.#want(names, -1);
        this.subscribe({}).catch(() => {});
      };
    }, signal);
  }

  /** Ends the job and everything that it has started: TERM, and after graceMs (5 s) KILL. Reports each process and how it ended. */
  async kill(options: Omit<JobKillParams, 'handle' | 'group'> & { signal?: AbortSignal | undefined } = {}): Promise<KillReport> {
    const { signal, ...params } = options;
    return await this.shelld.request('job/kill', { ...params, handle: this.handle } as JobKillParams, { signal }) as KillReport;
  }

  /** Sends one signal, such as INT, by default to the terminal's foreground process group. */
  async signal(name: string, target?: SignalTarget): Promise<void> {
    await this.shelld.request('job/signal', { handle: this.handle, signal: name, ...(target && { target }) });
  }

  /** Interrupts the program: presses Ctrl-C on a terminal, and sends INT on pipes. It may go on: kill() ends it. */
  interrupt(): Promise<void> {
    return this.info.mode === 'pty' ? this.press('Ctrl-C') : this.signal('INT');
  }

  /** Ends the job with everything that it has started, unless that has ended already. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill({ graceMs: disposeGraceMs });
    } catch (error) {
      // The jobs of a server end with it, and one that is forgotten was closed.
      if (this.shelld.closing || error instanceof ServerEndedError) return;
      if (!(error instanceof ShelldError) || (error.kind !== 'jobNotFound' && error.kind !== 'shuttingDown')) throw error;
    }
  }

  /** @internal All output, with the queries of programs, which are the reader's to answer. */
  outputForTerminal(signal: AbortSignal): AsyncGenerator<Chunk, void, void> {
    return readOutput(this, { signal, until: 'closed', queries: 'client' });
  }

  /** @internal Calls back for each event of the job, and for the end of the connection. */
  listen(event: (method: EventMethod, params: object) => void, ended: (error: unknown) => void): () => void {
    const listener = { event, ended };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @internal Takes the job's one place for a reader of its output, which the job may have waited for. */
  beginReading(): () => void {
    if (this.#reading) throw outputBusy(this.handle);
    this.#reading = true;
    this.#wanted.set('output', 1);
    return () => {
      this.#reading = false;
      this.#wanted.delete('output');
    };
  }

  /** @internal */
  acknowledge(stream: Stream, offset: number): void {
    this.shelld.notify('job/ack', { handle: this.handle, stream, offset });
  }

  /** @internal Subscribes to the wanted events; `accept` gets the job's state as of that moment. */
  async subscribe(params: Omit<JobSubscribeParams, 'handle' | 'events'>, accept?: (state: JobState) => void): Promise<void> {
    const request = { ...params, handle: this.handle, events: [...this.#wanted.keys()] };
    await this.shelld.request('job/subscribe', request, { accept: (result: JobSubscribeResult) => accept?.(result.job!) });
  }

  #want(names: readonly EventName[], more: 1 | -1): void {
    for (const name of names) {
      const count = (this.#wanted.get(name) ?? 0) + more;
      if (count > 0) this.#wanted.set(name, count);
      else this.#wanted.delete(name);
    }
  }
}
