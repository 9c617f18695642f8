import { commandParams, commandText, templateArguments, type Command, type TemplateValue } from './command.js';
import { findServer } from './binary.js';
import { LineConnection, type Connection, type RequestOptions } from './connection.js';
import { ConnectError, RequestError, ServerEndedError, ShelldError } from './errors.js';
import { eventsOf, type Event, type EventMethod } from './events.js';
import { Job } from './job.js';
import type {
  Condition, ConfirmOutcome, EventName, ExitReason, InitializeParams, InputKind, InitializeResult, JobRunParams, JobRunResult,
  JobStartParams, JobStartResult, Notifications, Requests, ServerRequests, WhenSlow,
} from './protocol.js';
import { ServerProcess, type ServerOptions } from './server.js';

/** Questions to a person. The signal aborts when the server withdraws the question. */
export interface Callbacks {
  /**
   * A program asks for a password. Return it, or undefined for no answer. Then question() and answer() wait
   * through passwords, and nothing else may type one, unless `kinds` or `options.secretInput` say otherwise.
   */
  secret?(question: ServerRequests['client/secret']['params'], signal: AbortSignal): Promise<string | undefined> | string | undefined;
  /** A request needs a confirmation (`options.confirm`). */
  confirm?(question: ServerRequests['client/confirm']['params'], signal: AbortSignal): Promise<ConfirmOutcome> | ConfirmOutcome;
  /** Receives an exception of a callback (of onLog too), and an error of the server that belongs to no call. Default: a warning of the process. */
  onError?(error: unknown): void;
}

/** The params of initialize, the start of the server, and questions to a person. */
export interface ConnectOptions extends Omit<InitializeParams, 'protocolVersion' | 'capabilities' | '_meta'>, ServerOptions, Callbacks {
  /** Gives up connecting, and ends the server. */
  signal?: AbortSignal | undefined;
  /** How long the server may take to answer. Default 20 s. */
  connectTimeoutMs?: number;
}

const notPasswords: readonly InputKind[] = ['line', 'raw', 'fullscreen'];

/** JSON-RPC's code for it. */
const methodNotFound = -32601;

type CommandMembers = 'command' | 'argv';

export interface RunOptions extends Omit<JobRunParams, CommandMembers | '_meta'> {
  /** Milliseconds until onTimeout (default: kill) applies. Default: null, no limit. */
  timeoutMs?: number | null;
  /** Bytes of output per stream in the result; of more, head and tail are kept. Default: 1 MiB. */
  maxBytes?: number;
  /** Whether an exit code other than 0 is an ExitError. */
  check?: boolean;
  /** Ends the command with everything that it has started. */
  signal?: AbortSignal | undefined;
}

export interface StartOptions extends Omit<JobStartParams, CommandMembers | 'events' | 'wait' | '_meta'> {
  /** Events of the job for events(); those of output come by output() and lines(). */
  events?: readonly Exclude<EventName, 'output'>[];
  /**
   * The treatment of output without a reader. Default spool: it is kept, of more than 64 MiB the first
   * and the newest. With block the job waits for its reader from the first MiB on, so that nothing is lost.
   */
  whenSlow?: WhenSlow;
  /** Gives up the start. */
  signal?: AbortSignal | undefined;
}

/** How a command has ended. */
export interface CommandResult {
  /** null: a signal ended it, or it runs on. */
  exitCode: number | null;
  signal: string | null;
  /** The output; on a terminal all of it. */
  stdout: string;
  stderr: string;
}

export interface RunResult extends CommandResult {
  /** It ended by itself, with exit code 0. A command that was ended may have that code as well: see raw.exit.reason. */
  ok: boolean;
  timedOut: boolean;
  /** The output lacks its middle: each stream keeps `maxBytes` (1 MiB), head and tail. `raw.truncated` says how much is missing. */
  truncated: boolean;
  /** The handle of its job, for `request('job/kill', { handle })` if something of it runs on. */
  job: number;
  /** Something of it runs on: what it left running, or itself (`onTimeout: 'background'`). */
  background: boolean;
  /** The answer as it came. */
  raw: JobRunResult;
}

