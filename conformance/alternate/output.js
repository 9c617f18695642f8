// Bytes that a job wrote: kept by offset, cut at characters, shown as text.
import { isUtf8 } from 'node:buffer';

// A Spool keeps a stream's output in memory: the first eighth of its limit for good, and
// the newest bytes of the rest.
export class Spool {
  constructor(limit) {
    this.headMax = limit >> 3;
    this.tailMax = limit - this.headMax;
    this.head = []; // [{ at, bytes }], joined up from 0
    this.tail = []; // the same, joined up to end
    this.tailSize = 0;
    this.end = 0;
    this.ended = false; // end of file: nothing comes any more
  }

  append(bytes) {
    const room = this.headMax - this.end;
    if (room > 0) {
      this.#add(this.head, bytes.subarray(0, room));
      bytes = bytes.subarray(room);
    }
    if (bytes.length === 0) return;
    this.tailSize += bytes.length;
    this.#add(this.tail, bytes);
    while (this.tailSize > this.tailMax) {
      const first = this.tail[0];
      const drop = Math.min(first.bytes.length, this.tailSize - this.tailMax);
      this.tailSize -= drop;
      if (drop === first.bytes.length) this.tail.shift();
      else this.tail[0] = { at: first.at + drop, bytes: first.bytes.subarray(drop) };
    }
  }

  #add(list, bytes) {
    const last = list.at(-1);
    // Small pieces are joined, so that a program that writes byte by byte costs no object for each.
    if (last && last.bytes.length < 4096) last.bytes = Buffer.concat([last.bytes, bytes]);
    else list.push({ at: this.end, bytes });
    this.end += bytes.length;
  }

  // kept lists the ranges that can be read.
  kept() {
    const headEnd = Math.min(this.end, this.headMax);
    const tailAt = this.tail.length > 0 ? this.tail[0].at : headEnd;
    if (this.end === 0) return [];
    return tailAt > headEnd ? [[0, headEnd], [tailAt, this.end]] : [[0, this.end]];
  }

  // read returns up to max bytes from an offset on, and the gap before them if it lies in one.
  read(from, max = Infinity) {
    const range = this.kept().find(([, to]) => from < to);
    if (!range) return { offset: from, bytes: Buffer.alloc(0) };
    const offset = Math.max(from, range[0]);
    const to = Math.min(range[1], offset + max);
    const pieces = [];
    for (const { at, bytes } of [...this.head, ...this.tail]) {
      if (at >= to) break;
      if (at + bytes.length > offset) pieces.push(bytes.subarray(Math.max(0, offset - at), to - at));
    }
    const gap = offset > from ? { from, to: offset } : undefined;
    return { offset, bytes: pieces.length === 1 ? pieces[0] : Buffer.concat(pieces), gap };
  }
}

// unfinished tells how many bytes at the end begin a character whose rest has not come.
export function unfinished(bytes) {
  for (let n = 1; n <= Math.min(3, bytes.length); n++) {
    const b = bytes[bytes.length - n];
    if (b < 0x80) return 0;
    if (b >= 0xc0) return (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) > n ? n : 0;
  }
  return 0;
}

// encoded is the member text or base64.
export const encoded = (bytes, encoding = 'text') =>
  encoding === 'text' && isUtf8(bytes) ? { text: bytes.toString() } : { base64: bytes.toString('base64') };

// eslint-disable-next-line no-control-regex
const escapes = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\|$)|[ -/]*[0-~]|\[[0-?]*[ -/]*$|$)/g;

const sequence = new RegExp(escapes.source, 'y');

// shownAt is what plain shows of the bytes at an offset: a character stands in the piece in which it ends, and the
// rest of an escape sequence that begins before a piece in none. open: more may follow on them.
export function shownAt(spool, offset, bytes, open) {
  const from = Math.max(0, offset - (1 << 16));
  const read = spool.read(from, offset - from);
  const before = read.offset + read.bytes.length === offset ? read.bytes : Buffer.alloc(0);
  const rest = restOfSequence(before, bytes);
  let all = rest > 0 ? bytes.subarray(rest) : Buffer.concat([before.subarray(before.length - unfinished(before)), bytes]);
  if (open) all = all.subarray(0, all.length - unfinished(all));
  return plain(all);
}

