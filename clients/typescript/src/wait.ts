import type { Condition, Exit, InputKind, JobState, Outcome, OutcomeReason, OutcomeScreen, ShellCommand, Wait, WaitingForInput } from './protocol.js';

/** A condition of the protocol, where a pattern may be a RegExp; or a RegExp alone. */
export type Until = RegExp | Condition | (Omit<Extract<Condition, { pattern: string }>, 'pattern' | 'flags'> & { pattern: RegExp });

export interface WaitOptions {
  /** How long to wait; null: for ever. Default 30 s. The answer's reason is then timeout. */
  timeoutMs?: number | null;
  /** Withdraws the request. */
  signal?: AbortSignal | undefined;
  /** Whether the answer has the screen in place of the output. */
  screen?: boolean;
  /** From where output counts. Default: the output that no wait has returned yet; of answer() the output after the line. */
  from?: Wait['from'];
  /** How many bytes of output the answer has at most. Default 16384. */
  maxBytes?: number;
}

export interface QuestionOptions extends WaitOptions {
  /** The kinds of input that count. Default: all; with the callback `secret` all but `password`. */
  kinds?: readonly InputKind[];
}

/** The outcome of a wait. */
export interface Answer {
  /** Which condition held: exit, pattern, input, port …; or timeout, portInUse, patternFailed. */
  reason: OutcomeReason;
  /** The index of the condition; null if none of them ended the wait. */
  index: number | null;
  /** The job's output meanwhile, without escape sequences and the echo of typed input. */
  text: string;
  /** The same of stdout alone; on a terminal all of it. */
  stdout: string;
  /** The same of stderr alone; on a terminal ''. */
  stderr: string;
  /** Whether a stream lacks its middle: each keeps `maxBytes`, head and tail, with a line that says how much is missing. */
  truncated: boolean;
  /** Whether the wait's own limit ended it; the job runs on. */
  timedOut: boolean;
  /** The prompt of the program, if it waits for input; else ''. */
  prompt: string;
  /** The wait for input, if there is one. */
  question: WaitingForInput | undefined;
  /** How the job ended, if it has. */
  exit: Exit | undefined;
  /** null: it has not ended, or a signal ended it. */
  exitCode: number | null;
  /** The signal that ended it; null: it has not ended, or has an exit code. */
  signal: string | null;
  /** Whether it has not ended. */
  running: boolean;
  /** With the condition `command`, that of exec(): how it ended. */
  command: ShellCommand | undefined;
  /** The match of a pattern or a port. */
  match: Outcome['match'];
  /** The rows of the screen, with the option screen. */
  screen: OutcomeScreen | undefined;
  job: JobState;
}

/** The wait of a request. */
export function waitParams(until: Until | readonly Until[], options: WaitOptions): Wait {
  const { timeoutMs, screen, from, maxBytes } = options;
  return {
    until: conditions(until),
    stripEcho: true,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(screen && { format: 'screen' as const }),
    ...(from !== undefined && { from }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
}

function conditions(until: Until | readonly Until[]): Condition[] {
  const list = Array.isArray(until) ? until as readonly Until[] : [until as Until];
  return list.map((one) => {
    if (one instanceof RegExp) return pattern(one);
    return (one.pattern instanceof RegExp ? { ...one, ...pattern(one.pattern) } : one) as Condition;
  });
}

/** The flags g, y, d and v have no meaning for the server. */
export function pattern({ source, flags }: RegExp): Extract<Condition, { pattern: string }> {
  return { pattern: source, flags: flags.replace(/[^imsu]/g, '') };
}

export function answerOf(outcome: Outcome): Answer {
  const { reason, index, match, screen, output, job, command } = outcome;
  const question = job.waitingForInput?.waiting ? job.waitingForInput : undefined;
  return {
    reason, index, match, screen, job, question, command,
    text: Object.values(output).map((stream) => stream?.text ?? '').join(''),
    stdout: output.pty?.text ?? output.stdout?.text ?? '',
    stderr: output.stderr?.text ?? '',
    truncated: Object.values(output).some((stream) => stream?.truncated),
    timedOut: reason === 'timeout',
    prompt: question?.prompt ?? '',
    exit: job.exit,
    exitCode: job.exit?.code ?? null,
    signal: job.exit?.signal ?? null,
    running: job.exit === undefined,
  };
}