/** A command has not ended with 0: thrown by `$` and with the option check. */
export class ExitError extends ShelldError {
  override name = 'ExitError';
  readonly result: CommandResult;

  constructor(command: string, result: CommandResult, reason?: ExitReason) {
    const code = result.exitCode === null ? 'no exit code' : `exit code ${result.exitCode}`;
    const how = result.signal ?? (result.exitCode === 0 && reason ? `${code}, since it was ended: ${reason}` : code);
    const said = (result.stderr || result.stdout).trim().slice(-2000);
    super('commandFailed', `${command} ended with ${how}${said === '' ? '' : `:\n${said}`}`);
    this.result = result;
  }
}

/** Runs a template as a program with arguments, without a shell, and resolves to its stdout without the last line end. */
export interface Dollar {
  (texts: TemplateStringsArray, ...values: TemplateValue[]): Promise<string>;
  (options: RunOptions): (texts: TemplateStringsArray, ...values: TemplateValue[]) => Promise<string>;
}

/** Params may be left out if all of their members may. */
type Params<M extends keyof Requests> = {} extends Requests[M]['params']
  ? [params?: Requests[M]['params'], options?: RequestOptions]
  : [params: Requests[M]['params'], options?: RequestOptions];

interface Route {
  event(method: EventMethod, params: object): void;
  ended(error: unknown): void;
}

/** A connection to a server of its own. */
export class Shelld implements AsyncDisposable {
  /** The server's answer to initialize: version, capabilities, limits. */
  server!: InitializeResult;
  /** Resolves when the server has ended, for whatever reason. */
  readonly ended: Promise<ShelldError>;
  #connection: Connection;
  #callbacks: Callbacks;
  #routes = new Map<number, Route>();
  #listeners = new Set<Route>();
  #starting = 0;
  #closing = false;
  // The end of a short job may be reported before the answer to its start: events of jobs unknown so far.
  #early = new Map<number, { method: EventMethod; params: object }[]>();

