// Ends without closing its client. The argument names what it does before.
import { connect } from 'shelld';

const shelld = await connect();
const ways: Record<string, () => Promise<unknown>> = {
  run: () => shelld.run('true'),
  job: async () => (await shelld.start(`exec 9>${process.argv[3]}; echo up; sleep 1000`)).wait(/up/),
  reader: async () => {
    const job = await shelld.start('echo up; sleep 1000');
    job.events(['stateChanged']);
    return job.lines().next();
  },
  // All that follow have to be waited for.
  exit: async () => (await shelld.start('sleep 0.3')).exit,
  closed: async () => (await shelld.start('sleep 0.3 & exit 0')).closed,
  lines: async () => { for await (const _ of (await shelld.start('sleep 0.3; echo late')).lines()); },
  events: async () => { for await (const _ of (await shelld.start('sleep 0.3')).events(['stateChanged'])); },
  all: () => { const next = shelld.events().next(); return shelld.start('sleep 0.3').then(() => next); },
};
await ways[process.argv[2]!]!();
console.log('done');
