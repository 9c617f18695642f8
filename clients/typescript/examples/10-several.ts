// Runs several commands at once, with a time limit that ends what still runs, and all that it has started.
import { connect } from 'shelld';
await using shelld = await connect();
const signal = AbortSignal.timeout(1000);
const results = await Promise.allSettled(['true', 'false', 'sleep 100'].map((command) => shelld.run(command, { signal })));
for (const one of results) console.log(one.status === 'fulfilled' ? one.value.exitCode : one.reason.name);
