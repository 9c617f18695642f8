// Ends everything that a command has started: what has left its session, too, and what ignores TERM.
import { connect } from 'shelld';
await using shelld = await connect();
const job = await shelld.start('setsid sleep 1000 & (trap "" TERM; echo up; read -t 1000) & wait; wait');
await job.wait(/up/);
const { killed, survivors } = await job.kill({ graceMs: 300 });
console.log(killed.map(({ command, how }) => `${command}: ${how}`).join('\n'), survivors.length);
