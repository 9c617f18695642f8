// Each workflow of the seeds, through the official TypeScript SDK's client:
// node workflows.mjs SHELLD-MCP. Stops at the first that fails.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const server = process.argv[2];

// A host with one server, whose person says yes to everything and whose project is a directory
// of its own.
class Host {
  static async start(...flags) {
    const h = new Host();
    h.dir = mkdtempSync(join(tmpdir(), 'shelld-mcp-'));
    h.asked = [];
    h.client = new Client({ name: 'workflows', version: '1' }, { capabilities: { elicitation: {} } });
    h.client.setRequestHandler(ElicitRequestSchema, async (request) => {
      h.asked.push(request.params.message);
      return { action: 'accept', content: { decision: 'once' } };
    });
    await h.client.connect(new StdioClientTransport({ command: server, args: flags, cwd: h.dir, stderr: 'inherit' }));
    await h.client.listTools(); // So that the client checks what comes against the schemas.
    return h;
  }

  async end() {
    await this.client.close();
    rmSync(this.dir, { recursive: true });
  }

  write(name, text) { writeFileSync(join(this.dir, name), text); }

  read(name) { return readFileSync(join(this.dir, name), 'utf8'); }

  // call calls a tool that has to succeed.
  async call(name, args = {}) {
    const result = await this.client.callTool({ name, arguments: args });
    const text = result.content.map((c) => c.text ?? '').join('');
    assert.ok(!result.isError, `${name} ${JSON.stringify(args)}: ${text}`);
    return { text, ...result.structuredContent };
  }
}

