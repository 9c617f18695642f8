// What the tests share. The server is the one that $SHELLD names.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect, type ConnectOptions, type Job, type Shelld } from 'shelld';

export const folder = fileURLToPath(new URL('../../', import.meta.url));

/** A directory that goes with the test. */
export function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'shelld-test-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A client that goes with the test. It keeps no files. */
export async function client(t: TestContext, options: ConnectOptions = {}): Promise<Shelld> {
  const shelld = await connect({ ...options, options: { persist: { mode: 'memory' }, ...options.options } });
  t.after(() => shelld.close());
  return shelld;
}

/** The arguments that make this runtime run a program. */
export function runtime(path: string, ...args: string[]): [string, string[]] {
  return [process.execPath, [...('Deno' in globalThis ? ['run', '-A'] : []), path, ...args]];
}

export function program(name: string): string {
  return join(folder, 'build', name);
}

/** How to connect to a server that misbehaves: see fake.ts. */
export function fake(way: string): ConnectOptions {
  const [path, args] = runtime(program('test/fake.js'), way);
  return { path, args };
}

/** Runs a program of this package, and returns what it wrote and how it ended. */
export async function output(child: ChildProcess): Promise<{ stdout: string; stderr: string; code: number | null; signal: string | null }> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => { stdout += text; });
  child.stderr?.setEncoding('utf8').on('data', (text) => { stderr += text; });
  const [code, signal] = await once(child, 'close');
  return { stdout, stderr, code, signal };
}

export function start(path: string, ...args: string[]): ChildProcess {
  const [command, all] = runtime(path, ...args);
  return spawn(command, all, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/**
 * A named pipe that processes hold open for writing: `gone` resolves when the last of them has ended, as the
 * kernel reports by the end of the stream. A job holds it after `exec 9>PATH`.
 */
export class Holders {
  readonly path: string;
  readonly gone: Promise<void>;

  constructor(t: TestContext) {
    this.path = join(directory(t), 'fifo');
    execFileSync('mkfifo', [this.path]);
    this.gone = this.#wait();
    // If no job has opened it, the thread that waits for one is released.
    t.after(() => { try { closeSync(openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK)); } catch { /* nothing waits */ } });
  }

  async #wait(): Promise<void> {
    const file = await open(this.path, 'r'); // returns when one writes
    try {
      const buffer = Buffer.alloc(1024);
      while ((await file.read(buffer)).bytesRead > 0);
    } finally {
      await file.close();
    }
  }
}

/** Resolves when the job waits for its reader. */
export async function held(shelld: Shelld, job: Job): Promise<number> {
  for (;;) {
    const { perJob } = await shelld.request('server/stats');
    const stream = perJob.find(({ handle }) => handle === job.handle)?.streams['stdout'];
    if (stream?.held) return stream.nextOffset;
  }
}

/** Throws if a promise takes longer than anything here should: a test that hangs says nothing. */
export async function soon<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} takes too long`)), 60_000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
