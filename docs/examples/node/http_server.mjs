// Starts a web server, learns its port from its log, uses it, and ends it.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, serverCommand } from './client.mjs';

const listening = 'Serving HTTP on \\S+ port (?<port>\\d+) ';
const directory = await mkdtemp(join(tmpdir(), 'shelld-'));

try {
  await writeFile(join(directory, 'hello.txt'), 'Hello from a job\n');
  const shelld = await connect(serverCommand());

  console.log('Starting a web server on a free port, and watching its log for the number.');
  const matched = shelld.nextNotification('job/patternMatched');
  // A program that is only watched needs no terminal: in pipe mode stdout and stderr stay apart.
  await shelld.request('job/start', {
    name: 'web', mode: 'pipe', cwd: directory,
    argv: ['python3', '-u', '-m', 'http.server', '0', '--bind', '127.0.0.1'],
    watch: [{ pattern: listening, once: true }],
  });
  const page = `http://127.0.0.1:${(await matched).named.port}/hello.txt`;

  console.log(`Asking it for ${page}`);
  const response = await fetch(page);
  assert.equal(response.status, 200);
  assert.equal(await response.text(), 'Hello from a job\n');

  console.log('Waiting for the line in its access log.');
  // A wait looks at what no earlier wait has returned, so a line that is there already counts too.
  const { outcome } = await shelld.request('job/wait', {
    handle: 'web',
    until: [{ pattern: '"GET /hello\\.txt HTTP/1\\.[01]" (\\d+)', stream: 'stderr' }],
  });
  assert.equal(outcome.reason, 'pattern');
  assert.deepEqual(outcome.match.groups, ['200']);

  console.log('Ending it.');
  const closed = shelld.nextNotification('job/closed');
  const report = await shelld.request('job/kill', { handle: 'web' });
  // SIGTERM was enough. (The SIGCONT beside it is for jobs that are stopped.)
  assert.deepEqual(report.signals.map((s) => s.signal), ['SIGTERM', 'SIGCONT']);
  assert.deepEqual(report.killed.map((p) => p.how), ['SIGTERM']);
  assert.deepEqual(report.survivors, []);
  assert.equal(report.job.status, 'closed');
  assert.equal(report.job.exit.reason, 'killed');
  await closed; // always a job's last

  await assert.rejects(fetch(page), (error) => error.cause.code === 'ECONNREFUSED');
  console.log('Nothing listens there any more.');

  await shelld.close();
  console.log('The server ended with status 0.');
} finally {
  await rm(directory, { recursive: true });
}