const workflows = {
  // "Edit config.txt using ed line editor"
  async ed(h) {
    const prompt = { ai_callback_pattern: 'ED> ' };
    h.write('config.txt', 'one\ntwo\nold\nfour\nfive\n');
    const { handle, text } = await h.call('run_shell_command', { command: "ed -p 'ED> ' config.txt", ...prompt });
    assert.match(text, /^Handle: \d+\nPID: \d+\n/);
    assert.match((await h.call('send_input', { handle, input: '1,5p', ...prompt })).text, /old/);
    await h.call('send_input', { handle, input: '3s/old/new/', ...prompt });
    await h.call('send_input', { handle, input: 'a', ai_callback_delay: 0.1 });
    await h.call('send_input', { handle, input: 'Hello, world!\n.', ...prompt });
    await h.call('send_input', { handle, input: 'w', ...prompt });
    assert.equal((await h.call('send_input', { handle, input: 'q' })).exitCode, 0);
    assert.equal(h.read('config.txt'), 'one\ntwo\nnew\nHello, world!\nfour\nfive\n');
  },

  // "Calculate fibonacci(10) in Python"
  async python(h) {
    const prompt = { ai_callback_pattern: '>>> ' };
    const { handle } = await h.call('run_shell_command', { command: 'python3 -q', ...prompt });
    await h.call('send_input', { handle, input: 'fib = lambda n: n if n <= 1 else fib(n-1) + fib(n-2)', ...prompt });
    assert.match((await h.call('send_input', { handle, input: 'print(fib(10))', ...prompt })).output, /^55$/m);
    assert.equal((await h.call('send_input', { handle, input: 'exit()' })).running, false);
  },

  async gdb(h) {
    h.write('prog.c', 'int twice(int n) { return 2 * n; }\nint main(void) { return twice(21) - 42; }\n');
    const built = await h.call('CliRun', { command: 'gcc -g -O0 -o prog prog.c', timeout: 300 });
    assert.equal(built.status, 'success', built.text);
    const prompt = { ai_callback_pattern: '\\(gdb\\) $' };
    const { handle, output } = await h.call('run_shell_command', { command: 'gdb -q -nx ./prog', ...prompt, pattern_timeout: 300 });
    assert.match(output, /\(gdb\)/);
    await h.call('send_input', { handle, input: 'set disable-randomization off', ...prompt }); // Containers forbid it.
    await h.call('send_input', { handle, input: 'break twice', ...prompt });
    const shown = (await h.call('send_input', { handle, input: 'list twice', ...prompt })).output;
    assert.match(shown, /return 2 \* n/);
    await h.call('send_input', { handle, input: 'info breakpoints', ...prompt });
    assert.equal((await h.call('send_input', { handle, input: 'quit' })).running, false);
  },

  // "Start a dev server, run tests, then clean up"
  async devServer(h) {
    h.write('server.mjs', "import { createServer } from 'node:http';\n" +
      "const s = createServer((_, r) => r.end('hello')).listen(0, '127.0.0.1', () => console.log(`listening on ${s.address().port}`));\n");
    const started = await h.call('run_shell_command', { command: 'node server.mjs', ai_callback_pattern: 'listening on \\d+\\s', pattern_timeout: 300 });
    const port = /listening on (\d+)/.exec(started.output)[1];
    const tests = await h.call('run_shell_command', { command: `curl -s http://127.0.0.1:${port}/ || node -e 'fetch("http://127.0.0.1:${port}/").then((r) => r.text()).then(console.log)'`, wait_for_output_seconds: 300 });
    assert.match(tests.output, /hello/);
    assert.match((await h.call('jobs')).text, /Command: node server\.mjs\nDuration: \d+s\nStatus: running/);
    assert.equal((await h.call('kill', { handle: started.handle })).text, `Process ${started.handle} terminated successfully.`);
    assert.match(h.asked.at(-1), /^Confirm Process Termination\n\nTerminate process \d+\?/);
    assert.equal((await h.call('jobs')).text, 'No running background processes.');
  },

  // The manual tests of the interactive shell: a question, and Ctrl+C.
  async readPrompt(h) {
    const { handle, pid } = await h.call('run_shell_command', {
      command: 'read -p "Enter your name: " name && echo "Hello, $name"', ai_callback_pattern: 'name: $',
    });
    assert.match((await h.call('read_shell', { pid })).text, /^Enter your name:$/);
    const typed = await h.call('write_to_shell', { pid, input: 'Ada', special_keys: ['Enter'] });
    assert.match(typed.text, /^Input sent/);
    assert.match(typed.screen, /^Enter your name: Ada$/m); // The answer may come behind it.
    const greeted = await untilExit(h, handle);
    assert.match(greeted.output, /^Hello, Ada$/m);
    assert.equal(greeted.exitCode, 0);
    const sleeper = await h.call('run_shell_command', { command: 'exec sleep 1000', is_background: true });
    await h.call('write_to_shell', { pid: sleeper.pid, special_keys: ['Ctrl-C'] });
    assert.equal((await untilExit(h, sleeper.handle)).signal, 'SIGINT'); // kill would hide whether it came.
  },

  // "Validate Text Edits with Linting", and the error recovery workflow.
  async lintLoop(h) {
    await h.call('CliGetPlatform');
    h.write('file.js', 'const a = ;\n');
    const check = { command: 'node --check file.js', timeout: 300 };
    const broken = await h.call('CliRun', check);
    assert.equal(broken.status, 'error');
    assert.match(broken.stderr, /file\.js:1/);
    h.write('file.js', 'const a = 1;\n');
    const mended = await h.call('CliRun', check);
    assert.equal(mended.exitCode, 0);
  },

  // "Interactive Debugging Session": CliSession command="node --inspect-brk app.js"; node's debugger
  // in the terminal is that with its client.
  async debuggerSession(h) {
    h.write('app.js', 'let a = 1;\na += 41;\nconsole.log("answer", a);\n');
    const { sessionId, initialOutput } = await h.call('CliSession', { command: 'node inspect --port=0 app.js' });
    await untilOutput(h, sessionId, /debug> $/, initialOutput);
    for (const [input, shows] of [['n', /> 2 a \+= 41/], ['n', /> 3 console/], ["exec('a')", /^42$/m]]) {
      const { responseOutput } = await h.call('CliWrite', { sessionId, input: `${input}{enter}` });
      await untilOutput(h, sessionId, shows, responseOutput);
    }
    assert.equal((await h.call('CliStop', { sessionId, force: true })).status, 'stopped');
  },

  // "Build and Deploy Workflow": a build that CliRun gives up, polled in a session.
  async longBuild(h) {
    h.write('build.sh', 'for i in 1 2 3 4; do echo "step $i"; sleep 0.4; done; echo built\n');
    const gaveUp = await h.call('CliRun', { command: 'sh build.sh; sleep 1000', timeout: 3 });
    assert.equal(gaveUp.status, 'timeout');
    assert.match(gaveUp.stdout, /step 1/);
    assert.match(gaveUp.suggestion, /CliSession/);
    const { sessionId, initialOutput } = await h.call('CliSession', { command: 'sh build.sh' });
    let all = initialOutput;
    for (let running = true; running;) {
      const read = await h.call('CliRead', { sessionId });
      all += read.output;
      running = read.isRunning || read.hasMore;
    }
    assert.equal(all, 'step 1\nstep 2\nstep 3\nstep 4\nbuilt\n');
  },

  // "Environment-Specific Configuration"
  async environment(h) {
    assert.equal((await h.call('CliEnv', { action: 'get', name: 'NODE_ENV' })).source, 'none');
    await h.call('CliEnv', { action: 'set', name: 'NODE_ENV', value: 'test' });
    assert.equal((await h.call('CliEnv', { action: 'get', name: 'NODE_ENV' })).value, 'test');
    assert.match((await h.call('CliRun', { command: 'echo "[$NODE_ENV]"' })).stdout, /\[test\]/);
    assert.ok((await h.call('CliEnv', { action: 'list' })).count > 1);
    await h.call('CliEnv', { action: 'unset', name: 'NODE_ENV' });
    assert.match((await h.call('CliRun', { command: 'echo "[$NODE_ENV]"' })).stdout, /\[\]/);
  },

  // "File Discovery Pattern", and "Batch File Transformation".
  async fileDiscovery(h) {
    mkdirSync(join(h.dir, 'docs'));
    for (const name of ['a.md', 'docs/b.md', 'c.txt']) h.write(name, '# title\n');
    const found = (await h.call('CliRun', { command: "find . -name '*.md' -type f | sort" })).stdout.trim().split('\n');
    assert.deepEqual(found, ['./a.md', './docs/b.md']);
    for (const name of found) await h.call('execute_bash_command', { command: `sed -i 's/title/Title/' ${name}`, description: 'capitalise' });
    assert.match(h.asked.at(-1), /^Confirm Shell Command/);
    assert.match((await h.call('CliRun', { command: 'cat a.md docs/b.md c.txt' })).stdout, /^# Title\n# Title\n# title$/m);
  },

  // The compact set, with the first of these.
  async compact(h) {
    const r = await h.call('shell', { command: "ed -p 'ED> ' new.txt", input: 'a\nHello, world!\n.\nw\nq', wait: 'exit' });
    assert.equal(r.exitCode, 0, r.text);
    assert.equal(h.read('new.txt'), 'Hello, world!\n');
    const asks = await h.call('shell', { command: 'read -p "Sure? " x; echo "<$x>"' });
    assert.equal(asks.question, 'Sure?');
    assert.match((await h.call('shell', { job: String(asks.job), input: 'yes' })).text, /<yes>/);
    const resource = await h.client.readResource({ uri: `shelld://job/${asks.job}/stdout` });
    assert.match(resource.contents[0].text, /Sure\? yes/);
  },
};

// untilExit waits for the end of a job, and returns what is new of it by then.
async function untilExit(h, handle) {
  const ended = await h.call('shell', { job: String(handle), wait: 'exit', timeout_seconds: 300 });
  assert.equal(ended.status, 'ended', ended.text);
  return ended;
}

// untilOutput reads a session until what came of it matches.
async function untilOutput(h, sessionId, pattern, output) {
  while (!pattern.test(output)) {
    const read = await h.call('CliRead', { sessionId });
    output += read.output;
    assert.ok(read.isRunning, `the session ended with: ${output}`);
  }
}

for (const [name, workflow] of Object.entries(workflows)) {
  const h = await Host.start('-tools', 'all', '-structured');
  await workflow(h);
  await h.end();
  console.log(`ok ${name}`);
}
