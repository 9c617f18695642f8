import type { ErrorObject, Kind } from './protocol.js';

/** The kinds of error that this package adds to those of the protocol. */
export type ClientErrorKind =
  | 'serverNotFound' // there is no such program
  | 'unsupportedPlatform' // shelld does not run on this system
  | 'notShelld' // the program does not speak the protocol
  | 'serverEnded' // the server died
  | 'closed' // close() was called
  | 'messageTooLarge' // a request exceeds the server's maxMessageBytes; it was not sent
  | 'commandFailed' // an exit code other than 0, with `check` or `$`
  | 'outputBusy' // the output of the job is being read already
  | 'outputLost' // readable() came to bytes that are no longer kept
  | 'eventsLost'; // a reader of events() has fallen too far behind

/** Any error of this package. Decide by `kind`: the message is for people, and may change. */
export class ShelldError extends Error {
  override name = 'ShelldError';
  readonly kind: Kind | ClientErrorKind;

  constructor(kind: Kind | ClientErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Checks the size of a message before it is sent: the server skips a longer one, and cannot say which it was. */
export function checkMessage(method: string | undefined, text: string, max: number): void {
  if (text.length * 3 <= max) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= max) return;
  const message = `${method ?? 'the answer'}: the message has ${bytes} bytes, and the server takes ${max}: ` +
    'send less at a time (write() in pieces, a file), or raise options.limits.maxMessageBytes of connect()';
  throw new ShelldError('messageTooLarge', message);
}

/** An error answer of the server. `data` is typed by its `kind`. */
export class RequestError extends ShelldError {
  override name = 'RequestError';
  readonly method: string;
  readonly code: number;
  readonly data: ErrorObject['data'];

  constructor(method: string, error: { code: number; message: string; data?: unknown }) {
    // A server of another version may leave data out.
    const data = (error.data ?? { kind: 'internalError' }) as ErrorObject['data'];
    super(data.kind, `${method}: ${error.message}`);
    this.method = method;
    this.code = error.code;
    this.data = data;
  }
}

/** The server could not be started, or is none. Nothing of it is left running. */
export class ConnectError extends ShelldError {
  override name = 'ConnectError';
}

/** The server has ended, and with it every job. Each pending request is rejected with it. */
export class ServerEndedError extends ShelldError {
  override name = 'ServerEndedError';
  /** The end of the server's stderr. */
  readonly stderr: string;

  constructor(message: string, stderr: string, kind: 'serverEnded' | 'closed' | 'notShelld' = 'serverEnded') {
    super(kind, stderr.trim() === '' ? message : `${message}; its last words:\n${stderr.trim()}`);
    this.stderr = stderr;
  }
}
