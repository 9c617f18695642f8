// The workflows of the seeds through the MCP inspector's command line: node inspector.mjs
// SHELLD-MCP. The inspector starts a server for each call and ends it afterwards, so a workflow
// is one call here: where it has several steps, one of the compact set's shell, which starts,
// types and waits. Stops at the first that fails.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const server = process.argv[2];
const inspector = join(dirname(fileURLToPath(import.meta.url)), 'node_modules', '.bin', 'mcp-inspector-cli');
const dir = mkdtempSync(join(tmpdir(), 'shelld-mcp-'));

// inspect has the inspector do one thing, and returns what it prints.
function inspect(...args) {
  // It looks at nobody's terminal; a person is not asked, since it cannot.
  return JSON.parse(execFileSync(inspector, ['--cli', server, '-tools', 'all', '-unasked', 'allow', ...args],
    { cwd: dir, encoding: 'utf8', timeout: 300_000, stdio: ['ignore', 'pipe', 'inherit'] }));
}

function call(tool, args) {
  const pairs = Object.entries(args).flatMap(([k, v]) => ['--tool-arg', `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`]);
  const result = inspect('--method', 'tools/call', '--tool-name', tool, ...pairs);
  const text = result.content.map((c) => c.text ?? '').join('');
  assert.ok(!result.isError, `${tool}: ${text}`);
  return text;
}

writeFileSync(join(dir, 'config.txt'), 'one\nold\n');
writeFileSync(join(dir, 'broken.js'), 'const a = ;\n');
writeFileSync(join(dir, 'app.js'), 'let a = 1;\na += 41;\nconsole.log(a);\n');
writeFileSync(join(dir, 'prog.c'), 'int main(void) { return 0; }\n');
writeFileSync(join(dir, 'server.mjs'), "import { createServer } from 'node:http';\ncreateServer(() => {}).listen(0, '127.0.0.1', () => console.log('up'));\n");

const tools = inspect('--method', 'tools/list').tools.map((t) => t.name);
assert.equal(tools.length, 18, tools.join(' '));
assert.equal(inspect('--method', 'resources/templates/list').resourceTemplates.length, 5);
console.log('ok lists');

for (const [name, tool, args, want] of [
  ['ed', 'shell', { command: "ed -p 'ED> ' config.txt; cat config.txt", input: '2s/old/new/\nw\nq', wait: 'exit' }, /one\nnew\n$/],
  ['python', 'shell', { command: 'python3 -q', input: "print(6 * 7)\nexit()", wait: 'exit' }, /^42$/m],
  ['gdb', 'shell', { command: 'gcc -g -o prog prog.c && gdb -q -nx ./prog', input: 'info line main\nquit', wait: 'exit', timeout_seconds: 250 }, /prog\.c/],
  ['dev server', 'shell', { command: 'node server.mjs', port: 0, wait: 'none', timeout_seconds: 250 }, /port\]\n/],
  ['read -p', 'shell', { command: 'read -p "Enter your name: " name && echo "Hello, $name"', input: 'Ada' , wait: 'exit' }, /Hello, Ada/],
  ['lint', 'CliRun', { command: 'node --check broken.js', timeout: 250 }, /"status": "error"[^]*broken\.js:1/],
  ['debugger', 'shell', { command: 'node inspect --port=0 app.js', pattern: 'debug> $', timeout_seconds: 250 }, /Break on start/],
  ['long build', 'CliRun', { command: 'echo step 1; sleep 1000', timeout: 3 }, /"status": "timeout"[^]*step 1[^]*CliSession/],
  ['environment', 'CliEnv', { action: 'get', name: 'HOME' }, /"source": "global"/],
  ['file discovery', 'execute_bash_command', { command: "find . -name '*.js' | sort" }, /Stdout: \.\/app\.js\n\.\/broken\.js\n/],
]) {
  assert.match(call(tool, args), want, name);
  console.log(`ok ${name}`);
}
rmSync(dir, { recursive: true });
