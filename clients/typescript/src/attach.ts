import { onAbort } from './abort.js';
import type { Connection, Handlers, RequestOptions } from './connection.js';
import { RequestError, ServerEndedError } from './errors.js';
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

class MessageConnectionAdapter implements Connection {
  inFlight = 0;
  #connection: MessageConnection;
  #over: ServerEndedError | undefined;
  #ended: Promise<void>;
  #end!: (error: ServerEndedError) => void;

  constructor(connection: MessageConnection) {
    this.#connection = connection;
    this.#ended = new Promise((resolve) => {
      this.#end = (error) => { this.#over ??= error; resolve(); };
    });
  }

  listen(handlers: Handlers): void {
    this.#connection.onNotification((method, params) => handlers.event(method, params));
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
    void this.#ended.then(() => handlers.ended(this.#over!));
  }

  async request(method: string, params: object, { signal, accept, late }: RequestOptions = {}): Promise<any> {
    signal?.throwIfAborted();
    if (this.#over) throw this.#over;
    const cancel = new Cancellation();
    this.inFlight++;
    const answer = this.#connection.sendRequest(method, params, cancel.token).then((result) => {
      (signal?.aborted ? late : accept)?.(result);
      return result;
    }).finally(() => this.inFlight--);
    let forget = () => {};
    const aborted = new Promise((_, reject) => {
      forget = onAbort(signal, () => { cancel.cancel(); reject(signal!.reason); });
      void this.#ended.then(() => reject(this.#over));
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

  async close(): Promise<void> {
    if (this.#over) return;
    await this.request('shutdown', {}).catch(() => {});
    this.notify('exit', {});
    this.#connection.end();
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
