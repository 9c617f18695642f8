// The eleven programs print what they should, and stay short.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { folder, output, program, start } from './helpers.js';

const expected: Record<string, RegExp> = {
  '01-run': /^3 hi\na b-\$\(id\)\n$/,
  '02-lines': /^line 1\nline 2\nline 3\n4\n$/,
  '03-question': /^Name\?\nHello, Ada\n$/,
  '04-repl': /^42\n$/,
  '05-port': /^200\n$/,
  '06-kill': /^(.*: (SIGTERM|gone)\n)+(.*: SIGKILL\n?)+ 0\n$/,
  '07-shell': /^hello Ada 1 \/tmp\n$/,
  '08-vim': /^hello\nPNG\n$/,
  '09-secret': /^Password:\n7 letters: \*\*\*\n$/,
  '10-several': /^0\n1\nTimeoutError\n$/,
  '11-agent': new RegExp('^Name\\? {"stdout":"Hello, Ada\\\\n","stderr":"oops\\\\n","exitCode":3,"signal":null,"running":false,' +
    '"prompt":"","truncated":false,"timedOut":false,"job":1}\ntrue SIGINT 0\n$'),
};

const names = readdirSync(join(folder, 'examples')).filter((name) => name.endsWith('.ts')).map((name) => name.slice(0, -3));
assert.deepEqual(names.sort(), Object.keys(expected));

for (const [name, wanted] of Object.entries(expected)) {
  test(`examples/${name}.ts`, async () => {
    const { stdout, stderr, code } = await output(start(program(`examples/${name}.js`)));
    assert.match(stdout, wanted);
    assert.equal(stderr, '');
    assert.equal(code, 0);
    const lines = readFileSync(join(folder, 'examples', `${name}.ts`), 'utf8').split('\n').filter((line) => line !== '' && !line.startsWith('//'));
    assert.ok(lines.length <= (name === '11-agent' ? 21 : 7), `${lines.length} lines`);
  });
}
