// What a connection is sent of one job: its events in order, each behind the output that it
// speaks of. Nothing is queued but what has happened besides output; output has a cursor.
import { encoded, unfinished } from './output.js';
import { Flow, heldBack, newestFrom } from './flow.js';

const chunkMax = 65536;
const matchesMax = 64; // of one watch

export class Feed {
  // subscription: { events: Set, encoding, whenSlow }, or null while nothing is heard. from: where output begins.
  constructor(job, subscription, requestId) {
    Object.assign(this, { job, requestId, subscription: null });
    this.seq = 0;
    this.cursor = null; // stream -> offset, once output was asked for
    this.flows = {}; // stream -> Flow, of the cursor
    this.restart = new Set(); // streams whose next output does not follow from the last
    this.timeline = []; // what has happened and was not sent
    this.aside = []; // exited and closed, where they were not asked for
    this.startedSent = this.closedSent = false;
    if (subscription) this.#hear(subscription, Object.fromEntries(Object.keys(job.streams).map((s) => [s, 0])));
  }

  wants(event) { return this.subscription?.events.has(event) ?? false; }

  #hear(subscription, cursor) {
    this.subscription = subscription;
    if (this.wants('output') && !this.cursor) this.#begin(cursor);
  }

  // #begin has output go on at offsets, and the window with it.
  #begin(cursor) {
    this.cursor = cursor;
    this.flows = Object.fromEntries(Object.entries(cursor).map(([name, offset]) => [name, new Flow(offset)]));
  }

  // ack takes an acknowledgement, and says whether the job has such a stream.
  ack(name, offset) {
    if (!Object.hasOwn(this.job.streams, name)) return false;
    if (this.cursor) this.flows[name].ack(offset, this.cursor[name]);
    return true;
  }

  // holds says whether the programs that write to a stream wait for this client.
  holds(name) {
    return this.subscription?.whenSlow === 'block' && this.wants('output') &&
      heldBack(this.job.streams[name], this.cursor[name], this.job.limits.windowBytes);
  }

  // background begins to send, after the answer to a run: output from there on.
  background(subscription, offsets) {
    this.#hear(subscription, offsets);
  }

  // subscribe changes what is sent from now on. offsets: where output shall go on; null: where it stands.
  subscribe({ events, encoding, whenSlow }, defaults, offsets) {
    const before = this.subscription ?? defaults;
    const wanted = events ? new Set(events) : before.events;
    if (wanted.size === 0) return this.unsubscribe();
    const now = Object.fromEntries(Object.entries(this.job.streams).map(([name, s]) => [name, s.end]));
    const begins = wanted.has('output') && !this.cursor;
    this.subscription = { events: wanted, encoding: encoding ?? before.encoding, whenSlow: whenSlow ?? before.whenSlow };
    if (offsets || begins) {
      if (wanted.has('output')) this.#begin(offsets ?? now);
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
        let full = false;
        for (const name of Object.keys(this.job.streams)) {
          const text = this.#output(name, item?.need?.[name]);
          if (text === 'full') full ||= item?.need?.[name] > this.cursor[name];
          else if (text) return text;
        }
        if (full) return null; // the event waits with the output that it speaks of
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

  // #output is the next job/output of a stream, up to the offset that an event speaks of; 'full'
  // where the client has to acknowledge first.
  #output(name, need = Infinity) {
    const spool = this.job.streams[name];
    const from = this.cursor[name];
    const exit = this.job.exitOffsets?.[name];
    const cap = Math.min(need, exit !== undefined && from < exit ? exit : Infinity);
    if (from >= Math.min(cap, spool.end)) return null;
    const { windowBytes: window } = this.job.limits;
    const room = this.job.acks ? this.flows[name].room(from, window) : Infinity;
    if (room === 0) return 'full';
    const begin = this.subscription.whenSlow === 'skip' ? newestFrom(spool, from, window, chunkMax) : from;
    let { offset, bytes, gap } = spool.read(begin, Math.min(chunkMax, room));
    if (offset > from) gap = { from, to: offset };
    if (gap && offset >= cap) [offset, bytes, gap] = [cap, bytes.subarray(0, 0), { from, to: cap }];
    bytes = bytes.subarray(0, Math.min(cap - offset, bytes.length));
    const end = offset + bytes.length;
    const held = end === cap || (spool.ended && end === spool.end) ? 0 : unfinished(bytes);
    if (held > 0) bytes = bytes.subarray(0, bytes.length - held);
    if (bytes.length === 0 && !gap) return held > 0 && held === room ? 'full' : null;
    if (gap) this.flows[name].told(gap);
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
