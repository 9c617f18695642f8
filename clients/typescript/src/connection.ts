import { onAbort } from './abort.js';
import { checkMessage, RequestError, ServerEndedError, ShelldError } from './errors.js';
import type { ServerProcess } from './server.js';

/** The receivers of a connection's messages. */
export interface Handlers {
  /** A notification of the server. */
  event(method: string, params: object): void;
  /** A request of the server; the signal aborts when it is withdrawn. */
  request(method: string, params: object, signal: AbortSignal): Promise<object>;
  /** An exception of a callback, or an error of the server that belongs to no request. */
  failed(error: unknown): void;
  /** The connection is over; every pending request is rejected with this error. */
  ended(error: ShelldError): void;
}

export interface RequestOptions {
  /** Withdraws the request. */
  signal?: AbortSignal | undefined;
  /** Called with the result before any later message is handled. */
  accept?: (result: any) => void;
  /** Called with a result that comes although the request was withdrawn. */
  late?: (result: any) => void;
}

/** A connection to a server. */
export interface Connection {
  listen(handlers: Handlers): void;
  /** The longest message, in bytes, that either side may send. */
  maxMessageBytes: number;
  request(method: string, params: object, options?: RequestOptions): Promise<any>;
  notify(method: string, params: object): void;
  /** How many requests have no answer yet, withdrawn ones among them. */
  readonly inFlight: number;
  /** Keeps this process alive until the returned function is called. */
  hold(): () => void;
  /** Ends the server; graceMs is how long its jobs may take to end. */
  close(graceMs: number): Promise<void>;
}

interface Message {
  id?: number | string | null;
  method?: string;
  params?: object;
  result?: object;
  error?: { code: number; message: string; data?: unknown };
}

interface Pending {
  method: string;
  options: RequestOptions;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** How long a server may take to end, besides the grace of its jobs. */
const closeMs = 10_000;
/** How long a server may live on after it has closed its stdout. */
const muteMs = 2000;

/** A connection to a server process: a JSON text a line. */
export class LineConnection implements Connection {
  maxMessageBytes = 1 << 24;
  #server: ServerProcess;
  #handlers!: Handlers;
  #lastId = 0;
  #pending = new Map<number, Pending>();
  #asked = new Map<unknown, AbortController>(); // the server's requests
  #line: string[] = []; // the pieces of an unfinished line
  #lineLength = 0;
  #over: ShelldError | undefined;
  #closing: Promise<void> | undefined;
  #holds = 0;

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  listen(handlers: Handlers): void {
    this.#handlers = handlers;
    this.#server.read((text) => this.#read(text), () => void this.#ended());
    this.#server.keepAlive(this.#holds > 0);
  }

  request(method: string, params: object, options: RequestOptions = {}): Promise<any> {
    const { signal } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#over) return Promise.reject(this.#over);
    const id = ++this.#lastId;
    let line: string;
    try {
      line = this.#encode({ id, method, params });
    } catch (error) {
      return Promise.reject(error);
    }
    const release = this.hold();
    let forget = () => {};
    const answer = new Promise((resolve, reject) => {
      const pending: Pending = { method, options, resolve, reject };
      forget = onAbort(signal, () => {
        // The answer is still to come: it says whether the request has had an effect.
        pending.options = { accept: (result) => options.late?.(result) };
        this.notify('$/cancelRequest', { id });
        reject(signal?.reason);
      });
      this.#pending.set(id, pending);
    });
    this.#server.write(line);
    return answer.finally(() => {
      forget();
      release();
    });
  }

