// Compiled and never run: the declarations in a project with stricter options, and without the types of Node.
import { connect, type ExecResult, type StartOptions } from 'shelld';

const options: StartOptions = { whenSlow: 'block', mode: 'pipe' };
export async function program(signal: AbortSignal | undefined): Promise<ExecResult> {
  await using shelld = await connect({ env: { A: 'b' } });
  await shelld.request('job/list', {}, { signal });
  await shelld.start('true', options);
  return (await shelld.shell()).exec('true', { timeoutMs: 1000 });
}
