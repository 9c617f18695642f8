// Waits and watches: conditions that are looked at when something has happened, and never
// by polling. The one timer besides deadlines is the protocol's own: 50 ms of silence.
import { isUtf8 } from 'node:buffer';
import { Matcher, compile } from './patterns.js';
import { Echo, stripped } from './echo.js';
import { ProtocolError, badParam } from './errors.js';
import { quoted, shortened, shownAt } from './output.js';

const quietMs = 50;

// checkWait refuses what cannot be armed, before anything is done. It returns the compiled patterns.
export function checkWait(wait, streams, pointer) {
  if (wait.format === 'screen') unsupported('the format screen', `${pointer}/format`);
  checkFrom(wait.from, streams, `${pointer}/from`);
  return wait.until.map((c, i) => {
    const at = `${pointer}/until/${i}`;
    for (const name of ['input', 'port', 'command']) if (name in c) unsupported(`the condition ${name}`, `${at}/${name}`);
    if (c.pattern === undefined) return null;
    if (c.on === 'screen') unsupported('patterns on the screen', `${at}/on`);
    checkStream(c.stream, streams, `${at}/stream`);
    return compile(c.pattern, c.flags, `${at}/pattern`);
  });
}

function unsupported(what, pointer) {
  throw new ProtocolError('unsupported', `${pointer}: this server has not got ${what}`, { what, pointer });
}

export function checkStream(stream, streams, pointer) {
  if (stream !== undefined && !streams.includes(stream)) {
    throw badParam(pointer, `the job has no stream ${stream}`, { allowed: streams });
  }
}

// checkFrom looks at a from of wait or subscription.
export function checkFrom(from, streams, pointer) {
  if (typeof from === 'number' && streams.length !== 1) throw badParam(pointer, 'the job has two streams; give an offset for each');
  if (from !== null && typeof from === 'object') {
    for (const name of Object.keys(from)) checkStream(name, streams, `${pointer}/${name}`);
  }
}

// offsetsFrom turns a from into an offset for each stream.
export function offsetsFrom(from, job) {
  const of = (name, spool) => {
    if (from === 'start') return 0;
    if (from === 'now') return spool.end;
    if (from === 'unread') return job.unread[name] ?? 0;
    return typeof from === 'number' ? from : from[name] ?? spool.end;
  };
  return Object.fromEntries(Object.entries(job.streams).map(([name, spool]) => [name, of(name, spool)]));
}

// A Follower feeds a matcher from a stream, behind an offset, without the echo.
class Follower {
  constructor(job, stream, from, re, { raw, echo }) {
    Object.assign(this, { job, stream, from, matcher: new Matcher(re, { raw }) });
    this.at = from;
    this.lastBytes = performance.now();
    if (echo && stream === 'pty') {
      this.at = Math.min(from, echo.offset);
      this.echoAt = echo.offset;
      this.echo = new Echo(echo);
    }
  }

  // next returns the next match, or null. last: nothing more is awaited.
  next(last) {
    const spool = this.job.streams[this.stream];
    if (this.at < spool.end) this.lastBytes = performance.now();
    const quiet = last || this.settlesIn === 0;
    while (this.at < spool.end) {
      const max = this.echo && this.at < this.echoAt ? this.echoAt - this.at : 1 << 16;
      const { offset, bytes, gap } = spool.read(this.at, max);
      if (gap) this.matcher.restart();
      const inEcho = this.echo && this.at >= this.echoAt;
      this.at = offset + bytes.length;
      const found = this.#take(inEcho ? this.echo.feed(bytes, offset) : [{ bytes, offset }], false);
      if (found) return found;
    }
    const over = spool.ended || this.job.exit !== undefined;
    if (quiet || over) {
      const found = this.echo && this.#take(over ? this.echo.giveUp() : this.echo.quiet(), false);
      if (found) return found;
    }
    return this.#tell(this.matcher.next(quiet || over));
  }

  #take(segments) {
    let found = null;
    for (const { bytes, offset, restart } of segments) {
      if (restart) {
        // What came before an echo ends there.
        found ??= this.#tell(this.matcher.next(true));
        this.matcher.restart();
      }
      const skip = Math.max(0, this.from - offset);
      if (skip < bytes.length) this.matcher.feed(bytes.subarray(skip), offset + skip);
      found ??= this.#tell(this.matcher.next(false));
    }
    return found;
  }

  #tell(match) {
    return match && { ...match, stream: this.stream };
  }

  // settlesIn is after how many ms of silence something is decided; Infinity: there is nothing.
  get settlesIn() {
    if (!this.matcher.leaning && !this.echo?.held.length) return Infinity;
    return Math.max(0, Math.ceil(quietMs - (performance.now() - this.lastBytes)));
  }
}

function followers(job, re, stream, offsets, options) {
  const names = stream ? [stream] : Object.keys(job.streams);
  return names.map((name) => new Follower(job, name, offsets[name], re, options));
}

// A Quiet calls back when silence decides something for one of some followers.
class Quiet {
  constructor(call) { this.call = call; }
  arm(all) {
    clearTimeout(this.timer);
    const ms = Math.min(Infinity, ...all.map((f) => f.settlesIn));
    if (ms !== Infinity) this.timer = setTimeout(this.call, Math.max(1, ms));
  }
}

