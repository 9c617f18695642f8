// Patterns over output that is still coming. JavaScript's own regular expressions are what
// the protocol asks for; what they lack is a time limit and partial matches.
import vm from 'node:vm';
import { ProtocolError } from './errors.js';
import { Scanner } from './terminal.js';

const windowMax = 64 * 1024; // how far back a match may begin
const limitMs = 50;
const context = vm.createContext({});
const find = new vm.Script(`(() => {
  const at = (text) => { re.lastIndex = from; return re.exec(text); };
  const key = (m) => m && [m.index, ...m].join('\\0');
  const m = at(text), k = key(m);
  return { m, settled: m !== null && probes.every((p) => key(at(text + p)) === k) };
})()`);

// withinLimit runs the script; null: it took too long. What counts is the time that this process
// has computed: on a busy machine 50 ms may pass in which it has not had its turn.
function withinLimit() {
  for (let tries = 0; tries < 20; tries++) {
    const before = process.cpuUsage();
    try {
      return find.runInContext(context, { timeout: limitMs });
    } catch (err) {
      if (err.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw err;
      const { user, system } = process.cpuUsage(before);
      if (user + system >= limitMs * 700) return null; // microseconds; some are the clock's grain
    }
  }
  return null;
}

// compile throws invalidPattern. JavaScript does not tell the position of the fault.
export function compile(pattern, flags = '', pointer = '/pattern') {
  if (new Set(flags).size < flags.length) {
    throw new ProtocolError('invalidPattern', `${pointer}: a flag is given twice`, { pattern, pointer });
  }
  try {
    return new RegExp(pattern, flags + 'g');
  } catch (err) {
    throw new ProtocolError('invalidPattern', `${pointer}: ${err.message}`, { pattern, pointer });
  }
}

// probesFor are texts that could come next. A match that is the same with each of them is
// taken for one that no further byte can change. That is not a proof: it is what can be had
// from an engine that cannot be asked whether it looked at the end of its input. So the
// pattern's own words are among the probes, since they are what could carry a match on.
function probesFor(pattern) {
  const words = pattern.match(/[^\\()[\]{}|?*+.^$]+/g) ?? [];
  const chars = [...new Set(words.join(''))].slice(0, 24);
  return [...new Set(['a', 'Z', '0', '_', ' ', '\n', '\r\n', '.', 'é', ...chars, ...words.slice(0, 16)])];
}

// A Matcher looks for one pattern in one stream. Bytes are fed by offset, and a match has
// raw offsets.
export class Matcher {
  constructor(re, { raw = false } = {}) {
    this.re = re;
    this.probes = probesFor(re.source);
    this.scanner = raw ? { visible: () => true } : new Scanner();
    this.strikes = 0;
    this.restart();
  }

  // restart forgets the text: what comes next stands at the start of the output.
  restart() {
    this.text = '';
    this.starts = []; // raw offset of each UTF-16 unit, and of the byte behind it
    this.ends = [];
    this.from = 0; // where the next match may begin
    this.char = []; // bytes of a character that is not whole
    this.leaning = false; // there is a match that more output could change
  }

  feed(bytes, offset) {
    let text = '';
    const put = (s, start, end) => {
      text += s;
      for (let i = 0; i < s.length; i++) { this.starts.push(start); this.ends.push(end); }
    };
    for (let i = 0; i < bytes.length; i++) {
      const b = bytes[i];
      if (!this.scanner.visible(b)) continue;
      if (this.char.length > 0 && (b & 0xc0) !== 0x80) this.#flushChar(put);
      if (b < 0x80) { put(String.fromCharCode(b), offset + i, offset + i + 1); continue; }
      this.char.push([b, offset + i]);
      const lead = this.char[0][0];
      if (this.char.length === (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1)) this.#flushChar(put);
    }
    this.text += text;
    if (this.text.length > 2 * windowMax) this.#trim();
  }

  #flushChar(put) {
    const s = Buffer.from(this.char.map(([b]) => b)).toString();
    put(s, this.char[0][1], this.char.at(-1)[1] + 1);
    this.char = [];
  }

  #trim() {
    const drop = this.text.length - windowMax;
    this.text = this.text.slice(drop);
    this.starts.splice(0, drop);
    this.ends.splice(0, drop);
    this.from = Math.max(this.from - drop, 1); // not 0: that is no start of the output
  }

  // next returns the next match that counts, or null. With final, nothing comes any more, or
  // has not for a while. It throws 'tooSlow' when the pattern has to be given up.
  next(final) {
    for (;;) {
      const { m, settled } = this.#search();
      // What was too slow leans as well: it is tried once more when the stream is quiet.
      this.leaning = this.strikes > 0 || (m !== null && !settled && !final);
      if (m === null || (!settled && !final)) return null;
      const end = m.index + m[0].length;
      this.from = m[0] === '' ? end + 1 : end;
      if (m[0] === '' && end >= this.text.length) { this.from = end; return null; }
      if (m[0] !== '') return this.#match(m, end);
    }
  }

  #search() {
    let found;
    Object.assign(context, { re: this.re, text: this.text, from: this.from, probes: this.probes });
    try {
      found = withinLimit();
      this.strikes = found ? 0 : this.strikes + 1;
    } finally {
      context.text = '';
    }
    if (this.strikes >= 2) throw new Error('tooSlow');
    return found ?? { m: null, settled: false };
  }

  #match(m, end) {
    const lineEnd = this.text.slice(m.index).search(/\r?\n/);
    const from = this.text.lastIndexOf('\n', m.index - 1) + 1;
    const line = this.text.slice(m.index === 0 ? 0 : from, lineEnd < 0 ? undefined : m.index + lineEnd);
    return {
      text: m[0],
      groups: m.slice(1).map((g) => g ?? null),
      named: Object.fromEntries(Object.entries(m.groups ?? {}).map(([k, v]) => [k, v ?? null])),
      line: Buffer.from(line).subarray(0, 4096).toString().replace(/\uFFFD$/, ''),
      offset: this.starts[m.index],
      endOffset: this.ends[end - 1],
    };
  }
}

// fitted cuts the texts of a match that would not fit into a message, and says so.
export function fitted(match, maxBytes) {
  const budget = maxBytes >> 2;
  const texts = [match.text, match.line, ...match.groups, ...Object.values(match.named)].map((t) => t ?? '');
  const size = texts.reduce((n, t) => n + Buffer.byteLength(JSON.stringify(t)), 0);
  if (size <= budget) return { match, truncated: false };
  const most = Math.floor(budget / texts.length / 6); // a character takes at most 6 bytes in JSON
  const cut = (t) => t && t.slice(0, most).replace(/\p{Surrogate}$/u, '');
  const named = Object.fromEntries(Object.entries(match.named).map(([k, v]) => [k, cut(v)]));
  return { match: { ...match, text: cut(match.text), line: cut(match.line), groups: match.groups.map(cut), named }, truncated: true };
}
