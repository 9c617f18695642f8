// Records an editing session in vim, and has asciinema's player replay the recording.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, serverCommand } from './client.mjs';

// In a page the player is AsciinemaPlayer.create(url, element). Here is no page: this is the part
// of it that reads a recording and plays it, without what draws it.
const player = new URL('node_modules/asciinema-player/dist/', import.meta.url);
const [core] = (await readdir(player)).filter((name) => /^core-.*\.js$/.test(name));
const { C: Player } = await import(new URL(core, player));

/** Plays a recording a thousand times as fast, and resolves to what happened in it. */
async function replay(recording) {
  const quiet = () => {};
  const play = new Player(`data:application/x-asciicast;base64,${Buffer.from(recording).toString('base64')}`, {
    speed: 1000, logger: { log: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  const seen = [];
  for (const name of ['output', 'input', 'resize', 'marker']) {
    play.addEventListener(name, (data) => seen.push({ name, data }));
  }
  const ended = new Promise((resolve, reject) => {
    play.addEventListener('ended', resolve);
    play.addEventListener('error', reject);
  });
  play.terminalReady();
  await play.init();
  await play.play();
  await ended;
  await play.stop();
  return seen;
}

const directory = await mkdtemp(join(tmpdir(), 'shelld-'));

try {
  const shelld = await connect(serverCommand());
  const shows = (pattern) => ({ until: [{ pattern, on: 'screen' }] });
  const type = async (input, wait) => {
    const { outcome } = await shelld.request('job/write', { handle: 'editor', input, wait });
    assert.equal(outcome.index, 0, `the wait ended with ${outcome.reason}`);
  };

  console.log('Recording vim.');
  const { job, outcome } = await shelld.request('job/start', {
    argv: ['vim', '-n', '-u', 'NONE', join(directory, 'menu.txt')],
    name: 'editor', cols: 80, rows: 20, record: true, wait: shows('menu\\.txt'),
  });
  assert.equal(outcome.reason, 'pattern');
  await type('iCrème brûlée 5 €\x1b', shows('5 €'));
  await shelld.request('job/resize', { handle: 'editor', cols: 100, rows: 30 });
  await type(':set number\r', shows('1 Crème'));
  await type(':wq\r', { until: [{ closed: true }] });

  const recording = await readFile(join(job.outputDirectory, 'session.cast'), 'utf8');
  console.log(`The recording begins so:\n\n${recording.split('\n').slice(0, 2).join('\n').slice(0, 400)}…\n`);

  const seen = await replay(recording);
  const all = (name) => seen.filter((event) => event.name === name).map((event) => event.data);
  const shown = await readFile(join(job.outputDirectory, 'stdout.txt'), 'utf8');
  assert.equal(all('output').flat().join(''), shown, 'the player shows what the terminal was told');
  assert.equal(all('input').map(({ data }) => data).join(''), 'iCrème brûlée 5 €\x1b:set number\r:wq\r');
  assert.deepEqual(all('resize'), [{ cols: 100, rows: 30 }]);
  assert.deepEqual(all('marker'), []);
  assert.match(recording, /,"x","0"\]\n$/, 'the exit is last');
  console.log(`The player has replayed it: ${seen.length} events.`);

  await shelld.request('job/remove', { handle: job.handle });
  await shelld.close();
  console.log('The server ended with status 0.');
} finally {
  await rm(directory, { recursive: true });
}
