import type { Condition, ExecTimeout, JobExecParams, JobExecResult, WaitingForInput } from './protocol.js';

export interface ExecOptions extends Omit<JobExecParams, 'handle' | 'command' | '_meta'> {
  /** Milliseconds until onTimeout applies; they include the time in line, and that of the shell's start-up files. Default: null, no limit. */
  timeoutMs?: number | null;
  /** The action at timeoutMs, and when the signal aborts. Default: interrupt. */
  onTimeout?: ExecTimeout;
  /** Whether a question of the command ends the call as well: see `question`. Default false. */
  input?: boolean;
  /** How many bytes of output the result has at most, head and tail. Default 16384. */
  maxBytes?: number;
  /** Whether an exit code other than 0, and the end of timeoutMs, is an ExitError. A question is none. */
  check?: boolean;
  /** Withdraws the command: one that runs is interrupted, unless onTimeout says otherwise. */
  signal?: AbortSignal | undefined;
}

/** How a command of a shell has ended, or why the call has. */
export interface ExecResult extends JobExecResult {
  /** That of the shell if it has ended with the command (`exit 4`). null: the command has not ended, or has none. */
  exitCode: number | null;
  /** Whether the command has begun. It has not if the time was over while the shell was busy or starting. */
  ran: boolean;
  /** Whether timeoutMs was over. */
  timedOut: boolean;
  /** Whether it was interrupted because timeoutMs was over. If it runs on all the same, `finished` is false. */
  interrupted: boolean;
  /** The question for which the call has ended, with the option input. answer() answers it, and the command goes on. */
  question: WaitingForInput | undefined;
}

/** The params of a command; `asks` is the condition of the option input. */
export function execParams({ input, maxBytes, wait, ...params }: Omit<ExecOptions, 'check' | 'signal'>, asks: Condition): Omit<JobExecParams, 'handle' | 'command'> {
  const until = [...wait?.until ?? [], ...(input ? [asks] : [])];
  return {
    timeoutMs: null, onTimeout: 'interrupt', ...params,
    wait: { ...wait, ...(until.length > 0 && { until }), ...(maxBytes !== undefined && { maxBytes }) },
  };
}

export function execResult(raw: JobExecResult): ExecResult {
  const { outcome: { reason, job: { exit, waitingForInput } }, range } = raw;
  const ran = range !== undefined;
  return {
    ...raw, ran,
    exitCode: raw.exitCode ?? (ran && exit?.reason === 'exited' ? exit.code : null),
    timedOut: reason === 'timeout',
    interrupted: raw.interrupted ?? false,
    question: reason === 'input' ? waitingForInput : undefined,
  };
}
