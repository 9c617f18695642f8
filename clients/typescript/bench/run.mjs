// The time of run(['true']) against that of Node's own spawn, in one run, alternately: node bench/run.mjs
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'shelld';

const rounds = 300;
const shelld = await connect({ options: { persist: { mode: 'memory' } } });

async function spawned() {
  const child = spawn('true', [], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.resume();
  child.stderr.resume();
  await once(child, 'close');
}

async function timed(call) {
  const begun = performance.now();
  await call();
  return performance.now() - begun;
}

const times = { shelld: [], spawn: [] };
for (let round = 0; round < rounds + 20; round++) {
  const one = await timed(() => shelld.run(['true']));
  const other = await timed(spawned);
  if (round < 20) continue; // warming up
  times.shelld.push(one);
  times.spawn.push(other);
}
await shelld.close();

const p50 = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const [run, own] = [p50(times.shelld), p50(times.spawn)];
console.log(`run(['true']) ${run.toFixed(2)} ms, spawn('true') ${own.toFixed(2)} ms, p50 of ${rounds}: ratio ${(run / own).toFixed(2)}`);
