// Jobs in terminals: a terminal of our own that answers a query as xterm.js does, and VS Code's kind.
import assert from 'node:assert/strict';
import test from 'node:test';
import { pseudoterminal, type Terminal } from 'shelld';
import { client, soon } from './helpers.js';

class FakeTerminal implements Terminal {
  cols = 50;
  rows = 10;
  shown = '';
  #data: ((data: string) => void)[] = [];
  #resize: ((size: { cols: number; rows: number }) => void)[] = [];

  write(data: string, done?: () => void): void {
    this.shown += data;
    if (data.includes('\x1b[c')) this.type('\x1b[?1;2c');
    setImmediate(() => done?.());
  }

  onData(listener: (data: string) => void) {
    this.#data.push(listener);
    return { dispose: () => { this.#data = this.#data.filter((one) => one !== listener); } };
  }

  onResize(listener: (size: { cols: number; rows: number }) => void) {
    this.#resize.push(listener);
    return { dispose: () => { this.#resize = []; } };
  }

  type(data: string): void {
    for (const listener of this.#data) listener(data);
  }

  resize(cols: number, rows: number): void {
    for (const listener of this.#resize) listener({ cols, rows });
  }

  get listeners(): number {
    return this.#data.length + this.#resize.length;
  }
}

test('a terminal shows the job, types into it, answers its queries and sets its size', async (t) => {
  const shelld = await client(t);
  const terminal = new FakeTerminal();
  // The program prints the answer to its query; the first letter typed ends it.
  await using job = await shelld.start(`stty raw -echo; printf 'ask \\033[c'; head -c 7 | od -An -c | tr -d ' '; head -c 1; stty size; exit 3`, { queries: 'client' });
  const pipe = job.pipe(terminal);
  await job.wait(/\?1;2c/);
  terminal.resize(70, 20);
  terminal.type('x');
  assert.equal((await soon(pipe.done, 'the end')).code, 3);
  assert.match(terminal.shown, /^ask \x1b\[c033\[\?1;2c\s+x20 70\s+$/);
  assert.equal(terminal.listeners, 0);
});

test('a refused key or size does not end the connection with a terminal', async (t) => {
  const shelld = await client(t);
  const terminal = new FakeTerminal();
  await using job = await shelld.start('stty -echo; echo up; read x; echo "got $x"; exit 3');
  const pipe = job.pipe(terminal);
  await job.question();
  terminal.resize(0, 0); // invalidParams
  terminal.type('x'.repeat(5000)); // lineTooLong
  terminal.type('x'.repeat(17 << 20)); // messageTooLarge
  terminal.type('y\n');
  assert.equal((await soon(pipe.done, 'the end')).code, 3);
  assert.match(terminal.shown, /got y\s+$/);
  await using piped = await shelld.start('echo one; sleep 0.2; echo two', { mode: 'pipe' });
  const other = new FakeTerminal();
  const second = piped.pipe(other);
  other.type('x'); // notInteractive
  assert.equal((await soon(second.done, 'the end')).code, 0);
  assert.match(other.shown, /two/);
});

test('a terminal can be parted from a job, which runs on', async (t) => {
  const shelld = await client(t);
  const terminal = new FakeTerminal();
  await using job = await shelld.start('echo up; read x; echo "got $x"');
  await using pipe = job.pipe(terminal);
  await job.question();
  await pipe.dispose();
  assert.equal(terminal.listeners, 0);
  assert.equal((await job.answer('y')).text, 'got y\n');
  await assert.rejects(pipe.done, /were parted/);
});

test('a terminal that never calls back can be parted from its job', async (t) => {
  const shelld = await client(t);
  const terminal = new FakeTerminal();
  let shown = () => {};
  const writing = new Promise<void>((resolve) => { shown = resolve; });
  terminal.write = () => shown();
  await using job = await shelld.start('echo up; read x');
  const pipe = job.pipe(terminal);
  await soon(writing, 'the output');
  await soon(pipe.dispose(), 'dispose');
  assert.equal(terminal.listeners, 0);
});

test('a job in a terminal of VS Code', async (t) => {
  const shelld = await client(t);
  const job = await shelld.start('read -p "Name? " n; stty size; echo "Hello, $n"; exit 4');
  const terminal = pseudoterminal(job);
  let shown = '';
  terminal.onDidWrite((text) => {
    shown += text;
    if (text.includes('Name?')) {
      terminal.setDimensions({ columns: 90, rows: 30 });
      terminal.handleInput('Ada\r');
    }
  });
  const closed = new Promise((resolve) => terminal.onDidClose(resolve));
  terminal.open({ columns: 80, rows: 24 });
  assert.equal(await soon(closed, 'the end'), 4);
  assert.match(shown, /Name\? Ada\s+30 90\s+Hello, Ada\s+$/);
  const other = await shelld.start(['sleep', '1000']);
  const second = pseudoterminal(other);
  second.open(undefined);
  second.close();
  assert.equal((await soon(other.exit, 'the end')).reason, 'killed');
});
