import { onAbort } from './abort.js';
import type { Connection, Handlers, RequestOptions } from './connection.js';
import { checkMessage, RequestError, ServerEndedError } from './errors.js';
import type { InitializeParams } from './protocol.js';
import { Shelld, type Callbacks } from './shelld.js';

interface Disposable {
  dispose(): void;
}

interface CancellationToken {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: (event: any) => unknown): Disposable;
}

/** The used part of a MessageConnection of vscode-jsonrpc. */
export interface MessageConnection {
  sendRequest(method: string, params: any, token?: any): Promise<any>;
  sendNotification(method: string, params?: any): Promise<void>;
  onRequest(method: string, handler: (params: any, token: CancellationToken) => any): Disposable;
  onNotification(handler: (method: string, params: any) => void): Disposable;
  onClose(listener: () => void): Disposable;
  onDispose(listener: () => void): Disposable;
  end(): void;
}

/** The params of initialize, and questions to a person. */
export interface AttachOptions extends Omit<InitializeParams, 'protocolVersion' | 'capabilities' | '_meta'>, Callbacks {}

/**
 * Makes a client of a connection of vscode-jsonrpc to a shelld that was not initialized yet. The connection
 * has to listen already. The server's process stays the caller's: close() ends the connection.
 */
export async function attach(connection: MessageConnection, options: AttachOptions = {}): Promise<Shelld> {
  const { secret, confirm, onError, ...initialize } = options;
  const callbacks = { ...(secret && { secret }), ...(confirm && { confirm }), ...(onError && { onError }) };
  const shelld = new Shelld(new MessageConnectionAdapter(connection), callbacks);
  await shelld.initialize(initialize);
  return shelld;
}

/** How long a shutdown may take, besides the grace of its jobs, and how long the writing of a notification. */
const closeMs = 10_000;
const exitMs = 2000;

/** Resolves when a promise is settled, or after that time. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, ms); });
  await Promise.race([promise.catch(() => {}), late]);
  clearTimeout(timer);
}

/** Whether the JSON of a value may have more bytes. The value is measured and not encoded: that is the connection's work. */
function mayExceed(value: unknown, max: number): boolean {
  const rest = [value];
  let bytes = 0;
  while (rest.length > 0 && bytes <= max) {
    const one = rest.pop();
    bytes += 32; // a number, or the signs around anything else
    if (typeof one === 'string') bytes += one.length * 6; // as \u0001
    if (typeof one === 'bigint') return true; // JSON.stringify says what is wrong
    if (typeof one !== 'object' || one === null) continue;
    if ('toJSON' in one) return true;
    for (const inner of Array.isArray(one) ? one : Object.entries(one).flat()) rest.push(inner);
  }
  return bytes > max;
}

class MessageConnectionAdapter implements Connection {
  inFlight = 0;
  maxMessageBytes = 1 << 24;
  #connection: MessageConnection;
  #over: ServerEndedError | undefined;
  #handlers!: Handlers;
  #waiting = new Set<(error: ServerEndedError) => void>(); // the pending requests

  constructor(connection: MessageConnection) {
    this.#connection = connection;
  }

  #end(error: ServerEndedError): void {
    if (this.#over) return;
    this.#over = error;
    for (const reject of this.#waiting) reject(error);
    this.#waiting.clear();
    this.#handlers.ended(error);
  }

  listen(handlers: Handlers): void {
    this.#handlers = handlers;
    this.#connection.onNotification((method, params) => {
      try {
        handlers.event(method, params);
      } catch (error) {
        handlers.failed(error);
      }
    });
    for (const method of ['client/secret', 'client/confirm']) {
      this.#connection.onRequest(method, async (params, token) => {
        const withdrawn = new AbortController();
        const listening = token.onCancellationRequested(() => withdrawn.abort());
        try {
          return await handlers.request(method, params, withdrawn.signal);
        } catch (error) {
          throw new Error((error as Error).message);
        } finally {
          listening.dispose();
        }
      });
    }
    this.#connection.onClose(() => this.#end(new ServerEndedError('the connection to shelld has ended', '')));
    this.#connection.onDispose(() => this.#end(new ServerEndedError('the connection to shelld was disposed', '')));
  }

  async request(method: string, params: object, { signal, accept, late }: RequestOptions = {}): Promise<any> {
    signal?.throwIfAborted();
    if (this.#over) throw this.#over;
    const max = this.maxMessageBytes - 200; // the rest of the message
    if (mayExceed(params, max)) checkMessage(method, JSON.stringify(params), max);
    const cancel = new Cancellation();
    const sent = this.#connection.sendRequest(method, params, cancel.token);
    this.inFlight++;
    const answer = sent.then((result) => {
      (signal?.aborted ? late : accept)?.(result);
      return result;
    }).finally(() => this.inFlight--);
    let forget = () => {};
    const aborted = new Promise((_, reject) => {
      const forgetSignal = onAbort(signal, () => { cancel.cancel(); reject(signal!.reason); });
      this.#waiting.add(reject);
      forget = () => { forgetSignal(); this.#waiting.delete(reject); };
    });
    aborted.catch(() => {});
    try {
      return await Promise.race([answer, aborted]);
    } catch (error) {
      answer.catch(() => {});
      const { code, message, data } = error as { code?: unknown; message: string; data?: { kind?: unknown } };
      if (typeof code === 'number' && typeof data?.kind === 'string') throw new RequestError(method, { code, message, data });
      throw error;
    } finally {
      forget();
    }
  }

  notify(method: string, params: object): void {
    if (!this.#over) this.#connection.sendNotification(method, params).catch(() => {}); // its end is reported by onClose
  }

  hold(): () => void {
    return () => {}; // whoever made the connection keeps the process alive
  }

  async close(graceMs: number): Promise<void> {
    if (this.#over) return;
    await within(graceMs + closeMs, this.request('shutdown', {}));
    if (!this.#over) {
      await within(exitMs, this.#connection.sendNotification('exit', {})); // end() drops what is not written yet
      this.#connection.end();
    }
    this.#end(new ServerEndedError('the client is closed: connect again', '', 'closed'));
  }
}

/** A token that vscode-jsonrpc listens to. */
class Cancellation {
  #listeners = new Set<(event: any) => unknown>();
  readonly token: CancellationToken = {
    isCancellationRequested: false,
    onCancellationRequested: (listener) => {
      this.#listeners.add(listener);
      return { dispose: () => this.#listeners.delete(listener) };
    },
  };

  cancel(): void {
    for (const listener of this.#listeners) listener(undefined);
  }
}
