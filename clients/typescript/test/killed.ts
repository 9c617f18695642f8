// Starts a job that holds a pipe open, and waits to be killed.
import { connect } from 'shelld';
const shelld = await connect();
const job = await shelld.start(`exec 9>${process.argv[2]}; setsid sleep 1000 & trap '' HUP TERM; echo up; read x`);
await job.wait(/up/);
console.log('up');
await job.exit;
