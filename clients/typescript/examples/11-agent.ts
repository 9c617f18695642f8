// An agent's shell tool: a call begins a command, answers its question, waits on for it, or ends it.
import { connect, type Job } from 'shelld';
await using shelld = await connect({ options: { persist: { deleteOnExit: true } } });
const jobs = new Map<number, Job>();
type Call = { command?: string; job?: number; input?: string; end?: 'interrupt' | 'kill'; terminal?: boolean; timeoutMs?: number };
async function shellTool({ command, input, end, terminal, timeoutMs = 30_000, ...call }: Call, abort?: AbortSignal) {
  const place = terminal ? {} : { mode: 'pipe', stdin: 'open' } as const;
  const job = command === undefined ? jobs.get(call.job!) : await shelld.start(command, { ...place, signal: abort });
  if (!job) throw new Error(`there is no job ${call.job}: begin a command`);
  jobs.set(job.handle, job);
  if (end) await (end === 'kill' ? job.kill() : job.interrupt());
  const options = { timeoutMs, signal: abort, from: 'unread' as const }; // from where the last call's output ended
  const answer = await (input === undefined ? job.question(options) : job.answer(input, options));
  const { stdout, stderr, exitCode, signal, running, prompt, truncated, timedOut } = answer;
  if (!running) jobs.delete(job.handle);
  return { stdout, stderr, exitCode, signal, running, prompt, truncated, timedOut, job: job.handle };
}
const { prompt, job } = await shellTool({ command: 'printf "Name? "; read n; echo "Hello, $n"; echo oops >&2; exit 3' });
console.log(prompt, JSON.stringify(await shellTool({ job, input: 'Ada' })));
const slow = await shellTool({ command: 'exec sleep 100', timeoutMs: 100 });
console.log(slow.running, (await shellTool({ job: slow.job, end: 'interrupt' })).signal, jobs.size);
