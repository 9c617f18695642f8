// Runs a command, and a program with arguments that no shell sees.
import { connect } from 'shelld';
await using shelld = await connect();
const { exitCode, stdout } = await shelld.run('echo hi; exit 3');
console.log(exitCode, stdout.trim());
console.log(await shelld.$`printf %s-%s ${'a b'} ${'$(id)'}`);
