import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { connect, type Event, type ShelldError } from 'shelld';
import { client, directory, Holders, soon } from './helpers.js';

test('wait tells which fact held', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('echo one; read x; echo "two 22"; read y; exit 5');
  const first = await job.wait([/three/, { input: true }]);
  assert.deepEqual([first.reason, first.index, first.text], ['input', 1, 'one\n']);
  const second = await job.answer('x', { until: [{ pattern: /TWO (\d+)/i }] });
  assert.deepEqual([second.reason, second.match?.groups], ['pattern', ['22']]);
  assert.equal((await job.wait(/never/, { timeoutMs: 0 })).reason, 'timeout');
  await job.question();
  const last = await job.answer('y', { until: { exit: true } });
  assert.deepEqual([last.reason, last.exit?.code], ['exit', 5]);
  assert.equal((await job.exit).code, 5);
  await job.closed;
});

test('an answer has the streams apart, the exit code, and whether output or time ran out', async (t) => {
  const shelld = await client(t);
  const all = 'seq 2000; echo err >&2; read x; seq 3; exit 7';
  await using piped = await shelld.start(all, { mode: 'pipe', stdin: 'open' });
  await using terminal = await shelld.start(all);
  for (const [job, stderr] of [[piped, 'err\n'], [terminal, '']] as const) {
    await job.question({ maxBytes: 0 });
    const asks = await job.question({ from: job === piped ? { stdout: 0, stderr: 0 } : 0, maxBytes: 1000 });
    assert.match(asks.stdout, /^1\n2\n[^]*left out[^]*\n2000\n/);
    assert.deepEqual([asks.stderr, asks.exitCode, asks.timedOut, asks.truncated], [stderr, null, false, true]);
    const late = await job.wait({ exit: true }, { timeoutMs: 0 });
    assert.deepEqual([late.stdout, late.stderr, late.exitCode, late.timedOut, late.truncated], ['', '', null, true, false]);
    const { stdout, stderr: rest, exitCode, timedOut, truncated } = await job.answer('');
    assert.deepEqual([stdout, rest, exitCode, timedOut, truncated], ['1\n2\n3\n', '', 7, false, false]);
  }
});

test('answer: a question that is over is not answered', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('read -p "first " a; read -p "second " b; echo "$a $b"');
  const { question } = await job.question();
  await job.answer('1', { ifWaiting: question!.waitId! });
  await assert.rejects(job.answer('1', { ifWaiting: question!.waitId! }), ({ kind }: ShelldError) => kind === 'inputNotExpected');
  assert.equal((await job.answer('2')).text.trim(), '1 2');
});

test('answer: a question that nobody has seen is not answered', async (t) => {
  const shelld = await client(t);
  const cwd = directory(t);
  await using job = await shelld.start('read -p "one? " a; until [ -s go ]; do sleep 0.01; done; read -p "two? " b; read -p "three? " c; echo "$a,$b,$c"', { cwd });
  const refused = () => assert.rejects(job.answer('never seen', { timeoutMs: 0 }), (error: ShelldError) => {
    assert.equal(error.kind, 'inputNotExpected');
    assert.match(error.message, /^job\/write: .*call question\(\) first, or use write\(\)/);
    return true;
  });
  assert.ok((await job.answer('1', { timeoutMs: 50 })).timedOut); // the first one needs no question
  await refused();
  writeFileSync(join(cwd, 'go'), 'go');
  await shelld.request('job/wait', { handle: job.handle, until: [{ input: true }] }); // not by the job
  await refused();
  await job.write('2\n');
  assert.equal((await job.question()).prompt, 'three?');
  assert.ok((await job.wait({ exit: true }, { timeoutMs: 0 })).timedOut); // the question was seen before it
  assert.equal((await job.answer('3')).text, '1,2,3\n');
  await assert.rejects(job.answer('4'), ({ kind }: ShelldError) => kind === 'jobExited');
});