// A Wait is one wait of one job; done gets its outcome.
export class Wait {
  constructor(job, wait, compiled, { from, timeoutMs, echo = null, afterInput = false, done }) {
    Object.assign(this, { job, spec: wait, done, echo });
    this.offsets = offsetsFrom(wait.from ?? from, job);
    this.armed = performance.now();
    this.conditions = wait.until.map((c, i) => ({
      ...c,
      followers: compiled[i] && followers(job, compiled[i], c.stream, this.offsets,
        { raw: c.on === 'raw', echo: (c.afterInput ?? afterInput) ? echo : null }),
    }));
    this.untilClosed = wait.until.some((c) => c.closed);
    this.quiet = new Quiet(() => this.check({}));
    job.waits.add(this);
    // First what holds already; a wait of 0 ms sees that too.
    if (!this.check({}) && timeoutMs !== null) {
      this.timer = setTimeout(() => this.check({ last: true }) || this.end('timeout'), Math.min(timeoutMs, 2 ** 31 - 1));
    }
  }

  // check ends the wait if a condition holds.
  check({ output = false, last = false }) {
    if (this.over) return true;
    if (output) this.lastOutput = performance.now();
    for (const [i, c] of this.conditions.entries()) {
      let match;
      try { match = this.#holds(c, last); } catch (err) {
        if (err.message !== 'tooSlow') throw err;
        return this.end('patternFailed', i);
      }
      if (match) return this.end(Object.keys(c).find((k) => reasons.has(k)), i, match === true ? undefined : match);
    }
    if (this.job.exit && !this.untilClosed) return this.end('exit');
    this.quiet.arm(this.conditions.flatMap((c) => c.followers ?? []));
    return false;
  }

  #holds(c, last) {
    if (c.exit) return this.job.exit !== undefined;
    if (c.closed) return this.job.status === 'closed';
    if (c.bytes !== undefined) return this.#bytes() >= c.bytes;
    if (c.quietMs !== undefined) return this.#silence(c);
    for (const f of c.followers) {
      const match = f.next(last);
      if (match) return match;
    }
    return false;
  }

  #bytes() {
    return Object.entries(this.job.streams).reduce((n, [name, s]) => n + Math.max(0, s.end - this.offsets[name]), 0);
  }

  #silence(c) {
    const since = Math.max(this.armed, this.lastOutput ?? 0);
    const left = c.quietMs - (performance.now() - since);
    if (left <= 0) return true;
    clearTimeout(c.timer);
    c.timer = setTimeout(() => this.check({}), Math.min(Math.ceil(left), 2 ** 31 - 1));
    return false;
  }

  end(reason, index = null, match) {
    if (this.over) return true;
    this.stop();
    this.done(this.outcome(reason, index, match));
    return true;
  }

  // stop ends it without an answer.
  stop() {
    this.over = true;
    clearTimeout(this.timer);
    this.quiet.arm([]);
    for (const c of this.conditions) clearTimeout(c.timer);
    this.job.waits.delete(this);
  }

  outcome(reason, index = null, match = undefined) {
    const output = {};
    for (const [name, from] of Object.entries(this.offsets)) {
      output[name] = shown(this.job, name, from, this.spec, { echo: this.spec.stripEcho ? this.echo : null });
      this.job.unread[name] = Math.max(this.job.unread[name] ?? 0, output[name].nextOffset);
    }
    return { reason, index, ...(match && { match }), output, job: this.job.state() };
  }
}

const reasons = new Set(['exit', 'closed', 'pattern', 'quietMs', 'bytes']);

// shown is a stream's output from an offset on, in a format, with at most maxBytes. run: plain text too has its bytes
// beside it, if they are all there and are not UTF-8.
export function shown(job, name, from, { format = 'plain', maxBytes = 16384, mark = true }, { echo = null, run = false } = {}) {
  const spool = job.streams[name];
  const most = Math.min(maxBytes, job.limits.maxMessageBytes >> 4);
  let lost = 0, pieces = [];
  for (let at = from; at < spool.end;) {
    const { offset, bytes, gap } = spool.read(at);
    if (gap) lost += gap.to - gap.from;
    pieces.push(bytes);
    at = offset + bytes.length;
  }
  const bytes = stripped(Buffer.concat(pieces), from, echo);
  const range = { offset: from, nextOffset: Math.max(from, spool.end) };
  const { head, tail, truncated } = shortened(bytes, most, lost);
  const base64 = Buffer.concat([head, tail]).toString('base64');
  if (format === 'base64') return { base64, ...range, ...(truncated && { truncated }) };
  const output = format === 'plain' ? Buffer.from(shownAt(spool, from, bytes, !spool.ended)) : bytes;
  const beside = !isUtf8(bytes) && (format === 'text' || run && !truncated);
  return { ...quoted(output, most, lost, mark), ...(beside && { base64 }), ...range };
}

// A Watch tells of every match for as long as the job lives.
export class Watch {
  // found(match) and failed(reason) are called as it goes.
  constructor(job, spec, re, offsets, { found, failed }) {
    Object.assign(this, { job, spec, found, failed });
    this.followers = followers(job, re, spec.stream, offsets, { raw: spec.on === 'raw' });
    this.quiet = new Quiet(() => this.check());
  }

  check() {
    if (this.over) return;
    let any = false;
    try {
      for (const f of this.followers) {
        for (let match = f.next(false); match && !this.over; match = f.next(false)) {
          if (this.spec.once) this.stop();
          this.found(match);
          any = true;
        }
      }
    } catch (err) {
      if (err.message !== 'tooSlow') throw err;
      this.stop();
      this.failed('the pattern took more than 50 ms twice in a row');
    }
    this.quiet.arm(this.over ? [] : this.followers);
    // All at once, so that those that come too often can be thinned.
    if (any) this.job.touch();
  }

  stop() {
    this.over = true;
    this.quiet.arm([]);
  }
}
