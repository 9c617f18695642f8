// One job: a command, its output, its end.
import { Spool, unfinished } from './output.js';
import { Terminal } from './terminal.js';
import { Input } from './input.js';
import { Watch, offsetsFrom } from './waits.js';
import { Feed } from './feed.js';
import { fitted } from './patterns.js';
import { ProtocolError } from './errors.js';
import { located, suggestions } from './launch.js';

// After KILL the output of what has left the process group is awaited no longer than this.
const cutOffMs = 1000;
// What can be in a pipe or terminal when its writer ends; more than that was written later.
const inFlightMax = 1 << 20;

export class Job {
  // about: what JobInfo says of the start. touch() is called when there is something to send.
  constructor(about, { child, outputs, input, terminal }, { limits, acks, touch, closed }) {
    Object.assign(this, about, { child, term: terminal, limits, acks, touch, onClosed: closed });
    this.pid = child.pid;
    this.startedAt = new Date();
    this.startedMs = performance.now();
    this.status = 'running';
    this.streams = {};
    this.unread = {}; // stream -> highest nextOffset that was returned
    this.cursors = {}; // stream -> where job/read goes on
    this.waits = new Set();
    this.watches = new Map();
    this.ends = new Set(); // called at closed
    this.read = 0; // bytes, of all streams
    if (input) this.input = new Input({ ...input, max: limits.inputQueueBytes });
    if (terminal) this.terminal = new Terminal((name) => this.#changed(name));
    for (const [name, stream] of Object.entries(outputs)) this.#follow(name, stream);
    child.on('exit', (code, signal) => this.#leaderEnded(code, signal));
    child.on('error', () => {}); // a signal that could not be sent: kill() tells
  }

  hear(subscription, requestId) {
    this.feed = new Feed(this, subscription, requestId);
  }

  #follow(name, stream) {
    const spool = this.streams[name] = new Spool(this.limits.spoolMemoryBytes);
    spool.source = stream;
    const ended = () => {
      if (spool.ended) return;
      spool.ended = true;
      this.#look({});
      this.#maybeClosed();
    };
    const take = (bytes) => {
      if (bytes.length === 0) return;
      this.read += bytes.length;
      this.activeMs = performance.now();
      spool.append(bytes);
      this.terminal?.feed(bytes);
      this.#look({ output: true });
      this.hold();
    };
    stream.on('data', take);
    if (this.term) stream.on('end', () => take(this.term.rest()));
    // A terminal whose programs are gone reads as EIO.
    for (const event of ['end', 'error', 'close']) stream.on(event, ended);
  }

  // hold has the job's programs wait, in each stream, as long as the client wants them to. What
  // ends the job does not wait, and neither does what it has written by its end.
  hold() {
    for (const [name, spool] of Object.entries(this.streams)) {
      const held = !this.ending && !(this.ended && !this.exit) && this.feed?.holds(name);
      if (held) spool.source.pause(); else if (spool.source.isPaused()) spool.source.resume();
    }
  }

  // #look lets everybody see what is new.
  #look(what) {
    for (const watch of this.watches.values()) watch.check();
    for (const wait of [...this.waits]) wait.check(what);
    this.touch();
  }

  offsets() { return Object.fromEntries(Object.entries(this.streams).map(([name, s]) => [name, s.end])); }

