// Starting a program: its directory, environment, files, and the processes' own ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import tty from 'node:tty';
import { fail, badParam, nearest } from './errors.js';

const { O_RDONLY, O_WRONLY, O_CREAT, O_NONBLOCK } = fs.constants;
// The package's own spawn() tells of the exit only after the terminal was closed, and closes it
// 200 ms after the exit, whatever the background still prints. So what is taken from it is the
// binary beneath, which opens a terminal and sets its size. Where there is none for this
// machine, there are no terminals.
export const pty = await import('@lydell/node-pty/requireBinary.js').then((m) => m.default.requireBinary('pty.node')).catch(() => null);

const core = glob('PATH HOME USER LOGNAME SHELL LANG LC_* LANGUAGE TMPDIR TZ XDG_* SSH_AUTH_SOCK DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS EDITOR VISUAL PAGER MAIL HOSTNAME'.split(' '));
const secret = glob('*TOKEN* *SECRET* *PASSWORD* *PASSWD* *PASSPHRASE* *API_KEY* *APIKEY* *PRIVATE_KEY* *ACCESS_KEY* *CREDENTIAL* AWS_*KEY* *_KEY *_PWD *_PAT *_PASS SSHPASS *_AUTH *AUTH_CONFIG* *_JWT *_COOKIE *_DSN *WEBHOOK* *CONNECTION_STRING* *DATABASE_URL *REDIS_URL *MONGO*_UR[IL] *AMQP_URL'.split(' '), 'i');

// glob returns a test for names; [] fits none.
function glob(patterns, flags = '') {
  const sources = patterns.map((p) => p.replace(/[.+^${}()|\\]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.').replace(/\[!/g, '[^'));
  const re = new RegExp(`^(?:${sources.join('|') || '$^'})$`, flags);
  return (name) => re.test(name);
}

export function environment({ inherit = 'core', include = [], exclude = [], set = {} } = {}, own = {}, { cwd, terminal }) {
  const included = glob(include), excluded = glob(exclude);
  const passed = (name) => included(name) || (inherit !== 'none' && !secret(name) && (inherit === 'all' || core(name)));
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => passed(name) && !excluded(name)));
  Object.assign(env, { PWD: cwd }, terminal && { TERM: 'xterm-256color' }, set);
  for (const [name, value] of Object.entries(own)) {
    if (value === null) delete env[name]; else env[name] = value;
  }
  return env;
}

export function directory(cwd, settings) {
  const full = path.isAbsolute(cwd ?? '') ? cwd : settings.rootDirectory + (cwd ? `/${cwd}` : '');
  const { real } = place(full);
  checkAllowed(full, real, settings);
  const plain = path.resolve(full);
  return !settings.allowed && placeOrNone(plain) === real ? plain : real;
}

// place is where a directory lies. The system is asked (native): what .. means behind a link is
// for it to say.
export function place(full) {
  try {
    const real = fs.realpathSync.native(full);
    const { dev, ino } = fs.statSync(real + '/.');
    return { real, dev, ino };
  } catch (err) {
    return fail('badWorkingDirectory', `${full} cannot be used: ${err.message}`, { path: full });
  }
}

function placeOrNone(full) {
  try { return fs.realpathSync.native(full); } catch { return undefined; }
}

// Those that are allowed are those that were there at first.
function checkAllowed(full, real, { allowed, allowedDirectories }) {
  const inside = (dir) => {
    const now = fs.statSync(dir.real, { throwIfNoEntry: false });
    return now?.dev === dir.dev && now.ino === dir.ino && (real === dir.real || real.startsWith(dir.real === '/' ? '/' : dir.real + '/'));
  };
  if (allowed && !allowed.some(inside)) fail('directoryNotAllowed', `${full} is outside of the allowed directories`, { path: full, allowed: allowedDirectories });
}

// program looks for argv[0] as execvp does. A start that would fail is an error before it is tried.
export function program(name, cwd, env) {
  const dirs = (env.PATH ?? '/usr/bin:/bin').split(':');
  const candidates = name.includes('/') ? [path.resolve(cwd, name)] : dirs.map((dir) => path.resolve(cwd, dir, name));
  let refused;
  for (const file of candidates) {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (!stat) continue;
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (stat.isFile()) return file;
    } catch { /* it may not be run */ }
    if (name.includes('/') || stat.isFile()) refused ??= file;
  }
  if (refused) fail('permissionDenied', `${refused} cannot be run; make it executable`, { path: refused });
  fail('commandNotFound', `there is no command ${name}; check the spelling and the PATH`, { command: name, suggestions: suggestions(name, env) });
}

