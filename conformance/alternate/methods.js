// The methods: params that fit the schema in, a result out.
import { ProtocolError, badParam, fail } from './errors.js';
import { Wait, checkFrom, checkStream, checkWait, offsetsFrom, shown } from './waits.js';
import { compile } from './patterns.js';
import { encoded, shownAt, unfinished } from './output.js';
import { kernelModes } from './terminal.js';
import { echoOf } from './echo.js';
import { typed } from './input.js';
import { notInteractive } from './manager.js';
import { platform, signals, whole } from './capabilities.js';

// methods returns them for a server. request: { key, rawId, cancel }.
export function methods(server) {
  const { manager, settings } = server;
  const only = (names, whenSlow = 'spool') => (names.length === 0 ? null : { events: new Set(names), encoding: settings.encoding, whenSlow });
  const jobOf = ({ handle }) => manager.get(handle);

  // pending gives a request that waits: give(resolve, reject) starts it, and abort(kind) ends it,
  // when it is cancelled ('canceled') and at the server's end ('shuttingDown').
  const pending = (request, give) => new Promise((resolve, reject) => {
    const abort = give(resolve, reject);
    request.cancel = () => abort('canceled');
    server.pending.add(abort);
    request.answered = () => server.pending.delete(abort);
  });

  const abortError = (kind, job, data) => new ProtocolError(kind,
    kind === 'canceled' ? 'the request was cancelled; the job goes on' : 'the server is ending; start another',
    kind === 'canceled' ? { handle: job.handle, ...data } : data);

  // awaited resolves with an outcome.
  const awaited = (request, job, spec, compiled, options) => pending(request, (resolve, reject) => {
    const wait = new Wait(job, spec, compiled, { timeoutMs: spec.timeoutMs === undefined ? 30000 : spec.timeoutMs, ...options, done: resolve });
    return (kind) => {
      if (wait.over) return;
      wait.stop();
      reject(abortError(kind, job, { outcome: wait.outcome(kind) }));
    };
  });


  async function start(params, request) {
    let compiled;
    const options = {
      mode: params.mode ?? 'pty', requestId: request.rawId, subscription: only(params.events ?? settings.events, params.whenSlow),
      check: (streams) => { compiled = params.wait && checkWait(params.wait, streams, '/wait'); },
    };
    // No await before the job is there: the next request may name it.
    let job;
    try { job = manager.start(params, options); } catch (err) { if (err instanceof Promise) await err; throw err; }
    const started = job.feed.started();
    if (started) server.send(started);
    const outcome = params.wait && await awaited(request, job, params.wait, compiled, { from: 'start' });
    return { job: job.fittedInfo(), ...(outcome && { outcome }) };
  }

  async function run(params, request) {
    const { timeoutMs = 30000, onTimeout = 'kill', drainMs = 500 } = params;
    const options = { mode: params.mode ?? 'pipe', requestId: request.rawId, subscription: params.events ? only(params.events) : null, check: () => {} };
    let job;
    try { job = manager.start(params, options); } catch (err) { if (err instanceof Promise) await err; throw err; }
    const started = job.feed.started();
    if (started) server.send(started);
    const how = await new Promise((resolve) => {
      const timers = [];
      const later = (ms, call) => timers.push(setTimeout(call, Math.min(ms, 2 ** 31 - 1)));
      const settle = (result) => { timers.forEach(clearTimeout); job.ends.delete(closed); exit.stop(); resolve(result); };
      let timedOut = false, canceled = false;
      const closed = () => settle({ timedOut, canceled });
      const end = (reason) => job.kill({ graceMs: settings.limits.shutdownGraceMs, reason });
      job.ends.add(closed);
      // Pipes that others hold are read for a while; a job that was ended is awaited as a whole.
      const exit = new Wait(job, { until: [{ exit: true }] }, [], { from: 'start', timeoutMs: null,
        done: () => { if (!timedOut && !canceled) later(drainMs, closed); } });
      if (timeoutMs !== null) later(timeoutMs, () => {
        if (job.exit) return;
        timedOut = true;
        if (onTimeout === 'background') settle({ timedOut }); else end('timeout');
      });
      request.cancel = () => {
        if (onTimeout === 'background') return settle({ canceled: true });
        canceled = true;
        end('killed');
      };
    });
    if (job.status !== 'closed' && !params.events) {
      // It, or what it has left, goes on in the background: its events come behind the answer, output from where that ends.
      const ends = job.offsets();
      request.answered = () => { job.feed.background(only(settings.events), ends); server.touch(job); };
    }
    if (how.canceled) throw abortError('canceled', job, {});
    const result = runResult(job, params, how.timedOut);
    return result;
  }

  function runResult(job, { format = 'plain', maxBytes = 65536, mark }, timedOut) {
    const result = { exit: job.exit ?? null, timedOut };
    const truncated = {};
    for (const name of Object.keys(job.streams)) {
      const out = shown(job, name, 0, { format, maxBytes, mark }, { run: true });
      const member = name === 'pty' ? 'output' : name;
      if (out.text !== undefined) result[member] = out.text;
      if (out.base64 !== undefined) result[`${member}Base64`] = out.base64;
      if (out.truncated) truncated[name] = out.truncated;
      job.unread[name] = out.nextOffset;
    }
    return {
      ...result, ...(Object.keys(truncated).length > 0 && { truncated }),
      outputComplete: job.exit !== undefined && Object.values(job.streams).every((s) => s.ended),
      durationMs: job.durationMs ?? job.info().durationMs, job: job.state(), ...(job.hint && { hint: job.hint }),
    };
  }

  async function write(params, request) {
    const job = jobOf(params);
    if (job.ended) throw job.exitedError();
    if (params.ifWaiting !== undefined) fail('inputNotExpected', 'this server knows no waits for input; leave ifWaiting out', { handle: job.handle });
    const compiled = params.wait && checkWait(params.wait, Object.keys(job.streams), '/wait');
    const needsTerminal = params.keys?.length > 0 || params.send?.some((item) => item.key !== undefined || item.mouse);
    if (!job.term && needsTerminal) throw notInteractive(job, 'keys need a terminal; start it with mode pty');
    if (!job.input) throw notInteractive(job, 'its stdin is not open; start it with "stdin": "open"');
    if (job.input.closed) throw notInteractive(job, 'its stdin was closed by eof');
    const entry = entryOf(job, params);
    return pending(request, (resolve, reject) => writing(job, entry, params.wait, compiled, resolve, reject));
  }

  // entryOf makes the bytes of a write, and refuses what the terminal would cut.
  function entryOf(job, params) {
    const { terminal, input } = job;
    let bytes = typed(params, terminal);
    if (params.appendNewline) bytes = Buffer.concat([bytes, Buffer.from(job.term ? '\r' : '\n')]);
    if (!job.term) return { bytes, eof: params.eof };
    const mayInterrupt = bytes.length > 0 && (bytes[0] < 0x20 || bytes[0] === 0x7f);
    const partial = (input.partial ?? 0);
    const lines = longestLine(bytes, partial);
    // A later wait may ask for the echo of this write, of which only the modes of now tell.
    const modes = bytes.length > 0 || params.eof ? kernelModes(input.tty) : null;
    if (modes?.lines && lines.longest > platform.canonicalLineLimit) {
      fail('lineTooLong', `a line has at most ${platform.canonicalLineLimit} bytes here; send shorter ones`, { handle: job.handle, max: platform.canonicalLineLimit, bytes: lines.longest });
    }
    const interrupt = mayInterrupt && modes.signals && modes.interrupts.includes(bytes[0]);
    input.partial = interrupt ? 0 : lines.last;
    if (params.eof && modes.eof >= 0) {
      bytes = Buffer.concat([bytes, Buffer.alloc(input.partial > 0 ? 2 : 1, modes.eof)]);
      input.partial = 0;
    }
    return { bytes, interrupt, modes };
  }

  // writing pushes an entry and answers when it was written and its wait is over.
  function writing(job, entry, spec, compiled, resolve, reject) {
    let wait, outcome, written = false, settled = false;
    const settle = (call, value) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      wait?.stop();
      call(value);
    };
    const finish = () => {
      if (written && (!spec || outcome)) settle(resolve, { bytesWritten: entry.written, ...(outcome && { outcome }) });
    };
    const refuse = (kind, text, more) => settle(reject, new ProtocolError(kind, text,
      { ...more, bytesWritten: entry.written, ...(wait && { outcome: outcome ?? wait.outcome(kind === 'jobExited' ? 'exit' : kind === 'shuttingDown' ? kind : 'canceled') }) }));
    const arm = () => {
      if (job.term) job.lastEcho = entry.modes && entry.bytes.length <= 4096 ? echoOf(entry.bytes, entry.modes, job.streams.pty.end) : null;
      if (!spec) return;
      wait = new Wait(job, spec, compiled, { from: job.offsets(), timeoutMs: null, echo: job.lastEcho, afterInput: true,
        done: (o) => { outcome = o; finish(); } });
    };
    entry.begin = arm;
    entry.done = (error) => {
      if (error === 'overtaken') return refuse('canceled', 'an interrupt key came before it; send it again', { handle: job.handle });
      if (error instanceof ProtocolError) return refuse(error.kind, error.message, error.data);
      if (error) { // the job has closed its end: whether it is alive is known soon
        setTimeout(() => entry.done(job.ended ? job.exitedError() : notInteractive(job, 'the program has closed its stdin')), 100);
        return;
      }
      written = true;
      finish();
    };
    let timer;
    const timeoutMs = spec && (spec.timeoutMs === undefined ? 30000 : spec.timeoutMs);
    const expire = () => {
      if (!wait) arm();
      // A wait whose input was not taken ends with timeout, whatever its conditions have come to.
      const late = outcome && written ? outcome : written && wait.check({ last: true }) ? outcome : wait.outcome('timeout');
      outcome = late;
      if (!entry.over) { entry.done = () => {}; job.input.withdraw(entry); }
      settle(resolve, { bytesWritten: entry.written, outcome: late });
    };
    if (typeof timeoutMs === 'number') timer = setTimeout(expire, Math.min(timeoutMs, 2 ** 31 - 1));
    try { job.input.push(entry); } catch (err) { err.data.handle = job.handle; settle(reject, err); }
    return (kind) => {
      if (settled) return;
      if (!entry.over) { entry.done = () => {}; job.input.withdraw(entry); }
      refuse(kind, kind === 'canceled' ? 'the request was cancelled; the job goes on' : 'the server is ending; start another', kind === 'canceled' && { handle: job.handle });
    };
  }

  async function read(params, request) {
    const job = jobOf(params);
    const names = Object.keys(job.streams);
    checkStream(params.stream, names, '/stream');
    if (!params.stream && names.length !== 1) throw badParam('/stream', 'the job has several streams; name one', { allowed: names });
    const name = params.stream ?? names[0];
    const spool = job.streams[name];
    const from = params.offset === undefined ? job.cursors[name] ?? 0
      : params.offset < 0 ? Math.max(0, spool.end + params.offset) : params.offset;
    if (params.waitMs > 0 && from >= spool.end && !spool.ended) {
      const wait = { until: [{ bytes: 1 }, { closed: true }], from: names.length === 1 ? from : { [name]: from }, maxBytes: 0, timeoutMs: params.waitMs };
      const unread = { ...job.unread };
      await awaited(request, job, wait, [], {});
      job.unread = unread; // only a read without an offset moves it
    }
    const most = Math.min(params.maxBytes ?? 65536, settings.limits.maxMessageBytes >> 4);
    let { offset, bytes, gap } = spool.read(from, most);
    const { format = 'text' } = params;
    // A character is not cut where its rest will be in the next read.
    const half = format === 'base64' || (spool.ended && offset + bytes.length === spool.end) ? 0 : unfinished(bytes);
    if (half < bytes.length) bytes = bytes.subarray(0, bytes.length - half);
    const nextOffset = offset + bytes.length;
    if (params.offset === undefined) {
      job.cursors[name] = nextOffset;
      job.unread[name] = Math.max(job.unread[name] ?? 0, nextOffset);
    }
    const member = format === 'plain' ? { text: shownAt(spool, offset, bytes, !spool.ended || nextOffset < spool.end) } : encoded(bytes, format);
    return { ...member, offset, nextOffset, hasMore: nextOffset < spool.end, ...(gap && { gap }), job: job.state() };
  }

  async function kill(params, request) {
    const one = (job) => {
      if (job.status === 'closed') return { signals: [], killed: [], survivors: [], alreadyClosed: true, job: job.state() };
      const alive = !job.ended;
      return new Promise((resolve) => job.kill({ graceMs: params.graceMs ?? 5000, force: params.force }, ({ signals: sent, survivors }) => {
        const killed = alive && job.ended ? [{ pid: job.pid, command: job.argv.join(' ').slice(0, 256), how: job.ended.signal ?? 'self' }] : [];
        resolve({ signals: sent, killed, survivors, alreadyClosed: false, job: job.state() });
      }));
    };
    // The answer can be given up; the job is being ended all the same, at the server's end too.
    const answer = params.group === undefined ? Promise.resolve(one(jobOf(params)))
      : Promise.all(manager.inGroup(params.group).map(one)).then((jobs) => ({ jobs, ...manager.otherGroups(jobs) }));
    return new Promise((resolve, reject) => {
      request.cancel = () => reject(new ProtocolError('canceled', 'the request was cancelled, but the job is still being ended',
        params.group === undefined ? { handle: jobOf(params).handle } : {}));
      answer.then(resolve, reject);
    });
  }

  return {
    initialize: (params) => server.initialize(params),
    shutdown: () => server.shutdown(),
    'job/start': start,
    'job/run': run,
    'job/write': write,
    'job/read': read,
    'job/kill': kill,
    'job/wait': async (params, request) => {
      const job = jobOf(params);
      const compiled = checkWait(params, Object.keys(job.streams), '');
      return { outcome: await awaited(request, job, params, compiled, { from: 'unread', echo: job.lastEcho }) };
    },
    'job/list': ({ live, group }) => {
      const jobs = [...manager.jobs.values()].filter((job) =>
        (live === undefined || live === (job.status !== 'closed')) && (group === undefined || job.group === group));
      const share = Math.floor((settings.limits.maxMessageBytes - 4096) / Math.max(1, jobs.length));
      const infos = jobs.map((job) => job.fittedInfo());
      // Only where all together are too long each gets its share.
      const fits = Buffer.byteLength(JSON.stringify(infos)) <= settings.limits.maxMessageBytes - 4096;
      return { jobs: fits ? infos : jobs.map((job) => job.fittedInfo(share)) };
    },
    'platform/get': () => whole(),
    'job/get': (params) => ({ job: jobOf(params).fittedInfo() }),
    'job/signal': ({ handle, group, signal, target }) => {
      const named = group === undefined ? [manager.get(handle)] : manager.inGroup(group);
      const name = signals.find((s) => s === signal.toUpperCase() || s === `SIG${signal.toUpperCase()}`);
      if (!name) throw badParam('/signal', `there is no signal ${signal} here`, { allowed: signals });
      const send = (job) => {
        if (job.ended) throw job.exitedError();
        job.signal(name, target === 'leader');
      };
      if (group === undefined) {
        send(named[0]);
        return {};
      }
      const jobs = named.map((job) => {
        const about = { handle: job.handle, ...(job.name && { name: job.name }) };
        try { send(job); return { ...about, sent: true }; } catch (err) {
          return { ...about, sent: false, kind: err.kind, message: err.message };
        }
      });
      return { jobs, ...manager.otherGroups(jobs) };
    },
    'job/resize': ({ handle, cols, rows }) => {
      const job = manager.get(handle);
      if (!job.term) throw notInteractive(job, 'it has no terminal');
      if (job.ended) throw job.exitedError();
      job.resize(cols, rows);
      return {};
    },
    'job/remove': (params) => {
      const job = jobOf(params);
      if (job.status !== 'closed') fail('jobRunning', `job ${job.handle} is not closed; end it with job/kill first`, { handle: job.handle });
      manager.remove(job);
      return {};
    },
    'job/watch': ({ handle, from = 'now', _meta, ...spec }) => {
      const job = manager.get(handle);
      checkStream(spec.stream, Object.keys(job.streams), '/stream');
      return { watchId: job.watch(spec, compile(spec.pattern, spec.flags), from) };
    },
    'job/unwatch': ({ handle, watchId }) => {
      const job = manager.get(handle);
      const watch = job.watches.get(watchId);
      if (!watch) throw badParam('/watchId', `there is no watch ${watchId}`);
      watch.stop();
      job.watches.delete(watchId);
      return {};
    },
    'job/subscribe': (params, request) => {
      const job = jobOf(params);
      checkFrom(params.from, Object.keys(job.streams), '/from');
      if (job.feed.closedSent) throw job.exitedError();
      const defaults = only(settings.events) ?? only(server.allEvents);
      server.rpc.sendResult(request, { job: job.state() });
      job.feed.subscribe(params, defaults, params.from === undefined ? null : offsetsFrom(params.from, job));
      server.touch(job);
      job.hold();
      return {};
    },
    'job/unsubscribe': (params, request) => {
      const job = jobOf(params);
      job.feed.unsubscribe();
      job.hold();
      server.rpc.sendResult(request, {});
      return {};
    },
  };
}

// longestLine looks at lines that begin with partial bytes: the longest, and what is left at the end.
function longestLine(bytes, partial) {
  let longest = 0, line = partial;
  for (const b of bytes) {
    if (b === 10 || b === 13) line = 0; else longest = Math.max(longest, ++line);
  }
  return { longest, last: line };
}