  /** @internal */
  constructor(connection: Connection, callbacks: Callbacks) {
    this.#connection = connection;
    this.#callbacks = callbacks;
    this.ended = new Promise((resolve) => {
      connection.listen({
        event: (method, params) => this.#event(method as EventMethod, params),
        request: (method, params, signal) => this.#asked(method, params, signal),
        failed: (error) => report(this.#callbacks, error),
        ended: (error) => {
          for (const route of [...this.#routes.values(), ...this.#listeners]) route.ended(error);
          resolve(error);
        },
      });
    });
  }

  /** Any request of the protocol, typed by its method. */
  request<M extends keyof Requests>(method: M, ...[params, options]: Params<M>): Promise<Requests[M]['result']> {
    return this.#connection.request(method, params ?? {}, options);
  }

  /** Any notification of the protocol. */
  notify<M extends keyof Notifications>(method: M, params: Notifications[M]): void {
    this.#connection.notify(method, params);
  }

  /** How many requests have no answer yet, withdrawn ones among them. */
  get inFlight(): number {
    return this.#connection.inFlight;
  }

  /** Runs a command to its end. There is no time limit by default, and an exit code is no exception without `check`. */
  async run(command: Command, options: RunOptions = {}): Promise<RunResult> {
    const { check, signal, ...params } = options;
    const raw = await this.request('job/run', {
      timeoutMs: null, maxBytes: 1 << 20, ...params, ...commandParams(command),
    } as JobRunParams, { signal });
    const result: RunResult = {
      ok: raw.exit?.code === 0 && raw.exit.reason === 'exited' && !raw.timedOut, exitCode: raw.exit?.code ?? null, signal: raw.exit?.signal ?? null,
      stdout: raw.stdout ?? raw.output ?? '', stderr: raw.stderr ?? '', timedOut: raw.timedOut,
      truncated: raw.truncated !== undefined, job: raw.job.handle, background: raw.job.status !== 'closed', raw,
    };
    if (check && !result.ok) throw new ExitError(commandText(command), result, raw.exit?.reason);
    return result;
  }

  /** See {@link Dollar}. */
  readonly $: Dollar = ((first: TemplateStringsArray | RunOptions, ...values: TemplateValue[]) => {
    const run = async (options: RunOptions, texts: TemplateStringsArray, parts: TemplateValue[]) =>
      (await this.run(templateArguments(texts, parts), { ...options, check: true })).stdout.replace(/\r?\n$/, '');
    if ('raw' in first) return run({}, first, values);
    return (texts: TemplateStringsArray, ...parts: TemplateValue[]) => run(first, texts, parts);
  }) as Dollar;

  /** Starts a command on a terminal (with `mode: 'pipe'` on pipes). End it by kill(), or by `await using`. */
  start(command: Command, options: StartOptions = {}): Promise<Job> {
    return this.#start(commandParams(command), options);
  }

  /** Starts an interactive shell, for exec(): bash, zsh or fish. */
  shell(shell = 'bash', options: StartOptions = {}): Promise<Job> {
    return this.#start({ shell }, options);
  }

  async #start(command: JobStartParams, options: StartOptions): Promise<Job> {
    const { signal, events = [], ...rest } = options;
    const wanted: EventName[] = [...events, 'exited', 'closed'];
    if (options.whenSlow === 'block') wanted.push('output'); // it is read anew when there is a reader
    const params = { ...rest, ...command, events: [...new Set(wanted)] };
    let job: Job | undefined;
    this.#starting++;
    try {
      await this.request('job/start', params as JobStartParams, {
        signal,
        // At once, since events of the job may follow in the same piece of the stream.
        accept: ({ job: info }: JobStartResult) => {
          job = new Job(this, info, wanted);
          const early = this.#early.get(info.handle) ?? [];
          this.#early.delete(info.handle);
          for (const { method, params } of early) this.#routes.get(info.handle)?.event(method, params);
        },
        late: ({ job: { handle } }: JobStartResult) => { this.request('job/kill', { handle }).catch(() => {}); },
      });
      return job!;
    } finally {
      if (--this.#starting === 0) this.#early.clear();
    }
  }

  /** The notifications of the server from now on: those of jobs with the option events, or of `options.events`. */
  events({ signal }: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<Event, void, void> {
    return eventsOf(() => this.hold(), (push, end) => {
      const listener: Route = { event: push, ended: (error) => end(error instanceof ShelldError && error.kind === 'closed' ? undefined : error) };
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    }, signal);
  }

  /** Ends every job, then the server. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#connection.close(this.server?.limits.shutdownGraceMs ?? 0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal close() was called. */
  get closing(): boolean {
    return this.#closing;
  }

  /** @internal The condition that a program asks; a person's passwords are left to the person. */
  asks(kinds = this.#callbacks.secret && notPasswords): Condition {
    return { input: kinds === undefined ? true : { kinds: [...kinds] } };
  }

  /** @internal Keeps this process alive until the returned function is called. */
  hold(): () => void {
    return this.#connection.hold();
  }

  /** @internal Passes on the events of a job. */
  route(handle: number, route: Route): () => void {
    this.#routes.set(handle, route);
    return () => this.#routes.delete(handle);
  }

  /** @internal */
  async initialize(params: InitializeParams, signal?: AbortSignal): Promise<void> {
    const server = await this.request('initialize', {
      clientInfo: { name: 'shelld-typescript' },
      ...params,
      ...(this.#callbacks.secret && { options: { secretInput: 'clientOnly' as const, ...params.options } }),
      protocolVersion: '1',
      capabilities: { ack: true, secret: !!this.#callbacks.secret, confirm: !!this.#callbacks.confirm },
    }, { signal });
    if (typeof server?.protocolVersion !== 'string' || !server.capabilities) {
      throw new ConnectError('notShelld', 'the answer to initialize is not that of a shelld');
    }
    if (server.protocolVersion !== '1') {
      const message = `the server speaks version ${server.protocolVersion} of the protocol, and this package version 1: update the package`;
      throw new ConnectError('unsupportedVersion', message);
    }
    this.server = server;
    if (server.limits?.maxMessageBytes) this.#connection.maxMessageBytes = server.limits.maxMessageBytes;
  }

  #event(method: EventMethod, params: object): void {
    const { handle } = params as { handle: number };
    const route = this.#routes.get(handle);
    if (route) route.event(method, params);
    else if (this.#starting > 0) {
      const early = this.#early.get(handle);
      if (early) early.push({ method, params });
      else this.#early.set(handle, [{ method, params }]);
    }
    for (const listener of [...this.#listeners]) listener.event(method, params);
  }

  async #asked(method: string, params: object, signal: AbortSignal): Promise<object> {
    const { secret, confirm } = this.#callbacks;
    try {
      if (method === 'client/secret' && secret) {
        const value = await secret(params as ServerRequests['client/secret']['params'], signal);
        return value === undefined ? { declined: true } : { value };
      }
      if (method === 'client/confirm' && confirm) {
        return { outcome: await confirm(params as ServerRequests['client/confirm']['params'], signal) };
      }
    } catch (error) {
      if (!signal.aborted) report(this.#callbacks, error);
      // The exception may contain the secret.
      throw { code: -32603, message: 'the callback of the client failed' };
    }
    throw { code: methodNotFound, message: `this client does not answer ${method}` };
  }
}

/** Reports an exception that belongs to no call. It never throws. */
function report({ onError }: Callbacks, error: unknown): void {
  try {
    if (onError) return onError(error);
  } catch (thrown) {
    error = thrown;
  }
  process.emitWarning(error instanceof Error ? error : String(error));
}

/** Starts a server and connects to it. */
export async function connect(options: ConnectOptions = {}): Promise<Shelld> {
  const { path, args, env, onLog, secret, confirm, onError, signal, connectTimeoutMs = 20_000, ...initialize } = options;
  signal?.throwIfAborted();
  const program = findServer(path);
  const logger = (text: string) => {
    try {
      onLog!(text);
    } catch (error) {
      report({ ...(onError && { onError }) }, error);
    }
  };
  const server = await ServerProcess.start(program, { ...(args && { args }), ...(env && { env }), ...(onLog && { onLog: logger }) });
  const connection = new LineConnection(server);
  const shelld = new Shelld(connection, { ...(secret && { secret }), ...(confirm && { confirm }), ...(onError && { onError }) });
  const timeout = new AbortController();
  const timer = setTimeout(() => {
    timeout.abort(new ConnectError('notShelld', `${program} has not answered within ${connectTimeoutMs} ms: is it a shelld?`));
  }, connectTimeoutMs);
  try {
    await shelld.initialize(initialize, signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal);
    return shelld;
  } catch (cause) {
    server.kill();
    await server.ended.catch(() => {});
    throw connectError(program, cause);
  } finally {
    clearTimeout(timer);
  }
}

/** The error of a server that could not be connected to. Wrong params and an abort stay as they are. */
function connectError(program: string, cause: unknown): unknown {
  if (cause instanceof ServerEndedError) {
    return new ConnectError('notShelld', `${program} is no shelld: ${cause.message}`, { cause });
  }
  if (!(cause instanceof RequestError)) return cause;
  if (cause.data.kind === 'unsupportedVersion') {
    const versions = cause.data.supported.join(', ');
    const message = `${program} speaks the protocol's versions ${versions}, and this package version 1: update the one that is older`;
    return new ConnectError('unsupportedVersion', message, { cause });
  }
  if (cause.code === methodNotFound) {
    return new ConnectError('notShelld', `${program} is no shelld: it does not know initialize`, { cause });
  }
  return cause;
}
