// Errors of the protocol: a kind, its code, a sentence for people, and data.

const codes = {
  parseError: -32700, invalidRequest: -32600, methodNotFound: -32601, invalidParams: -32602,
  internalError: -32603, canceled: -32800, notInitialized: -32002,
};
// Ours are numbered downwards from -32010, in this order.
const own = ['jobNotFound', 'jobExited', 'jobRunning', 'nameInUse', 'commandNotFound', 'permissionDenied',
  'badWorkingDirectory', 'directoryNotAllowed', 'resourceUnavailable', 'invalidPattern', 'invalidKey',
  'lineTooLong', 'inputQueueFull', 'inputNotExpected', 'confirmationDenied', 'policyDenied', 'limitExceeded',
  'ptyUnavailable', 'notInteractive', 'shellBusy', 'shellIntegrationUnavailable', 'outputFileError',
  'unsupported', 'unsupportedVersion', 'shuttingDown'];
own.forEach((kind, i) => { codes[kind] = -32010 - i; });

export class ProtocolError extends Error {
  constructor(kind, message, data = {}) {
    super(message);
    this.kind = kind;
    this.data = data;
  }

  // wire is the error member of an answer.
  wire() {
    return { code: codes[this.kind], message: this.message, data: { kind: this.kind, ...this.data } };
  }
}

export const fail = (kind, message, data) => { throw new ProtocolError(kind, message, data); };

// badParam is invalidParams for one member.
export const badParam = (pointer, message, more = {}) =>
  new ProtocolError('invalidParams', `${pointer || 'params'}: ${message}`, { errors: [{ pointer, message, ...more }] });

// nearest returns those of names that look like word, the nearest first.
export function nearest(word, names, most = 3) {
  const limit = Math.max(1, Math.floor(word.length / 3));
  return [...new Set(names)].map((name) => [distance(word, name), name])
    .filter(([d]) => d <= limit).sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
    .slice(0, most).map(([, name]) => name);
}

// distance counts insertions, deletions, exchanges, and two neighbours that changed places.
function distance(a, b) {
  if (Math.abs(a.length - b.length) > 4) return Infinity;
  let before, row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + same);
      if (before && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length];
}
