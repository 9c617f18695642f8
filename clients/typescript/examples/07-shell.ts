// Keeps a shell that remembers its directory and variables, with an exit code for each command.
import { connect } from 'shelld';
await using shelld = await connect();
await using shell = await shelld.shell('bash');
await shell.exec('cd /tmp && export WHO=Ada');
const { output, exitCode, cwd } = await shell.exec('echo "hello $WHO"; false');
console.log(output.trim(), exitCode, cwd);