test('a command that was ended is not ok, also with exit code 0', async (t) => {
  const shelld = await client(t);
  const { exitCode, ok } = await shelld.run("trap 'exit 0' TERM; while :; do sleep 0.01; done", { killAfterMs: 200 });
  assert.deepEqual([exitCode, ok], [0, false]);
  await assert.rejects(shelld.run("trap 'exit 0' TERM; while :; do sleep 0.01; done", { killAfterMs: 200, check: true }), /ended with exit code 0, since it was ended: timeout/);
  await using shell = await shelld.shell();
  await shell.exec('true', { check: true }); // the shell has begun
  const late = "(trap 'exit 0' INT; while :; do sleep 0.01; done)";
  await assert.rejects(shell.exec(late, { timeoutMs: 2000, check: true }), /ended with exit code 0, since it was ended: timeout/);
});

test('keys, pastes and signals', async (t) => {
  const shelld = await client(t);
  await using cat = await shelld.start(['cat', '-v']);
  await cat.question();
  await cat.write({ send: [{ text: 'a' }, { key: 'Up' }, { paste: 'p' }, { key: 'Enter' }] });
  assert.equal((await cat.wait(/a\^\[\[Ap\r?\n/)).reason, 'pattern');
  await cat.press('Ctrl-C');
  assert.deepEqual(await cat.exit, { code: null, signal: 'SIGINT', coreDumped: false, reason: 'signaled' });
  await using sleep = await shelld.start(['sleep', '1000']);
  await sleep.signal('USR1', 'leader');
  assert.equal((await sleep.exit).signal, 'SIGUSR1');
});

test('a shell remembers, and checks its commands if asked', async (t) => {
  const shelld = await client(t);
  await using shell = await shelld.shell();
  await shell.exec('cd / && f() { echo "f in $PWD"; }');
  assert.deepEqual([(await shell.exec('f')).output, (await shell.exec('false')).exitCode], ['f in /\n', 1]);
  await assert.rejects(shell.exec('false', { check: true }), /false ended with exit code 1/);
  const late = await shell.exec('sleep 1000', { timeoutMs: 100 });
  assert.deepEqual([late.finished, late.interrupted, late.timedOut, late.exitCode], [true, true, true, 130]);
});

test('exec says what became of the command', async (t) => {
  const shelld = await client(t);
  await using shell = await shelld.shell();
  await shell.exec('true'); // the shell has begun
  const busy = shell.exec('(echo begun; exec sleep 1000)');
  await shell.wait(/^begun/m);
  const late = await shell.exec('touch never', { timeoutMs: 50 });
  assert.deepEqual([late.ran, late.finished, late.timedOut, late.exitCode], [false, true, true, null]);
  await shell.interrupt();
  const stopped = await busy;
  assert.deepEqual([stopped.ran, stopped.finished, stopped.interrupted, stopped.timedOut, stopped.exitCode], [true, true, false, false, 130]);
  const cut = await shell.exec('seq 1000', { maxBytes: 100 });
  assert.ok(cut.truncated && cut.output.length < 200);
  assert.deepEqual([cut.ran, cut.interrupted, cut.timedOut, cut.question], [true, false, false, undefined]);
  const last = await shell.exec('exit 4');
  assert.deepEqual([last.finished, last.exitCode], [true, 4]);
});

test('exec: a command that asks is answered, and goes on', async (t) => {
  const shelld = await client(t);
  await using shell = await shelld.shell();
  const asks = await shell.exec('read -p "a? " a; read -p "b? " b; echo "$a $b"; (exit 6)', { input: true, check: true });
  assert.deepEqual([asks.finished, asks.exitCode, asks.question?.prompt], [false, null, 'a?']);
  const again = await shell.answer('1');
  assert.deepEqual([again.reason, again.prompt, again.command], ['input', 'b?', undefined]);
  const done = await shell.answer('2');
  assert.deepEqual([done.reason, done.command?.commandId, done.command?.exitCode], ['command', asks.commandId, 6]);
  assert.match(done.text, /^1 2\n/);
  await assert.rejects(shell.answer('3'), ({ kind }: ShelldError) => kind === 'inputNotExpected'); // not into the prompt
});

test('interrupt on a terminal and on pipes; an answer has the signal', async (t) => {
  const shelld = await client(t);
  for (const mode of ['pty', 'pipe'] as const) {
    await using job = await shelld.start('exec sleep 1000', { mode });
    const before = await job.wait({ exit: true }, { timeoutMs: 0 });
    assert.deepEqual([before.running, before.signal], [true, null]);
    await job.interrupt();
    const after = await job.wait({ exit: true });
    assert.deepEqual([after.running, after.signal, after.exitCode], [false, 'SIGINT', null]);
  }
});

test('search finds patterns and texts', async (t) => {
  const shelld = await client(t);
  const job = await shelld.start(`printf 'one.two\nONE 22\n'`, { mode: 'pipe' });
  await job.closed;
  const lines = async (what: RegExp | string) => (await job.search(what, { maxMatches: 5 })).matches.map(({ line, groups }) => [line, ...groups ?? []]);
  assert.deepEqual(await lines(/^one (\d+)$/i), [['ONE 22', '22']]);
  assert.deepEqual(await lines(/one/gi), [['one.two'], ['ONE 22']]);
  assert.deepEqual(await lines('e.t'), [['one.two']]);
});

test('run says what it has left running', async (t) => {
  const shelld = await client(t);
  assert.equal((await shelld.run('echo all')).background, false);
  const holders = new Holders(t);
  const left = await shelld.run(`exec 9>${holders.path}; sleep 1000 & echo begun`);
  assert.deepEqual([left.exitCode, left.stdout, left.background], [0, 'begun\n', true]);
  await shelld.request('job/kill', { handle: left.job });
  await soon(holders.gone, 'the end of what it left');
});

test('screen, picture and size', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('printf "top\\033[3;5Hthere"; read x', { cols: 20, rows: 4 });
  await job.question();
  assert.deepEqual((await job.screen()).lines, ['top', '', '    there', '']);
  const png = Buffer.from(await job.screenshot());
  assert.equal(png.toString('latin1', 1, 4), 'PNG');
  await job.resize(30, 5);
  const { cols, rows } = await job.screen({ format: 'cells' });
  assert.deepEqual([cols, rows], [30, 5]);
});

test('the end of a scope ends the job and all that it has started', async (t) => {
  const shelld = await client(t);
  const holders = new Holders(t);
  {
    await using job = await shelld.start(`exec 9>${holders.path}; setsid sleep 1000 & trap '' HUP TERM; echo up; sleep 1000; sleep 1000`);
    await job.wait(/up/);
  }
  await soon(holders.gone, 'the end of the processes');
});

test('kill reports who was ended how', async (t) => {
  const shelld = await client(t);
  const job = await shelld.start(['sleep', '1000']);
  const report = await job.kill();
  assert.deepEqual(report.killed, [{ pid: job.pid, command: 'sleep 1000', how: 'SIGTERM' }]);
  assert.deepEqual(report.survivors, []);
  await job[Symbol.asyncDispose](); // once more is no error
  await shelld.request('job/remove', { handle: job.handle });
  await job[Symbol.asyncDispose]();
});

test('the end of a job that is over before its start is answered', async (t) => {
  const shelld = await client(t);
  const jobs = await Promise.all(Array.from({ length: 50 }, () => shelld.start(['true'])));
  await soon(Promise.all(jobs.map(({ closed }) => closed)), 'the end');
  for (const { exit } of jobs) assert.equal((await exit).code, 0);
});

test('events of one job and of all', async (t) => {
  const shelld = await client(t);
  const all: Event[] = [];
  const over = new AbortController();
  const collecting = (async () => {
    for await (const event of shelld.events({ signal: over.signal })) all.push(event);
  })().catch(() => {});
  await using job = await shelld.start('read x; printf "\\033]0;titled\\007"; read y', { events: ['waitingForInput'] });
  await job.question();
  const titles: string[] = [];
  const reading = (async () => {
    for await (const event of job.events(['stateChanged'])) {
      if (event.method === 'job/stateChanged' && event.params.title) titles.push(event.params.title);
    }
  })();
  await job.answer('x');
  await job.answer('y');
  await reading; // ends with the job
  await job.closed;
  over.abort();
  await collecting;
  assert.deepEqual(titles, ['titled']);
  const methods = new Set(all.filter((event) => 'handle' in event.params && event.params.handle === job.handle).map(({ method }) => method));
  assert.deepEqual([...methods].sort(), ['job/closed', 'job/exited', 'job/stateChanged', 'job/waitingForInput']);
});

test('events() begins at the call, and queues wanted events alone', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('read x; printf "\\033]0;titled\\007"; read y; i=0; while [ $i -lt 300 ]; do echo $i; sleep 0; i=$((i+1)); done');
  const events = job.events(['stateChanged']); // not read yet
  await job.answer('', { until: { quietMs: 100 } });
  const lines = job.lines();
  await job.write('\n');
  for await (const line of lines) void line;
  await job.closed;
  const seen: Event[] = [];
  for await (const event of events) seen.push(event);
  assert.ok(seen.some((event) => event.method === 'job/stateChanged' && event.params.title === 'titled'));
  assert.deepEqual([...new Set(seen.map(({ method }) => method))], ['job/stateChanged']);
});