  #changed(name) {
    const value = this.terminal[name];
    // The end of what is whole: an event does not cut a character.
    const { pty } = this.streams;
    this.feed?.addChange({ pty: pty.end - unfinished(pty.read(Math.max(0, pty.end - 3)).bytes) }, { [name]: value });
  }

  #leaderEnded(code, signal) {
    this.ended = { code, signal, coreDumped: false, reason: this.endReason ?? (signal ? 'signaled' : 'exited') };
    this.endedAt = new Date();
    this.durationMs = Math.round(performance.now() - this.startedMs);
    this.input?.drop((entry) => this.exitedError(entry.written));
    this.hold();
    const bytes = this.read;
    const drained = (before) => {
      if (this.read === before || this.read - bytes > inFlightMax) return this.#exited();
      const now = this.read;
      this.#afterPoll(() => drained(now));
    };
    this.#afterPoll(() => drained(bytes));
  }

  // #afterPoll calls back when the event loop has asked the kernel once more, from now on,
  // what can be read, and has read it.
  #afterPoll(call) {
    setImmediate(() => setImmediate(call));
  }

  #exited() {
    this.exit = this.ended;
    this.status = 'exited';
    this.exitOffsets = this.offsets();
    this.hint = this.#hint();
    // Who finds a match in the last output speaks before the exit is told.
    for (const watch of this.watches.values()) watch.check();
    this.feed.add('exited', this.exitOffsets, { exit: this.exit, durationMs: this.durationMs, background: [], ...(this.hint && { hint: this.hint }) });
    this.#look({});
    this.hold();
    this.#maybeClosed();
  }

  #maybeClosed() {
    if (!this.exit || this.status === 'closed' || Object.values(this.streams).some((s) => !s.ended)) return;
    this.status = 'closed';
    this.#look({});
    for (const watch of this.watches.values()) watch.stop();
    this.feed.add('closed', this.offsets(), {});
    this.term?.close();
    clearTimeout(this.killTimer);
    for (const call of this.ends) call();
    this.onClosed(this);
    this.touch();
  }

  // #hint tells why a shell could not run a command, from its last words.
  #hint() {
    if (!this.command || ![126, 127].includes(this.exit.code)) return undefined;
    const spool = this.streams.stderr ?? this.streams.pty ?? this.streams.stdout;
    const said = spool?.read(Math.max(0, spool.end - 4096)).bytes.toString() ?? '';
    const found = this.exit.code === 127
      ? /([^\s:]+): (?:command )?not found\r?$/m.exec(said)
      : /([^\s:]+): (?:Permission denied|Is a directory)\r?$/m.exec(said);
    if (!found) return undefined;
    if (this.exit.code === 126) {
      const path = located(found[1], this.cwd, this.env);
      return { kind: 'permissionDenied', command: found[1], ...(path && { path }) };
    }
    const near = suggestions(found[1], this.env);
    return { kind: 'commandNotFound', command: found[1], ...(near.length > 0 && { suggestions: near }) };
  }

  // kill ends the job: TERM, and KILL after the grace. The reason is settled before.
  // report gets what was done: { signals, survivors }.
  kill({ graceMs, force = true, reason = 'killed' }, report) {
    const begun = performance.now();
    const signals = [];
    const send = (signal) => {
      if (this.signal(signal)) signals.push({ signal, atMs: Math.floor(performance.now() - begun) });
    };
    const done = (survivors = []) => {
      clearTimeout(timer);
      this.ends.delete(closed);
      report?.({ signals, survivors });
    };
    const closed = () => done();
    this.ends.add(closed);
    this.ending = true;
    this.hold();
    if (!this.ended) this.endReason ??= reason;
    let timer;
    const last = () => {
      if (!force) {
        this.ending = false;
        this.hold();
        return done([{ pid: this.pid, command: this.argv.join(' ').slice(0, 256), why: 'it did not end, and KILL was not asked for' }]);
      }
      send('SIGKILL');
      timer = setTimeout(() => this.#cutOff(), cutOffMs);
    };
    if (graceMs === 0 && force) return last();
    send('SIGTERM');
    send('SIGCONT');
    if (this.interactive && this.term) send('SIGHUP');
    timer = setTimeout(last, Math.min(graceMs + 1, 2 ** 31 - 1)); // Node's timers may be a millisecond early
  }

  // #cutOff gives up what has left the process group and still holds the output open.
  #cutOff() {
    for (const spool of Object.values(this.streams)) spool.source.destroy();
  }

  // signal goes to the process group. It says whether there was one.
  signal(name, toLeader = false) {
    if (this.status === 'closed') return false;
    try {
      process.kill(toLeader ? this.pid : -this.pid, name);
      return true;
    } catch {
      return false;
    }
  }

  watch(spec, re, from) {
    const watchId = this.watchCount = (this.watchCount ?? 0) + 1;
    const watch = new Watch(this, spec, re, offsetsFrom(from, this), {
      found: (m) => {
        if (spec.once) this.watches.delete(watchId);
        const { match, truncated } = fitted(m, this.limits.maxMessageBytes);
        const { text, stream, endOffset } = match;
        this.feed.addMatch(watch, { [stream]: endOffset }, { watchId, ...match, text: undefined, match: text, ...(truncated && { truncated }) });
      },
      failed: (reason) => {
        this.watches.delete(watchId);
        this.feed.add('watchRemoved', {}, { watchId, reason });
        this.touch();
      },
    });
    this.watches.set(watchId, watch);
    watch.check();
    if (this.status === 'closed') watch.stop();
    return watchId;
  }

  resize(cols, rows) {
    const same = this.cols === cols && this.rows === rows;
    this.term.resize(cols, rows);
    Object.assign(this, { cols, rows });
    if (!same) this.feed.addChange({}, { size: { cols, rows } });
    this.touch();
  }

  exitedError(bytesWritten) {
    const exit = this.exit ?? this.ended;
    return new ProtocolError('jobExited', `job ${this.handle} has ended; start it again`,
      { handle: this.handle, exit, ...(bytesWritten !== undefined && { bytesWritten }) });
  }

  // state is JobState.
  state() {
    const streams = Object.fromEntries(Object.entries(this.streams).map(([name, s]) => [name, { nextOffset: s.end }]));
    return clean({ handle: this.handle, name: this.name, status: this.status, exit: this.exit, streams });
  }

  info() {
    const streams = Object.fromEntries(Object.entries(this.streams).map(([name, s]) => [name, { nextOffset: s.end, kept: s.kept() }]));
    return clean({
      ...this.state(), description: this.description, group: this.group, command: this.command, argv: this.argv,
      shell: this.shell, cwd: this.cwd, mode: this.mode, modeReason: this.modeReason, pid: this.pid,
      startedAt: this.startedAt.toISOString(), endedAt: this.exit && this.endedAt.toISOString(),
      durationMs: this.durationMs ?? Math.round(performance.now() - this.startedMs),
      idleMs: this.exit ? undefined : Math.round(performance.now() - Math.max(this.startedMs, this.activeMs ?? 0, this.input?.tookMs ?? 0)),
      cols: this.term ? this.cols : 0, rows: this.term ? this.rows : 0,
      title: this.terminal?.title || undefined, currentDirectory: this.terminal?.cwd || undefined,
      background: [], streams, watches: [...this.watches].map(([watchId, w]) => ({ watchId, on: 'plain', ...w.spec })),
    });
  }

  // fittedInfo is the info in at most max bytes: the longest members lose their ends.
  fittedInfo(max = this.limits.maxMessageBytes - 4096) {
    const info = this.info();
    const size = (v) => Buffer.byteLength(JSON.stringify(v));
    for (let over = size(info) - max; over > 0; over = size(info) - max) {
      const cuttable = ['argv', 'command', 'watches', 'description', 'group', 'shell', 'cwd', 'title', 'currentDirectory'];
      const name = cuttable.filter((n) => info[n] !== undefined).sort((a, b) => size(info[b]) - size(info[a]))[0];
      info.truncated = [...new Set([...(info.truncated ?? []), name])];
      const value = info[name];
      if (!Array.isArray(value)) info[name] = value.slice(0, Math.max(0, value.length - over)).replace(/\p{Surrogate}$/u, '');
      else if (value.length > 1) info[name] = value.slice(0, -1);
      else info[name] = name === 'argv' ? [value[0].slice(0, Math.max(0, value[0].length - over))] : [];
    }
    return info;
  }
}

// clean leaves out the members that have nothing to say.
const clean = (object) => Object.fromEntries(Object.entries(object).filter(([, v]) => v !== undefined));