// restOfSequence tells how many of the bytes are the rest of an escape sequence that begins before them.
function restOfSequence(before, bytes) {
  const start = before.lastIndexOf(0x1b);
  if (start < 0) return 0;
  const [line] = Buffer.concat([before.subarray(start), bytes]).toString('latin1').split('\n', 1);
  sequence.lastIndex = 0;
  const length = sequence.exec(line)?.[0].length ?? 1;
  return Math.max(0, length - (before.length - start));
}

// plain is output as a person would read it afterwards: no escape sequences, CRLF as LF, and
// of a line that was redrawn what stood there last.
function plain(bytes) {
  const text = bytes.toString();
  return text.split('\n').map(foldLine).join('\n').replace(controls, '');
}

// controls are those that no terminal shows: C0 but tab and LF, DEL, C1, and what turns text round.
// eslint-disable-next-line no-control-regex
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

function foldLine(line) {
  if (!/[\r\b\x1b]/.test(line)) return line;
  const cells = [];
  let col = 0;
  // Erasing to the end of the line is the one sequence that a redrawn line needs.
  for (const piece of line.split(/(\x1b\[[02]?K)/)) {
    if (piece.startsWith('\x1b[') && piece.endsWith('K')) {
      if (piece.includes('2')) cells.fill(' '); else cells.length = Math.min(cells.length, col);
      continue;
    }
    for (const c of piece.replace(escapes, '')) {
      if (c === '\r') col = 0;
      else if (c === '\b') col = Math.max(0, col - 1);
      else {
        while (cells.length < col) cells.push(' ');
        cells[col++] = c;
      }
    }
  }
  return cells.join('');
}

// shortened keeps head and tail of more than max bytes, cut at line ends where there are any. lost counts what the
// caller has lost already. truncated is there if anything is left out.
export function shortened(bytes, max, lost = 0) {
  if (bytes.length <= max && lost === 0) return { head: bytes, tail: Buffer.alloc(0) };
  let head = Math.min(bytes.length, max >> 1), tail = Math.max(head, bytes.length - (max - (max >> 1)));
  const lineEnd = bytes.lastIndexOf(10, head - 1);
  if (head > 0 && lineEnd >= 0) head = lineEnd + 1;
  while (head > 0 && head < bytes.length && (bytes[head] & 0xc0) === 0x80) head--;
  const lineStart = tail === 0 ? -1 : bytes.indexOf(10, tail - 1);
  if (tail < bytes.length && lineStart >= 0 && lineStart + 1 < bytes.length) tail = lineStart + 1;
  while (tail < bytes.length && (bytes[tail] & 0xc0) === 0x80) tail++;
  const middle = bytes.subarray(head, tail);
  return {
    head: bytes.subarray(0, head), tail: bytes.subarray(tail),
    truncated: {
      headBytes: head, tailBytes: bytes.length - tail, omittedBytes: middle.length + lost,
      omittedLines: middle.reduce((n, b) => n + (b === 10), 0),
    },
  };
}

// quoted is output as text, with a mark where something is left out.
export function quoted(bytes, max, lost, marked) {
  const { head, tail, truncated } = shortened(bytes, max, lost);
  if (!truncated) return { text: bytes.toString() };
  const before = head.toString();
  let text = '';
  if (marked && max > 0) {
    text = `${before !== '' && !before.endsWith('\n') ? '\n' : ''}[... ${truncated.omittedBytes} bytes left out ...]\n`;
    truncated.mark = { text, offset: Buffer.byteLength(before), bytes: text.length };
  }
  return { text: before + text + tail.toString(), truncated };
}
