// Has real agents use shelld-mcp with a scripted model, and looks at what the model was sent:
// node run.mjs SHELLD-MCP HOST MODULES... with the node_modules in which each host is. Linux alone, since
// it looks for processes that are left in /proc.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hosts } from './hosts.mjs';
import { Model } from './model.mjs';

// The bound is for a host that hangs: each takes 5 to 20 s.
const limit = 240_000;

const numbers = Array.from({ length: 3000 }, (_, i) => `${i + 1}\n`).join('');

// Each step is a call, and what of its result has to reach the model: text exactly, or as a
// pattern, and the number of pictures.
const script = [
  { tool: 'shell', args: { command: `seq 1 5; printf 'a\\tb "q" <&>\\n'`, wait: 'exit' }, text: '[job 1, ended, exit code 0]\n1\n2\n3\n4\n5\na\tb "q" <&>\n' },
  { tool: 'shell', args: { command: 'seq 1 3000', wait: 'exit' }, text: `[job 2, ended, exit code 0]\n${numbers}` },
  { tool: 'shell', args: { command: "printf '\\033[31mred\\033[0m\\n'; exec cat", screen: 'picture' }, text: '[job 3, running, waiting for input]\nred', pictures: 1 },
  { tool: 'shell', args: { command: 'read -p "Your name? " n; echo "Hello, $n."' }, text: /^\[job 4, running, waiting for input: Your name\?\]\nYour name\?/ },
  { tool: 'shell', args: { job: '4', input: 'Ada', wait: 'exit' }, text: /^\[job 4, ended, exit code 0\]\n[^]*Hello, Ada\.\n$/ },
  { tool: 'shell_end', args: { job: '3' }, text: '[job 3, ended] It was ended, with SIGTERM.\nred' },
  { tool: 'shell', args: { comand: 'true' }, text: /did you mean "command"/, misfit: true },
  { tool: 'shell', args: { command: 'exec sleep 100000', name: 'left', wait: 'none' }, text: /^\[job 5, running, / }, // The host's end has to end it.
  { tool: 'shell_jobs', args: {}, text: /^\[job 5, name left, running, pid \d+, \d+ s\] exec sleep 100000$/ },
];

// What a host does to a result on its way to the model: see docs/mcp.md. unwrap takes off what it adds;
// misfit is what it says of wrong parameters in place of the server, and pictures how many it lets through.
const known = {
  claude: { unwrap: inside(/^([^]*?)(?:\[Image: source: [^\n]*\.png\])?(?:\n<system-reminder>\n<total_tokens>[^]*<\/system-reminder>)?$/) },
  codex: { unwrap: inside(/^Wall time: [\d.]+ seconds\nOutput:([^]*)$/) },
  // It takes the scripted model for one that sees no pictures.
  copilot: { pictures: 0 },
  gemini: {
    unwrap: inside(/^<untrusted_context>\n([^]*)\n<\/untrusted_context>(?:\n\[Tool 'shell' provided the following image data with mime-type: image\/png\])?$/),
    misfit: /params must NOT have additional properties/,
  },
};

function inside(pattern) { return (text) => pattern.exec(text)?.[1] ?? text; }

async function drive(name, server, modules) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'shelld-hosts-')));
  const [home, project] = ['home', 'project'].map((d) => join(base, d));
  [home, project].forEach((d) => mkdirSync(d));
  const model = new Model(script);
  await model.start();
  const began = Date.now();
  const h = hosts[name]({ home, project, model, modules, server: { command: server, args: ['-state-dir', join(base, 'state')] } });
  const child = spawn(h.command, h.args, {
    cwd: project, detached: true, stdio: [h.talk ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH, HOME: home, TERM: 'dumb', LANG: 'C.UTF-8', TMPDIR: base,
      // What is not for loopback comes to the model, which refuses it.
      HTTP_PROXY: model.url, HTTPS_PROXY: model.url, http_proxy: model.url, https_proxy: model.url, NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1',
      ...h.env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (d) => { output += d; });
  const ended = new Promise((resolve, reject) => child.on('error', reject).on('close', (code, signal) => resolve(signal ?? code)));
  const timer = setTimeout(() => kill(-child.pid), limit);
  try {
    if (h.talk) await Promise.race([h.talk(child), ended.then((status) => { throw new Error(`it ended with ${status}`); })]);
    const status = await ended;
    assert.equal(status, 0, `it ended with ${status}`);
    const seconds = (Date.now() - began) / 1000;
    check(name, model);
    await nothingLeft(base);
    report(name, model, seconds);
  } catch (err) {
    console.error(`--- ${name}: ${model.problems.join('\n')}\n${output.slice(-8000)}`);
    throw err;
  } finally {
    clearTimeout(timer);
    kill(-child.pid);
    await model.stop();
    for (const pid of left(base)) kill(pid); // Where the check has failed.
    rmSync(base, { recursive: true, force: true, maxRetries: 10 });
  }
}

function check(name, model) {
  assert.deepEqual(model.problems, []);
  assert.deepEqual(model.tools.map((t) => t.name.replace(/^.*[-.]|^.*shelld_+/, '')).sort(), ['shell', 'shell_end', 'shell_jobs', 'shell_output']);
  assert.ok(model.instructions, 'the instructions did not reach the model');
  assert.equal(model.results.length, script.length);
  const { unwrap = (text) => text, misfit, pictures } = known[name.split('-')[0]] ?? {};
  script.forEach((step, i) => {
    const { text, images } = model.results[i];
    const got = unwrap(text);
    const what = `step ${i + 1}, ${step.tool} ${JSON.stringify(step.args)}`;
    const want = (step.misfit && misfit) || step.text;
    if (typeof want === 'string') assert.equal(got, want, what);
    else assert.match(got, want, what);
    assert.equal(images.length, pictures ?? step.pictures ?? 0, `${what}: pictures`);
    for (const image of images) assert.equal(Buffer.from(image, 'base64').toString('latin1', 0, 8), '\x89PNG\r\n\x1a\n', what);
  });
}

// left are the processes that have the directory as theirs, or its name in their environment: the host's, the server's and
// those of the commands that were started.
function left(base) {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid).map(Number).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(base) || readFileSync(`/proc/${pid}/environ`, 'latin1').includes(base);
    } catch {
      return false; // It has ended, or is another user's.
    }
  });
}

// nothingLeft waits until the host's end has ended everything.
async function nothingLeft(base) {
  const until = Date.now() + 60_000;
  for (let pids = left(base); pids.length > 0; pids = left(base)) {
    if (Date.now() > until) {
      assert.fail(`left behind: ${pids.map((p) => { try { return `${p} ${readFileSync(`/proc/${p}/cmdline`, 'utf8').replaceAll('\0', ' ')}`; } catch { return p; } }).join('; ')}`);
    }
    await sleep(50);
  }
}

function kill(pid) {
  try { process.kill(pid, 'SIGKILL'); } catch { /* It has ended. */ }
}

function report(name, model, seconds) {
  const tools = model.tools.reduce((n, t) => n + JSON.stringify(t.json).length, 0);
  const results = model.results.map((r) => Buffer.byteLength(r.text));
  console.log(`ok ${name}: ${seconds.toFixed(1)} s, tools ${tools} bytes, results ${results.join(' ')}${model.outside.size ? `; asked for and refused: ${[...model.outside].join(' ')}` : ''}`);
}

const [server, ...pairs] = process.argv.slice(2);
for (let i = 0; i < pairs.length; i += 2) await drive(pairs[i], realpathSync(server), realpathSync(pairs[i + 1]));