export function suggestions(name, env) {
  const names = (env.PATH ?? '').split(':').flatMap((dir) => { try { return fs.readdirSync(dir); } catch { return []; } });
  return name.includes('/') ? [] : nearest(name, names);
}

// files opens what a start names, and empties nothing yet. The caller closes them.
export function openFiles({ stdin, stdoutFile, stderrFile }, cwd, settings) {
  const opened = { close() { for (const fd of new Set(Object.values(this))) if (typeof fd === 'number') fs.closeSync(fd); } };
  try {
    if (stdin?.text !== undefined) opened.stdin = textFile(stdin.text);
    if (stdin?.file !== undefined) opened.stdin = inputFile(path.resolve(cwd, stdin.file), settings);
    if (stdoutFile) opened.stdout = outputFile(path.resolve(cwd, stdoutFile), settings);
    if (stderrFile) opened.stderr = outputFile(path.resolve(cwd, stderrFile), settings);
    if (stdoutFile && stderrFile && sameFile(opened.stdout, opened.stderr)) {
      fs.closeSync(opened.stderr);
      opened.stderr = opened.stdout; // one position in one file: neither writes over the other
    }
    return opened;
  } catch (err) {
    opened.close();
    throw err;
  }
}

const sameFile = (a, b) => fs.fstatSync(a).ino === fs.fstatSync(b).ino && fs.fstatSync(a).dev === fs.fstatSync(b).dev;
const isNull = (stat) => stat.isCharacterDevice() && stat.rdev === fs.statSync('/dev/null').rdev;

function textFile(text) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'stdin-'));
  try {
    fs.writeFileSync(path.join(dir, 'text'), text, { mode: 0o600 });
    return fs.openSync(path.join(dir, 'text'), O_RDONLY);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

function inputFile(file, settings) {
  const wrong = (why) => badParam('/stdin/file', `${file} cannot be read: ${why}`);
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat || !(stat.isFile() || isNull(stat))) throw wrong(stat ? 'it is not a regular file' : 'it is not there');
  if (stat.isFile()) checkAllowed(file, fs.realpathSync(file), settings);
  try {
    return fs.openSync(file, O_RDONLY | O_NONBLOCK);
  } catch (err) {
    if (err.code === 'EACCES') fail('permissionDenied', `${file} may not be read`, { path: file });
    throw wrong(err.message);
  }
}

function outputFile(file, settings) {
  const wrong = (reason) => fail('outputFileError', `${file} cannot be written: ${reason}`, { path: file, reason });
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (stat && !(stat.isFile() || isNull(stat))) wrong('it is not a regular file');
  if (!stat || stat.isFile()) {
    let real;
    try { real = stat ? fs.realpathSync(file) : path.join(fs.realpathSync(path.dirname(file)), path.basename(file)); } catch (err) { wrong(err.message); }
    checkAllowed(file, real, settings);
  }
  try { return fs.openSync(file, O_WRONLY | O_CREAT | O_NONBLOCK, 0o666); } catch (err) { return wrong(err.message); }
}

const truncate = (fd) => { if (fd !== undefined && fs.fstatSync(fd).isFile()) fs.ftruncateSync(fd); };

