import { onAbort } from './abort.js';
import { ShelldError } from './errors.js';
import type { Events } from './protocol.js';

export type EventMethod = Exclude<keyof Events, `$/${string}`>;

/** A notification of the server: its method tells the type of its params. */
export type Event = { [M in EventMethod]: { method: M; params: Events[M] } }[EventMethod];

/** A reader that is further behind would make this process grow without end. */
const maxBehind = 10_000;

/**
 * Makes an iterator of the events that a source pushes. The source is called at once, so that no event is
 * missed between the call and the first iteration; it returns a function that stops it. This process is held
 * alive while a call of next() waits: an iterator that nothing reads any more keeps no program from ending.
 */
export function eventsOf(
  hold: () => () => void,
  source: (push: (method: EventMethod, params: object) => void, end: (error?: unknown) => void) => () => void,
  signal?: AbortSignal,
): AsyncGenerator<Event, void, void> {
  const queue: Event[] = [];
  let over: { error?: unknown } | undefined;
  const waiting: (() => void)[] = []; // calls of next()
  const wake = () => { for (const one of waiting.splice(0)) one(); };
  let stopSource: (() => void) | undefined;
  const stop = () => {
    stopSource?.();
    stopSource = undefined;
    forget();
  };
  const end = (error?: unknown) => {
    if (over) return;
    over = { error };
    stop();
    wake();
  };
  let forget = () => {};
  stopSource = source((method, params) => {
    if (over) return;
    if (queue.length >= maxBehind) {
      return end(new ShelldError('eventsLost', `a reader of events is ${maxBehind} of them behind: read faster, or ask for fewer`));
    }
    queue.push({ method, params } as Event);
    wake();
  }, end);
  const abort = () => { queue.length = 0; end(signal!.reason); };
  forget = onAbort(signal, abort);
  if (signal?.aborted) abort();
  const next = async (): Promise<IteratorResult<Event, void>> => {
    const release = hold();
    while (queue.length === 0 && !over) await new Promise<void>((resolve) => waiting.push(resolve));
    release();
    const value = queue.shift();
    if (value) return { done: false, value };
    if (over?.error !== undefined) throw over.error;
    return { done: true, value: undefined };
  };
  const finish = async (): Promise<IteratorResult<Event, void>> => {
    end();
    queue.length = 0;
    return { done: true, value: undefined };
  };
  return {
    next,
    return: finish,
    throw: async (error) => { await finish(); throw error; },
    [Symbol.asyncIterator]() { return this; },
    async [Symbol.asyncDispose]() { await finish(); },
  };
}
