// The two framings: bytes from stdin become messages, messages become bytes.
//
// The first byte tells which framing the client speaks. Nothing here knows what a
// message says; the callbacks are told of texts and of what could not be read.

const CR = 13, LF = 10;
const lineStarts = new Set([...'{[ \t\r\n'].map((c) => c.charCodeAt(0)).concat(0xef));
const maxHeaderBytes = 64 * 1024;

export class Framing {
  // on has message(buffer), bad(kind, text) for what can be passed over, and
  // broken(text) for what ends the connection.
  constructor(on) {
    this.on = on;
    this.kind = null; // 'line' or 'header', once a byte has come
    this.maxBytes = 16 << 20; // initialize may change it
    this.pieces = []; // what has come and is no whole message yet
    this.size = 0;
    this.skipping = false; // inside of a line that is too long
    this.dead = false;
  }

  // frame returns message (a string) as it goes over the wire.
  frame(message) {
    if (this.kind === 'header') {
      return `Content-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`;
    }
    return message + '\n';
  }

  push(chunk) {
    if (this.dead || chunk.length === 0) return;
    this.kind ??= lineStarts.has(chunk[0]) ? 'line' : 'header';
    if (this.kind === 'line') this.#pushLines(chunk);
    else this.#pushHeaders(chunk);
  }

  #pushLines(chunk) {
    for (let at = 0; at < chunk.length;) {
      const end = chunk.indexOf(LF, at);
      const piece = chunk.subarray(at, end < 0 ? chunk.length : end);
      at = end < 0 ? chunk.length : end + 1;
      if (!this.skipping && this.size + piece.length > this.maxBytes) {
        // One answer, and the line is skipped to its end.
        this.skipping = true;
        this.#drop();
        this.on.bad('invalidRequest', `a line has at most ${this.maxBytes} bytes; send a shorter one`);
      }
      if (!this.skipping) this.#keep(piece);
      if (end < 0) return;
      if (!this.skipping) this.#line(this.#take());
      this.skipping = false;
    }
  }

  // end says that nothing comes any more: a last line needs no end.
  end() {
    if (this.kind === 'line' && !this.skipping) this.#line(this.#take());
  }

  #line(line) {
    if (line.length >= 3 && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
    const blank = line.every((b) => b === CR || b === 0x20 || b === 0x09);
    if (!blank) this.on.message(line);
  }

  #pushHeaders(chunk) {
    this.#keep(chunk);
    // A body that is not here yet is not joined again for each piece of it.
    if (this.need && this.size < this.need) return;
    let buffer = this.#take();
    while (!this.dead) {
      const block = buffer.indexOf('\r\n\r\n');
      if (block < 0) {
        if (buffer.length > maxHeaderBytes) this.#break('the header block does not end');
        break;
      }
      const length = this.#contentLength(buffer.subarray(0, block).toString('latin1'));
      if (length === null) return;
      this.need = block + 4 + length;
      if (buffer.length < this.need) break;
      const body = buffer.subarray(block + 4, this.need);
      buffer = buffer.subarray(this.need);
      this.need = 0;
      this.on.message(body);
    }
    this.#keep(buffer);
  }

  // #contentLength returns null, and the connection is over, where there is none.
  #contentLength(block) {
    let length = null;
    for (const line of block.split('\r\n')) {
      const colon = line.indexOf(':');
      if (colon <= 0) return this.#break(`${JSON.stringify(line.slice(0, 60))} is no header`);
      if (line.slice(0, colon).trim().toLowerCase() !== 'content-length') continue;
      const value = line.slice(colon + 1).trim();
      if (!/^\d{1,15}$/.test(value)) return this.#break('Content-Length is no number');
      length = Number(value);
    }
    if (length === null) return this.#break('there is no Content-Length');
    if (length > this.maxBytes) return this.#break(`a message has at most ${this.maxBytes} bytes`);
    return length;
  }

  #break(text) {
    this.dead = true;
    this.on.broken(text);
    return null;
  }

  #keep(piece) {
    this.pieces.push(piece);
    this.size += piece.length;
  }

  #drop() {
    this.pieces = [];
    this.size = 0;
  }

  #take() {
    const all = this.pieces.length === 1 ? this.pieces[0] : Buffer.concat(this.pieces);
    this.#drop();
    return all;
  }
}
