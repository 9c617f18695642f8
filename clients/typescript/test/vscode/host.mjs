// Runs the extension beside this file in an extension host of VS Code, without a browser: this is as much of the
// workbench as the extension needs. The argument is VS Code's directory; its Node runs this.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const out = resolve(process.argv[2], 'out');
const work = mkdtempSync(join(tmpdir(), 'shelld-vscode-'));
const entry = 'vs/workbench/api/node/extensionHostProcess';

// Both sides number the objects that can be called, in the order in which the program names them.
const source = readFileSync(join(out, `${entry}.js`), 'utf8');
const [, naming] = source.match(/(\w+)\("MainThreadAuthentication"\)/);
const objects = [...source.matchAll(new RegExp(`(?<![\\w$])${naming}\\("(\\w+)"\\)`, 'g'))].map(([, name]) => name);

const uri = (path) => ({ $mid: 1, scheme: 'file', path });
const manifest = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
const id = `${manifest.publisher}.${manifest.name}`;
const identifier = { value: id, _lower: id };
const start = {
  version: JSON.parse(readFileSync(join(out, '../package.json'))).version,
  environment: {
    appRoot: uri(out), appName: 'test', appHost: 'desktop', appUriScheme: 'test', appLanguage: 'en', extensionLogLevel: [],
    globalStorageHome: uri(join(work, 'global')), workspaceStorageHome: uri(join(work, 'workspace')),
  },
  workspace: null,
  remote: { isRemote: false },
  consoleForward: { includeStack: false, logNative: false },
  extensions: {
    versionId: 0,
    allExtensions: [{ ...manifest, id, identifier, extensionLocation: uri(import.meta.dirname), targetPlatform: 'universal' }],
    activationEvents: { [id]: manifest.activationEvents },
    myExtensions: [identifier],
  },
  telemetryInfo: {}, logLevel: 0, loggers: [], logsLocation: uri(join(work, 'logs')), autoStart: true, uiKind: 1,
};
const settings = Object.fromEntries(['defaults', 'policy', 'application', 'userLocal', 'userRemote', 'workspace']
  .map((name) => [name, { contents: {}, keys: [], overrides: [] }]));

let shown = '';
const server = createServer((socket) => {
  const { call, answer, send } = connection(socket, (data) => {
    if (data[0] === 2) send(Buffer.from(JSON.stringify(start))); // it is ready
    if (data[0] !== 1) return; // it is initialized
    call('ExtHostConfiguration', '$initializeConfiguration', { ...settings, folders: [], configurationScopes: [] });
    call('ExtHostWorkspace', '$initializeWorkspace', null, true);
  });
  Object.assign(answer, {
    $getInitialState: () => ({ isFocused: true, isActive: true }),
    $getTools: () => [],
    $input: ({ prompt, password }) => {
      assert.deepEqual([prompt, password], ['Password:', true]);
      return 'hunter2';
    },
    $createTerminal(key, { name }) {
      const handle = 1; // the extension has one terminal
      call('ExtHostTerminalService', '$acceptTerminalOpened', handle, key, name, {});
      call('ExtHostTerminalService', '$startExtensionTerminal', handle, { columns: 90, rows: 30 });
    },
    $sendProcessData(handle, data) {
      shown += data;
      if (shown.endsWith('Name? ')) call('ExtHostTerminalService', '$acceptProcessInput', handle, 'Ada\r');
    },
    $sendProcessExit: (handle, code) => call('ExtHostTerminalService', '$acceptTerminalClosed', handle, code, 2),
    $showMessage: (severity, message) => end(message),
    $onExtensionActivationError: (extension, error) => end(new Error(error.stack ?? error.message)),
  });
});

/** The connection to the extension host: frames with sequence numbers, and in them calls and replies. */
function connection(socket, handshake) {
  const answer = {};
  let sent = 0;
  let received = 0;
  let calls = 0;
  let rest = Buffer.alloc(0);
  const uint32 = (...values) => Buffer.concat(values.map((value) => { const b = Buffer.alloc(4); b.writeUInt32BE(value); return b; }));
  const text = (string) => Buffer.concat([uint32(Buffer.byteLength(string)), Buffer.from(string)]);
  const frame = (kind, number, data) => socket.write(Buffer.concat([Buffer.from([kind]), uint32(number, received, data.length), data]));
  const send = (...parts) => frame(1, ++sent, Buffer.concat(parts));
  const call = (object, method, ...args) => send(
    Buffer.from([1]), uint32(++calls), Buffer.from([objects.indexOf(object) + 1, method.length]), Buffer.from(method), text(JSON.stringify(args)));
  const take = (data) => {
    if (data.length === 1) return handshake(data);
    const [kind] = data;
    const number = data.readUInt32BE(1);
    if (kind === 11) return end(new Error(data.toString('utf8', 9))); // a call has failed
    if (kind > 4) return; // a reply
    const args = 7 + data[6];
    const method = data.toString('utf8', 7, args);
    const result = kind <= 2 ? answer[method]?.(...JSON.parse(data.toString('utf8', args + 4))) : undefined;
    send(...(result === undefined ? [Buffer.from([7]), uint32(number)] : [Buffer.from([9]), uint32(number), text(JSON.stringify(result))]));
  };
  socket.on('data', (data) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= 13 && rest.length >= 13 + rest.readUInt32BE(9)) {
      const length = 13 + rest.readUInt32BE(9);
      const one = rest.subarray(0, length);
      rest = rest.subarray(length);
      if (one[0] !== 1) continue;
      received = one.readUInt32BE(1);
      frame(3, 0, Buffer.alloc(0)); // it has come
      take(one.subarray(13));
    }
  });
  return { call, answer, send };
}

let child;
/** Ends everything, with a message or an error. */
function end(result) {
  child.removeAllListeners('close').kill('SIGKILL');
  server.close();
  rmSync(work, { recursive: true, force: true });
  if (result instanceof Error) throw result;
  assert.equal(shown, 'Name? Ada\r\n30 90\r\nHello, Ada\r\n');
  console.log(result);
  process.exit();
}

const pipe = join(work, 'pipe');
server.listen(pipe, () => {
  child = fork(join(out, 'bootstrap-fork.js'), ['--type=extensionHost'], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: {
      ...process.env, VSCODE_ESM_ENTRYPOINT: entry, VSCODE_EXTHOST_IPC_HOOK: pipe,
      VSCODE_NLS_CONFIG: JSON.stringify({ defaultMessagesFile: join(out, 'nls.messages.json') }),
    },
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { log += text; });
  child.on('close', (code) => end(new Error(`the extension host has ended with exit code ${code}:\n${log}`)));
});
