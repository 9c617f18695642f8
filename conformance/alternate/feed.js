// What a connection is sent of one job: its events in order, each behind the output that it
// speaks of. Nothing is queued but what has happened besides output; output has a cursor.
import { encoded, unfinished } from './output.js';

const chunkMax = 65536;
const matchesMax = 64; // of one watch

export class Feed {
  // subscription: { events: Set, encoding }, or null while nothing is heard. from: where output begins.
  constructor(job, subscription, requestId) {
    Object.assign(this, { job, requestId, subscription: null });
    this.seq = 0;
    this.cursor = null; // stream -> offset, once output was asked for
    this.restart = new Set(); // streams whose next output does not follow from the last
    this.timeline = []; // what has happened and was not sent
    this.aside = []; // exited and closed, where they were not asked for
    this.startedSent = this.closedSent = false;
    if (subscription) this.#hear(subscription, Object.fromEntries(Object.keys(job.streams).map((s) => [s, 0])));
  }

  wants(event) { return this.subscription?.events.has(event) ?? false; }

  #hear(subscription, cursor) {
    this.subscription = subscription;
    if (this.wants('output') && !this.cursor) this.cursor = cursor;
  }

  // background begins to send, after the answer to a run: output from there on.
  background(subscription, offsets) {
    this.#hear(subscription, offsets);
  }

  // subscribe changes what is sent from now on. offsets: where output shall go on; null: where it stands.
  subscribe({ events, encoding }, defaults, offsets) {
    const before = this.subscription ?? defaults;
    const wanted = events ? new Set(events) : before.events;
    if (wanted.size === 0) return this.unsubscribe();
    const now = Object.fromEntries(Object.entries(this.job.streams).map(([name, s]) => [name, s.end]));
    const begins = wanted.has('output') && !this.cursor;
    this.subscription = { events: wanted, encoding: encoding ?? before.encoding };
    if (offsets || begins) {
      if (wanted.has('output')) this.cursor = offsets ?? now;
      this.restart = new Set(Object.keys(this.job.streams));
    }
    // The ends that were not asked for have not lost their place.
    const asked = this.aside.filter((item) => this.wants(item.event));
    this.aside = this.aside.filter((item) => !this.wants(item.event));
    this.timeline.unshift(...asked);
  }

  unsubscribe() {
    this.subscription = null;
    this.cursor = null;
    this.timeline = this.timeline.filter((item) => item.event === 'exited' || item.event === 'closed');
  }

  // add tells what has happened. need: up to which offsets output must have been sent before.
  add(event, need, params) {
    const isEnd = event === 'exited' || event === 'closed';
    if (isEnd || this.wants(event)) this.timeline.push({ event, need, params });
  }

  addMatch(watch, need, params) {
    if (!this.wants('patternMatched')) return;
    const waiting = this.timeline.filter((item) => item.watch === watch);
    // The last one stays, and says how many there were before it.
    const left = waiting.length >= matchesMax ? waiting.at(-1) : null;
    if (left) this.timeline.splice(this.timeline.lastIndexOf(left), 1);
    const suppressed = left ? (left.params.suppressed ?? 0) + 1 : 0;
    this.timeline.push({ event: 'patternMatched', need, watch, params: { ...params, ...(suppressed && { suppressed }) } });
  }

  // addChange joins what has changed with what waits already.
  addChange(need, values) {
    if (!this.wants('stateChanged')) return;
    const last = this.timeline.at(-1);
    if (last?.event === 'stateChanged') {
      Object.assign(last.params, values, { changed: [...new Set([...last.params.changed, ...Object.keys(values)])] });
      last.need = need;
    } else this.add('stateChanged', need, { changed: Object.keys(values), ...values });
  }

  // started is job/started as a message, if it is wanted and due.
  started() {
    if (!this.wants('started') || this.startedSent || this.seq > 0) return null;
    this.startedSent = true;
    // The id is spelled as it came, so it cannot go through JSON.stringify.
    const text = this.#message('started', { job: this.job.fittedInfo() });
    return text.replace('"params":{', () => `"params":{"requestId":${this.requestId},`);
  }

  // next is the next message, or null.
  next() {
    if (!this.subscription || this.closedSent) return null;
    const started = this.started();
    if (started) return started;
    for (;;) {
      const item = this.timeline[0];
      if (this.wants('output')) {
        for (const name of Object.keys(this.job.streams)) {
          const text = this.#output(name, item?.need?.[name]);
          if (text) return text;
        }
      }
      if (!item) return null;
      this.timeline.shift();
      if (this.wants(item.event)) {
        this.closedSent = item.event === 'closed';
        return this.#message(item.event, item.params);
      }
      if (item.event === 'exited' || item.event === 'closed') this.aside.push(item);
    }
  }

  // #output is the next job/output of a stream, up to the offset that an event speaks of.
  #output(name, need = Infinity) {
    const spool = this.job.streams[name];
    const from = this.cursor[name];
    const exit = this.job.exitOffsets?.[name];
    const cap = Math.min(need, exit !== undefined && from < exit ? exit : Infinity);
    if (from >= Math.min(cap, spool.end)) return null;
    let { offset, bytes, gap } = spool.read(from, chunkMax);
    if (gap && offset >= cap) [offset, bytes, gap] = [cap, bytes.subarray(0, 0), { from, to: cap }];
    bytes = bytes.subarray(0, Math.min(cap - offset, bytes.length));
    const end = offset + bytes.length;
    const held = end === cap || (spool.ended && end === spool.end) ? 0 : unfinished(bytes);
    if (held > 0) bytes = bytes.subarray(0, bytes.length - held);
    if (bytes.length === 0 && !gap) return null;
    this.cursor[name] = offset + bytes.length;
    const restart = this.restart.delete(name);
    return this.#message('output', {
      stream: name, offset, bytes: bytes.length, ...encoded(bytes, this.subscription.encoding), ...(gap && { gap }),
      ...(exit !== undefined && offset >= exit && bytes.length > 0 && { late: true }), ...(restart && { restart }),
    });
  }

  #message(event, params) {
    const all = { handle: this.job.handle, seq: ++this.seq, ...params };
    return JSON.stringify({ jsonrpc: '2.0', method: `job/${event}`, params: all });
  }
}