// launch starts argv, and returns { child, input, outputs: { stream: Readable }, terminal }.
export function launch({ argv, cwd, env, mode, cols, rows, stdin, stderr, files }) {
  truncate(files.stdout);
  truncate(files.stderr);
  if (mode === 'pty') return launchTerminal({ argv, cwd, env, cols, rows });
  const merged = stderr === 'merge' && files.stdout === undefined;
  const stdio = [
    files.stdin ?? (stdin === 'open' ? 'pipe' : 'ignore'),
    files.stdout ?? 'pipe',
    stderr === 'discard' ? 'ignore' : stderr === 'merge' ? files.stdout ?? 'ignore' : files.stderr ?? 'pipe',
  ];
  // Node gives each stream a pipe of its own; a shell joins two of them and gets out of the way.
  const child = started(merged ? ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', ...argv] : argv, { cwd, env, stdio });
  const outputs = Object.fromEntries(['stdout', 'stderr'].filter((name) => child[name]).map((name) => [name, child[name]]));
  // There is no public name for a stream's descriptor.
  const input = child.stdin && { stream: child.stdin, fd: child.stdin._handle.fd };
  return { child, input, outputs };
}

// launchTerminal: the shell opens the terminal, which makes it that of the new session, and
// gets out of the way.
function launchTerminal({ argv, cwd, env, cols, rows }) {
  const { master, slave, pty: name } = openTerminal(cols, rows);
  const stream = new tty.ReadStream(master);
  try {
    const child = started(['/bin/sh', '-c', ': <"$0"; exec "$@"', name, ...argv], { cwd, env, stdio: [slave, slave, slave] });
    const terminal = { resize: (c, r) => pty.resize(master, c, r), close: () => stream.destroy(), rest: () => restOf(master) };
    return { child, terminal, outputs: { pty: stream }, input: { stream, fd: master, tty: name } };
  } catch (err) {
    stream.destroy();
    throw err;
  } finally {
    fs.closeSync(slave);
  }
}

// located is where a command is that a shell has found and could not run, or null.
export function located(name, cwd, env) {
  const dirs = name.includes('/') ? ['/'] : (env.PATH ?? '').split(':');
  const paths = dirs.map((dir) => (name.includes('/') ? path.resolve(cwd, name) : path.resolve(cwd, dir, name)));
  return paths.find((p) => fs.existsSync(p)) ?? null;
}

// restOf reads what is left: the stream takes a terminal that hangs up for one that is empty.
function restOf(fd) {
  const pieces = [];
  const buffer = Buffer.alloc(65536);
  try {
    for (let n; (n = fs.readSync(fd, buffer)) > 0;) pieces.push(Buffer.from(buffer.subarray(0, n)));
  } catch { /* EIO: that was all */ }
  return Buffer.concat(pieces);
}

function openTerminal(cols, rows) {
  try {
    return pty.open(cols, rows);
  } catch (err) {
    return fail('resourceUnavailable', `no terminal is available: ${err.message}; end some jobs`, { retryable: true });
  }
}

// started begins a session of its own, so that the job is a process group.
function started([file, ...args], options) {
  const refused = (err) => {
    const retryable = ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(err.code);
    if (retryable) fail('resourceUnavailable', `the system lacks resources for ${file} (${err.code}); end some jobs`, { retryable: true });
    if (err.code === 'E2BIG') throw badParam(args[0] === '-c' ? '/command' : '/argv', 'the command line is longer than the system takes');
    if (err.code === 'EACCES') fail('permissionDenied', `${file} cannot be run`, { path: file });
    fail('commandNotFound', `${file} cannot be run (${err.code}): its interpreter is missing`, { command: file, suggestions: [] });
  };
  let child;
  try {
    child = spawn(file, args, { ...options, detached: true });
  } catch (err) {
    return refused(err);
  }
  // Why it failed is told in the next tick; what is thrown is the promise of that.
  if (child.pid === undefined) throw once(child, 'error').then(([err]) => refused(err));
  return child;
}
