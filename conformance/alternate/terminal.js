// What a terminal is told by the programs in it (title, directory, bell, modes), and what
// the kernel says of it.
import { spawnSync } from 'node:child_process';
import os from 'node:os';

const ESC = 0x1b, BEL = 7;

// A Scanner walks over output byte by byte, whatever the pieces are. It tells visible bytes
// from escape sequences, and hands these over.
export class Scanner {
  // on: { sequence(kind, text), bell() }, both optional.
  constructor(on = {}) {
    this.on = on;
    this.state = 'text'; // text, escape, csi, string, stringEscape
    this.kind = '';
    this.text = '';
  }

  // visible tells whether the byte is text.
  visible(byte) {
    switch (this.state) {
      case 'text':
        if (byte === ESC) return this.#to('escape');
        if (byte === BEL) this.on.bell?.();
        return true;
      case 'escape':
        if (byte === ESC) return false;
        if (byte === 0x5b) return this.#to('csi', '[');
        if (']PX^_'.includes(String.fromCharCode(byte))) return this.#to('string', String.fromCharCode(byte));
        if (byte >= 0x20 && byte <= 0x2f) return false;
        return this.#done(`ESC`, String.fromCharCode(byte));
      case 'csi':
        if (byte === ESC) return this.#to('escape');
        if (byte >= 0x40 && byte <= 0x7e) return this.#done('CSI', this.text + String.fromCharCode(byte));
        this.#collect(byte);
        return false;
      case 'string':
        if (byte === ESC) { this.state = 'stringEscape'; return false; }
        if (byte === BEL) return this.#done(this.kind, this.text);
        this.#collect(byte);
        return false;
      default: // stringEscape: ESC \ ends it, anything else begins a new sequence
        if (byte === 0x5c) return this.#done(this.kind, this.text);
        this.#to('escape');
        return this.visible(byte);
    }
  }

  #to(state, kind = '') {
    this.state = state;
    this.kind = kind;
    this.text = '';
    return false;
  }

  #collect(byte) {
    if (this.text.length < 8192) this.text += String.fromCharCode(byte);
  }

  #done(kind, text) {
    this.state = 'text';
    this.on.sequence?.(kind, text);
    return false;
  }
}

// A Terminal is what a job's output has told so far.
export class Terminal {
  // changed(name) is called for title, cwd and bell.
  constructor(changed) {
    Object.assign(this, { title: '', cwd: '', bell: 0, appCursor: false, bracketedPaste: false, titles: [] });
    this.changed = changed;
    this.scanner = new Scanner({
      bell: () => { this.bell++; this.changed('bell'); },
      sequence: (kind, text) => this.#sequence(kind, text),
    });
  }

  feed(bytes) {
    for (const b of bytes) this.scanner.visible(b);
  }

  #sequence(kind, text) {
    if (kind === ']') return this.#osc(Buffer.from(text, 'latin1').toString());
    if (kind === 'ESC' && text === 'c') this.appCursor = this.bracketedPaste = false;
    if (kind !== 'CSI') return;
    if (text === '!p') this.appCursor = this.bracketedPaste = false;
    const mode = /^\?([\d;]+)([hl])$/.exec(text);
    for (const number of mode ? mode[1].split(';') : []) {
      if (number === '1') this.appCursor = mode[2] === 'h';
      if (number === '2004') this.bracketedPaste = mode[2] === 'h';
    }
    if (/^22(;[02])?(;\d+)?t$/.test(text)) this.titles.push(this.title);
    if (/^23(;[02])?(;\d+)?t$/.test(text) && this.titles.length > 0) this.#set('title', this.titles.pop());
  }

  #osc(text) {
    const [, number, rest] = /^(\d+);([^]*)$/.exec(text) ?? [];
    if (number === '0' || number === '2') {
      this.#set('title', Buffer.from(rest.replace(/[\0-\x1f\x7f]/g, '')).subarray(0, 4096).toString());
    }
    const path = {
      7: () => {
        const url = /^file:\/\/([^/]*)(\/.*)$/.exec(rest);
        const here = url && ['', 'localhost', os.hostname()].includes(url[1]);
        try { return here ? decodeURIComponent(url[2]) : ''; } catch { return ''; }
      },
      9: () => /^9;(.*)$/.exec(rest)?.[1],
      633: () => /^P;Cwd=(.*)$/.exec(rest)?.[1],
      1337: () => /^CurrentDir=(.*)$/.exec(rest)?.[1],
    }[number]?.();
    if (path?.startsWith('/') || (number === '7' && rest === '')) this.#set('cwd', path ?? '');
  }

  #set(name, value) {
    if (this[name] === value) return;
    this[name] = value;
    this.changed(name);
  }
}

// kernelModes asks stty what the terminal does with input. Node has no call for it.
export function kernelModes(tty) {
  const flag = process.platform === 'linux' ? '-F' : '-f';
  const out = spawnSync('stty', [flag, tty, '-a'], { encoding: 'utf8', timeout: 2000 }).stdout ?? '';
  const on = (name) => new RegExp(`(^|[\\s;])${name}([\\s;]|$)`).test(out);
  const char = (name) => {
    const [, ctrl, plainChar] = new RegExp(`${name} = (?:\\^(.)|(.))`).exec(out) ?? [];
    if (ctrl === '?') return 0x7f;
    return ctrl ? ctrl.charCodeAt(0) & 0x1f : (plainChar && plainChar !== '<') ? plainChar.charCodeAt(0) : -1;
  };
  return {
    lines: on('icanon'), echo: on('echo'), signals: on('isig'), crnl: on('icrnl'), eof: char('eof'),
    interrupts: ['intr', 'quit', 'susp'].map(char),
  };
}
