// A small client for shelld: a server as a child process, messages by vscode-jsonrpc, whose
// stream reader and writer speak the base protocol of LSP (Content-Length headers).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node';

// Bounds how long a broken server can hold us up. It is longer than the 30 s after which the
// server itself gives up a wait (timeoutMs) and says so.
const watchdogMs = 60_000;

/** The server to start: this script's arguments, else $SHELLD, else shelld on PATH. */
export function serverCommand() {
  const args = process.argv.slice(2);
  return args.length > 0 ? args : [process.env.SHELLD ?? 'shelld'];
}

/** Starts a server and initializes it. */
export async function connect([program, ...args]) {
  const server = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(server, 'spawn'); // rejects where there is no such program
  const ended = once(server, 'exit');

  const connection = createMessageConnection(
    new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  connection.onClose(() => connection.dispose()); // fails the requests that are still open
  connection.listen();

  /** Sends a request; resolves to its result. An error answer rejects: see its code and data.kind. */
  const request = (method, params = {}) => bounded(connection.sendRequest(method, params), method);

  /** Resolves to the params of the next notification of this method. Ask before you cause it. */
  const nextNotification = (method) => bounded(new Promise((resolve) => {
    const handler = connection.onNotification(method, (params) => {
      handler.dispose();
      resolve(params);
    });
  }), method);

  /** Ends all jobs, then the server, which must end well. */
  const close = async () => {
    await request('shutdown');
    await exit();
  };

  /** Takes leave of a server that is to end. */
  const exit = async () => {
    await connection.sendNotification('exit');
    const [code, signal] = await bounded(ended, 'exit');
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, 'how the server ended');
  };

  await request('initialize', { clientInfo: { name: 'shelld-node-example' } });
  await connection.sendNotification('initialized');
  return { request, nextNotification, close, exit };
}

/** Promises what promise does, unless that takes until the watchdog barks. */
function bounded(promise, what) {
  let timer;
  const watchdog = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} within ${watchdogMs} ms`)), watchdogMs);
  });
  return Promise.race([promise, watchdog]).finally(() => clearTimeout(timer));
}
