// An agent's shell tool: a call begins a command, answers its question, or waits on for it.
import { connect, type Job } from 'shelld';
await using shelld = await connect();
const jobs = new Map<number, Job>();
type Call = { command?: string; job?: number; input?: string; terminal?: boolean; timeoutMs?: number };
async function shellTool({ command, input, terminal, timeoutMs = 30_000, ...call }: Call) {
  const job = command === undefined ? jobs.get(call.job!) : await shelld.start(command, terminal ? {} : { mode: 'pipe', stdin: 'open' });
  if (!job) throw new Error(`there is no job ${call.job}: begin a command`);
  jobs.set(job.handle, job);
  const options = { timeoutMs, from: 'unread' as const }; // from where the last call's output ended
  const { stdout, stderr, exit, exitCode, prompt, truncated, timedOut } = await (input === undefined ? job.question(options) : job.answer(input, options));
  if (exit) jobs.delete(job.handle);
  return { stdout, stderr, exitCode, prompt, truncated, timedOut, job: job.handle };
}
const { prompt, job } = await shellTool({ command: 'printf "Name? "; read n; echo "Hello, $n"; echo oops >&2; exit 3' });
console.log(prompt, JSON.stringify(await shellTool({ job, input: 'Ada' })));
