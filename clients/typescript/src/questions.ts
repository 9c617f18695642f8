import { RequestError } from './errors.js';
import type { Condition, Outcome } from './protocol.js';

/** JSON-RPC's code for inputNotExpected. */
const inputNotExpected = -32023;

/** What the callers of a job know of its program's waits for input: an answer reaches only the question that was reported last. */
export class Questions {
  #guarded = false; // a question was asked for, or answered
  #waiting: string | undefined; // the wait that was reported last, and has no answer

  /** The waitId that an answer is for; undefined: any, since no question was asked for yet. */
  next(handle: number): string | undefined {
    if (this.#guarded && this.#waiting === undefined) {
      const message = 'the last answer has no question, and nothing was typed: call question() first, or use write() to type ahead';
      throw new RequestError('job/write', { code: inputNotExpected, message, data: { kind: 'inputNotExpected', handle } });
    }
    this.#guarded = true;
    return this.#waiting;
  }

  answered(): void {
    this.#waiting = undefined;
  }

  /** Takes the question of an outcome. Without one, an older question stays: if it is over, the server refuses its answer. */
  note(outcome: Outcome, until: readonly Condition[] = []): Outcome {
    const { reason, job: { exit, waitingForInput } } = outcome;
    if (exit) {
      this.#guarded = false; // the server refuses all input, and says why
      this.#waiting = undefined;
    } else if (reason === 'input' && waitingForInput?.waitId !== undefined) {
      this.#guarded = true;
      this.#waiting = waitingForInput.waitId;
    } else if (until.some((condition) => 'input' in condition)) {
      this.#guarded = true;
    }
    return outcome;
  }
}
