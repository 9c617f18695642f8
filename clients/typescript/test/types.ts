// Compiled and never run: what the types allow, and what they forbid.
import { RequestError, type Event, type Job, type Shelld } from 'shelld';

export async function allowed(shelld: Shelld, job: Job, event: Event, error: unknown): Promise<void> {
  await shelld.run('x', { env: { A: null }, cwd: '/', stdin: { text: 'in' }, limits: { processes: 5 } });
  await shelld.request('server/stats');
  await job.wait([/x/, { pattern: /y/, on: 'screen' }, { port: 0 }, { input: { kinds: ['password'] } }, { exit: true }]);
  const lines: string[] = (await job.screen()).lines;
  if (error instanceof RequestError && error.data.kind === 'commandNotFound') lines.push(...error.data.suggestions ?? []);
  // A chunk has text or bytes: where one is absent, the other is there.
  if (event.method === 'job/output' && event.params.text === undefined) lines.push(event.params.base64);
}

export function forbidden(shelld: Shelld, job: Job): void {
  // @ts-expect-error there is no such member
  void shelld.run('x', { cmd: 1 });
  // @ts-expect-error one of the two
  void shelld.request('job/run', { command: 'x', argv: ['x'] });
  // @ts-expect-error params are required
  void shelld.request('job/get');
  // @ts-expect-error there is no such method
  void shelld.request('job/begin', {});
  // @ts-expect-error exactly one kind of condition
  void job.wait({ exit: true, port: 1 });
  // @ts-expect-error flags go with a pattern
  void job.wait({ port: 1, flags: 'i' });
  // @ts-expect-error output comes by output() and lines()
  void shelld.start('x', { events: ['output'] });
}