test('two calls of next() at once are both answered', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('read x');
  const events = shelld.events(); // exited and closed
  const both = Promise.all([events.next(), events.next()]);
  await job.answer('');
  assert.deepEqual((await soon(both, 'the events')).map(({ value }) => value?.method), ['job/exited', 'job/closed']);
});

test('the end of a scope is no error while the client closes', async () => {
  const shelld = await connect({ options: { persist: { mode: 'memory' } } });
  const job = await shelld.start(['sleep', '1000']);
  const closing = shelld.close();
  await job[Symbol.asyncDispose]();
  await closing;
  const other = await connect({ options: { persist: { mode: 'memory' } } });
  const second = await other.start(`trap '' TERM; echo up; while :; do sleep 1; done`);
  await second.wait(/up/);
  const shutdown = other.request('shutdown'); // not by close()
  await second[Symbol.asyncDispose]();
  await shutdown;
  await other.close();
});

test('run says whether its output is truncated', async (t) => {
  const shelld = await client(t);
  assert.equal((await shelld.run('echo all')).truncated, false);
  const cut = await shelld.run('seq 1000', { maxBytes: 1000 });
  assert.ok(cut.truncated && cut.raw.truncated?.stdout);
});

test('events can be asked for while output is read', async (t) => {
  const shelld = await client(t);
  await using job = await shelld.start('echo one; read x; printf "\\033]0;titled\\007two\\n"; read x; echo three');
  const lines = job.lines();
  assert.equal((await lines.next()).value, 'one');
  const events = job.events(['stateChanged']);
  const titled = events.next();
  await job.answer('', { until: /two/ });
  const event = (await titled).value!;
  assert.ok(event.method === 'job/stateChanged');
  await events.return();
  await job.question();
  await job.answer('');
  const rest: string[] = [];
  for await (const line of lines) rest.push(line);
  assert.deepEqual(rest, ['', 'two', '', 'three']);
});

test('a command that cannot be run is an error with suggestions', async (t) => {
  const shelld = await client(t);
  await assert.rejects(shelld.start(['no-such-program-here']), (error: ShelldError) => {
    assert.equal(error.kind, 'commandNotFound');
    assert.match(error.message, /^job\/start: there is no command "no-such-program-here"/);
    return true;
  });
  const job = await shelld.start('exec /etc/passwd');
  assert.equal((await job.exit).code, 126);
});
