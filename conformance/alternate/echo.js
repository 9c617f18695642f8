// What was typed is shown by the kernel or by the program, and that is no answer. An Echo
// goes over a stream's output from the write on and leaves the echo out.
import { Scanner } from './terminal.js';

// echoOf tells what to expect of a write of bytes under these modes; null: nothing is shown.
export function echoOf(bytes, modes, offset) {
  if (modes.echo) return { kind: 'kernel', offset, lines: shownByKernel(bytes, modes) };
  if (modes.lines) return null;
  const scanner = new Scanner();
  const text = bytes.filter((b) => scanner.visible(b) && b >= 0x20 && b !== 0x7f);
  if (text.length === 0) return null;
  const typedEnd = bytes.includes(10) || bytes.includes(13);
  return { kind: 'program', offset, lines: [text], typedEnd, limit: 2 * bytes.length + 256 };
}

// shownByKernel is what the kernel's line editing shows of typed bytes, line by line.
function shownByKernel(bytes, { crnl, signals, interrupts, eof, lines }) {
  const shown = [];
  let line = [];
  for (const b of bytes) {
    if (b === 10 || (b === 13 && crnl)) {
      shown.push(Buffer.from([...line, 13, 10]));
      line = [];
    } else if (lines && b === eof) {
      // Line editing takes it and shows nothing.
    } else if (b < 0x20 && b !== 9) {
      line.push(0x5e, b + 0x40);
    } else if (b === 0x7f) {
      line.push(...Buffer.from('\b \b')); // as if there is something to erase
    } else {
      line.push(b);
    }
    if (signals && interrupts.includes(b)) break; // what came before is dropped by the kernel
  }
  if (line.length > 0) shown.push(Buffer.from(line));
  return shown;
}

export class Echo {
  constructor({ kind, offset, lines, typedEnd, limit }) {
    Object.assign(this, { kind, at: offset, typedEnd, limit });
    this.lines = [...lines];
    this.held = Buffer.alloc(0); // output at .at that could belong to the echo
    this.skipLine = false; // the program's echo was found, and its line end has not come
  }

  get open() { return this.lines.length > 0 || this.skipLine; }

  // feed returns segments { bytes, offset, restart } that are no echo. restart: they stand
  // behind an echo, so that matching begins anew.
  feed(bytes, offset) {
    if (this.held.length === 0) this.at = offset;
    this.held = this.held.length > 0 ? Buffer.concat([this.held, bytes]) : bytes;
    const out = [];
    while (this.lines.length > 0) {
      const i = this.held.indexOf(this.lines[0]);
      if (i < 0) break;
      if (this.kind === 'kernel' && i > 0) this.#emit(out, i, false);
      this.#skip(this.kind === 'kernel' ? this.lines[0].length : i + this.lines[0].length);
      this.lines.shift();
      this.behind = true;
      if (this.kind === 'program' && this.typedEnd) this.skipLine = true;
    }
    if (this.skipLine) {
      const i = this.held.indexOf(10);
      this.#skip(i < 0 ? this.held.length : i + 1);
      this.skipLine = i < 0;
    }
    const keep = this.lines.length === 0 ? 0 : this.kind === 'kernel' ? this.#beginning() : this.held.length;
    if (keep > 0 && this.limit && this.held.length > this.limit) return out.concat(this.giveUp());
    this.#emit(out, this.held.length - keep, this.behind);
    return out;
  }

  // giveUp says that no echo comes: what was held counts.
  giveUp() {
    const out = [];
    this.lines = [];
    this.skipLine = false;
    this.#emit(out, this.held.length, this.behind);
    return out;
  }

  // quiet says that nothing came for a while: what was held is no echo. A program's echo is
  // not awaited any longer once it has printed something else.
  quiet() {
    if (this.held.length === 0) return [];
    if (this.kind === 'program') return this.giveUp();
    const out = [];
    this.#emit(out, this.held.length, this.behind);
    return out;
  }

  // #beginning tells how many bytes at the end are a beginning of the next line.
  #beginning() {
    for (let n = Math.min(this.lines[0].length - 1, this.held.length); n > 0; n--) {
      if (this.held.subarray(-n).equals(this.lines[0].subarray(0, n))) return n;
    }
    return 0;
  }

  #skip(n) {
    this.held = this.held.subarray(n);
    this.at += n;
  }

  #emit(out, n, restart) {
    if (n <= 0) return;
    out.push({ bytes: this.held.subarray(0, n), offset: this.at, restart: Boolean(restart) });
    if (restart) this.behind = false;
    this.#skip(n);
  }
}

// stripped leaves the echo out of bytes, which are the output from offset on.
export function stripped(bytes, offset, spec) {
  if (!spec || offset > spec.offset) return bytes;
  const before = bytes.subarray(0, spec.offset - offset);
  const echo = new Echo(spec);
  const rest = [...echo.feed(bytes.subarray(before.length), spec.offset), ...echo.giveUp()];
  return Buffer.concat([before, ...rest.map((s) => s.bytes)]);
}
