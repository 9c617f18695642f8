// Reads the output of a job on a terminal line by line, as it comes.
import { connect } from 'shelld';
await using shelld = await connect();
await using job = await shelld.start('for i in 1 2 3; do echo line $i; done; exit 4');
for await (const line of job.lines()) console.log(line);
console.log((await job.exit).code);
