/** The callbacks of a signal. One listener serves all, since Node warns of more than ten on one signal. */
interface Shared {
  callbacks: Set<() => void>;
  listener: () => void;
}

const shared = new WeakMap<AbortSignal, Shared>();

/** Calls back once when a signal aborts, unless the returned function was called before. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (!signal) return () => {};
  const { callbacks, listener } = shared.get(signal) ?? share(signal);
  if (callbacks.size === 0) signal.addEventListener('abort', listener, { once: true });
  callbacks.add(callback);
  return () => {
    if (callbacks.delete(callback) && callbacks.size === 0) signal.removeEventListener('abort', listener);
  };
}

function share(signal: AbortSignal): Shared {
  const callbacks = new Set<() => void>();
  const one = { callbacks, listener: () => { for (const callback of [...callbacks]) callback(); } };
  shared.set(signal, one);
  return one;
}
