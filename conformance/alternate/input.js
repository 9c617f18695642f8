// Input on its way to a job: a queue, and bytes for keys.
import fs from 'node:fs';
import { ProtocolError, nearest } from './errors.js';

// Keys by name; those in cursor mode differ where the program has asked for it.
const plainKeys = { Enter: '\r', Tab: '\t', Space: ' ', Backspace: '\x7f', Escape: '\x1b', Delete: '\x1b[3~' };
const cursorKeys = { Up: 'A', Down: 'B', Right: 'C', Left: 'D', Home: 'H', End: 'F' };
export const keyNames = [...Object.keys(plainKeys), ...Object.keys(cursorKeys), 'Ctrl-<letter>'];

function keyBytes(name, terminal) {
  if (Object.hasOwn(plainKeys, name)) return plainKeys[name];
  if (Object.hasOwn(cursorKeys, name)) return `\x1b${terminal.appCursor ? 'O' : '['}${cursorKeys[name]}`;
  const ctrl = /^Ctrl-([A-Za-z])$/.exec(name);
  if (ctrl) return String.fromCharCode(ctrl[1].toUpperCase().charCodeAt(0) & 0x1f);
  const [near] = nearest(name, keyNames, 1);
  throw new ProtocolError('invalidKey', `unknown key ${name}; nothing was sent`, { key: name, allowed: keyNames, ...(near && { didYouMean: near }) });
}

// typed turns the params of a job/write into bytes, without its line end.
export function typed({ input = '', keys = [], send = [] }, terminal) {
  const items = send.map((item, i) => {
    if (item.text !== undefined) return Buffer.from(item.text);
    if (item.key !== undefined) return Buffer.from(keyBytes(item.key, terminal).repeat(item.count ?? 1));
    if (item.base64 !== undefined) return Buffer.from(item.base64, 'base64');
    if (item.paste !== undefined) return Buffer.from(terminal ? pasted(item.paste, terminal) : item.paste);
    const what = 'events of the mouse';
    throw new ProtocolError('unsupported', `/send/${i}: this server has not got ${what}`, { what, pointer: `/send/${i}` });
  });
  return Buffer.concat([Buffer.from(input), ...keys.map((k) => Buffer.from(keyBytes(k, terminal))), ...items]);
}

function pasted(text, terminal) {
  // eslint-disable-next-line no-control-regex
  const clean = text.replace(/\x1b\[20[01]~/g, '').replace(/\r?\n/g, '\r').replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '');
  return terminal.bracketedPaste ? `\x1b[200~${clean}\x1b[201~` : clean;
}

// Node has no way to be told that a terminal has room again: its streams write to one in a
// blocking way. So the bytes go past the streams, and while there is no room it is tried again
// after this time. It is the one place where this server polls.
const retryMs = 5;

// An Input writes entries in order, as fast as the kernel takes them. An entry is
// { bytes, eof?, interrupt?, begin(), done(error) }; written counts as it goes.
export class Input {
  // fd is non-blocking, and stream is a stream on it. tty is the terminal's name, if it is one.
  constructor({ fd, stream, tty, max }) {
    Object.assign(this, { fd, stream, tty, max });
    this.queue = [];
    this.waiting = 0; // bytes in the queue
    this.closed = false;
    stream.on('error', () => {}); // the write tells
  }

  push(entry) {
    if (this.waiting + entry.bytes.length > this.max && !entry.interrupt) {
      throw new ProtocolError('inputQueueFull', 'the job does not read its input; nothing was sent', { max: this.max });
    }
    Object.assign(entry, { written: 0, begun: false, over: false });
    if (entry.interrupt) this.#overtake();
    this.queue.push(entry);
    this.waiting += entry.bytes.length;
    if (entry.eof && !this.tty) this.closed = true;
    this.#run();
  }

  // withdraw takes back what the kernel has not got.
  withdraw(entry) {
    if (!entry.over) this.#finish(entry);
    this.#run();
  }

  // drop ends every entry with what error(entry) makes.
  drop(error) {
    for (const entry of [...this.queue]) this.#finish(entry, error(entry));
  }

  // #overtake drops what waits here, and what the kernel holds unread, as a terminal does at
  // an interrupt key: it would stand before the key. Reading it is the way that Node has.
  #overtake() {
    const late = this.queue.filter((e) => !e.interrupt);
    for (const entry of late) this.#finish(entry, 'overtaken');
    this.#drain();
  }

  #drain() {
    const unread = fs.openSync(this.tty, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY);
    const buffer = Buffer.alloc(65536);
    try {
      for (let i = 0; i < 4096; i++) fs.readSync(unread, buffer);
    } catch {
      // EAGAIN: nothing is left.
    } finally {
      fs.closeSync(unread);
    }
  }

  #finish(entry, error) {
    entry.over = true;
    this.queue = this.queue.filter((e) => e !== entry);
    this.waiting -= entry.bytes.length - entry.written;
    entry.done(error);
  }

  #run() {
    clearTimeout(this.retry);
    while (this.queue.length > 0) {
      const entry = this.queue[0];
      if (!entry.begun) {
        entry.begun = true;
        entry.begin?.();
        if (entry.over) continue;
      }
      try {
        while (entry.written < entry.bytes.length) {
          this.#count(entry, fs.writeSync(this.fd, entry.bytes, entry.written));
        }
      } catch (err) {
        if (err.code !== 'EAGAIN') { this.#finish(entry, err); continue; }
        if (entry.interrupt) this.#drain();
        this.retry = setTimeout(() => this.#run(), retryMs);
        return;
      }
      if (entry.eof && !this.tty) this.stream.end();
      this.#finish(entry);
    }
  }

  #count(entry, n) {
    if (n > 0) this.tookMs = performance.now();
    entry.written += n;
    this.waiting -= n;
  }
}
