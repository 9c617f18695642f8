// Output that a client is slow to take: how much of a stream may be sent ahead of what was
// acknowledged, and what becomes of the rest (whenSlow).

// A Flow is one stream's way to a client that acknowledges.
export class Flow {
  constructor(offset) {
    this.acked = offset;
    this.gaps = []; // [from, to) told behind acked: there is nothing of them to acknowledge
  }

  told(gap) { this.gaps.push([gap.from, gap.to]); }

  // ack takes what was said, but for what was said before; what was not sent is of an earlier beginning.
  ack(offset, sent) {
    if (offset > sent) return;
    this.acked = Math.max(this.acked, offset);
    this.gaps = this.gaps.filter(([, to]) => to > this.acked);
  }

  room(sent, window) {
    const gaps = this.gaps.reduce((n, [from, to]) => n + to - Math.max(from, this.acked), 0);
    return Math.max(0, window - (sent - this.acked - gaps));
  }
}

// newestFrom is where a client goes on that is more than a window behind, and wants the newest.
export function newestFrom(spool, from, window, chunkMax) {
  if (spool.end - from <= window) return from;
  const at = Math.max(from, spool.end - Math.min(chunkMax, window >> 1));
  const { offset, bytes } = spool.read(at, chunkMax);
  const line = bytes.indexOf(10) + 1;
  if (line > 0 && line < bytes.length) return offset + line;
  let skip = 0;
  while (skip < 3 && (bytes[skip] & 0xc0) === 0x80) skip++;
  return offset + skip;
}

// heldBack says whether a stream's programs are to wait: it is a window ahead of what was
// sent, or what is surely kept in memory would not do.
export const heldBack = (spool, sent, window) => spool.end - sent >= Math.min(window, spool.tailMax >> 1);