  notify(method: string, params: object): void {
    if (!this.#over) this.#write({ method, params });
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  hold(): () => void {
    if (this.#holds++ === 0) this.#server.keepAlive(true);
    let held = true;
    return () => {
      if (held && --this.#holds === 0) this.#server.keepAlive(false);
      held = false;
    };
  }

  close(graceMs: number): Promise<void> {
    return this.#closing ??= this.#close(graceMs);
  }

  async #close(graceMs: number): Promise<void> {
    const release = this.hold();
    const timer = setTimeout(() => this.#server.kill(), graceMs + closeMs);
    try {
      await this.request('shutdown', {}).catch(() => {});
      this.notify('exit', {});
      this.#server.endInput();
      await this.#server.ended;
    } finally {
      clearTimeout(timer);
      release();
    }
    this.#end(new ServerEndedError('the client is closed: connect again', '', 'closed'));
  }

  /** Ends the connection because of a message of the server. */
  fail(error: ShelldError): void {
    this.#end(error);
    this.#server.kill();
  }

  #write(message: Message): void {
    this.#server.write(this.#encode(message));
  }

  /** Returns the line of a message. Throws if it cannot be encoded (a BigInt, a cycle) or is too large. */
  #encode(message: Message): string {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    checkMessage(message.method, text, this.maxMessageBytes);
    return text + '\n';
  }

  #read(text: string): void {
    let begin = 0;
    for (let end = text.indexOf('\n'); end >= 0 && !this.#over; end = text.indexOf('\n', begin)) {
      this.#line.push(text.slice(begin, end));
      begin = end + 1;
      const line = this.#line.length === 1 ? this.#line[0]! : this.#line.join('');
      this.#line = [];
      this.#lineLength = 0;
      if (line.trim() !== '') this.#handleLine(line);
    }
    if (begin < text.length && !this.#over) {
      this.#line.push(begin === 0 ? text : text.slice(begin));
      this.#lineLength += text.length - begin;
      if (this.#lineLength > this.maxMessageBytes) this.#garbage('a line that does not end');
    }
  }

  #handleLine(line: string): void {
    let message: Message;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#garbage(JSON.stringify(line.slice(0, 200)));
    }
    if (typeof message !== 'object' || message === null || Array.isArray(message)) return this.#garbage(line.slice(0, 200));
    try {
      if (message.method === undefined) this.#answered(message);
      else if (message.id !== undefined) void this.#answer(message.id, message.method, message.params ?? {});
      else if (message.method === '$/cancelRequest') this.#withdrawn((message.params as { id: unknown }).id);
      else this.#handlers.event(message.method, message.params ?? {});
    } catch (error) {
      this.#handlers.failed(error);
    }
  }

  #garbage(what: string): void {
    const message = `${this.#server.path} does not speak shelld's protocol: it wrote ${what} to stdout`;
    this.fail(new ServerEndedError(message, this.#server.stderr, 'notShelld'));
  }

  #answered({ id, result, error }: Message): void {
    if (error && (id === null || id === undefined)) return this.#misunderstood(error);
    const pending = this.#pending.get(id as number);
    if (!pending) return;
    this.#pending.delete(id as number);
    if (error) return pending.reject(new RequestError(pending.method, error));
    try {
      pending.options.accept?.(result);
    } catch (thrown) {
      return pending.reject(thrown);
    }
    pending.resolve(result);
  }

  /** The server could not read a message, and cannot say which: any pending request may be without an answer. */
  #misunderstood(error: NonNullable<Message['error']>): void {
    for (const pending of this.#pending.values()) {
      const { late } = pending.options;
      pending.options = { ...(late && { accept: late }) };
      pending.reject(new RequestError(pending.method, error));
    }
    this.#handlers.failed(new RequestError('a message', error));
  }

  /** Answers a request of the server. */
  async #answer(id: number | string | null, method: string, params: object): Promise<void> {
    const withdrawn = new AbortController();
    this.#asked.set(id, withdrawn);
    const release = this.hold();
    try {
      const result = await this.#handlers.request(method, params, withdrawn.signal);
      if (!this.#over) this.#write({ id, result });
    } catch (error) {
      const { code = -32603, message = '' } = error as { code?: number; message?: string };
      if (!this.#over) this.#write({ id, error: { code, message } });
    } finally {
      this.#asked.delete(id);
      release();
    }
  }

  #withdrawn(id: unknown): void {
    this.#asked.get(id)?.abort(new ShelldError('canceled', 'the server no longer needs an answer'));
  }

  async #ended(): Promise<void> {
    this.#server.endInput();
    const timer = setTimeout(() => this.#server.kill(), muteMs);
    const how = await this.#server.ended.catch(String);
    clearTimeout(timer);
    this.#end(new ServerEndedError(`${this.#server.path} has ended (${how}), and every job with it: connect again`, this.#server.stderr));
  }

  #end(error: ShelldError): void {
    if (this.#over) return;
    this.#over = error;
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
    for (const asked of this.#asked.values()) asked.abort(error);
    this.#handlers.ended(error);
  }
}
