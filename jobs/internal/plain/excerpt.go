package plain

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"shelld.dev/shelld/jobs/internal/spool"
)

// An answer quotes output that may be as long as its file. The memory for it is bounded by the length of the quote:
// a range that is not much longer is read as a whole, any other in a window at each end.
const (
	// foldBytes is the longest range that is made plain as a whole: output that was redrawn many times may be long
	// and its plain text short.
	foldBytes = 4 << 20
	// windowSpare is the room of a window beyond the limit, since it is cut to whole lines and characters.
	windowSpare = 64 << 10
)

// An excerpt is a part of a stream, as it is read for an answer.
type excerpt struct {
	spool *spool.Spool
	r     spans
	plain bool
	limit int
}

// Excerpt returns r without the ranges in skip, which ascend and lie in r, plain or as it was written, cut to limit
// bytes as [Clip] does. If bytes of r are no longer kept, the cut is there. It reads all of r if it has to count
// omitted lines, and needs no more memory than the windows.
func Excerpt(s *spool.Spool, r spool.Range, skip []spool.Range, plain bool, limit int) ([]byte, *Truncated) {
	if r.From >= r.To {
		return nil, nil
	}
	e := excerpt{s, without(r, skip), plain, limit}
	window := int64(limit) + windowSpare
	if plain {
		window = max(window, foldBytes/2)
	}
	if all := e.r.len(); all <= 2*window {
		if b := e.head(all); int64(len(b)) == all {
			return Clip(e.fold(b), limit)
		}
	}
	return e.ends(window)
}

// spans are ascending ranges that are shown as one. A position in them counts only their bytes.
type spans []spool.Range

// without returns r without the ranges in skip, which may reach beyond r.
func without(r spool.Range, skip []spool.Range) (s spans) {
	for _, part := range skip {
		if from := min(part.From, r.To); from > r.From {
			s = append(s, spool.Range{From: r.From, To: from})
		}
		r.From = max(r.From, min(part.To, r.To))
	}
	return append(s, r)
}

func (s spans) len() (n int64) {
	for _, r := range s {
		n += r.To - r.From
	}
	return n
}

// part returns the spans between two positions.
func (s spans) part(from, to int64) (p spans) {
	at := int64(0) // the position of r.From
	for _, r := range s {
		n := r.To - r.From
		if a, b := max(from-at, 0), min(to-at, n); a < b {
			p = append(p, spool.Range{From: r.From + a, To: r.From + b})
		}
		at += n
	}
	return p
}

func (e *excerpt) fold(b []byte) []byte {
	if e.plain {
		return []byte(Text(b))
	}
	return b
}

// ends returns the excerpt of a range that is too long or has gaps. It makes head and tail plain separately, the tail
// from the beginning of a line, since the window may begin inside an escape sequence.
func (e *excerpt) ends(window int64) ([]byte, *Truncated) {
	all := e.r.len()
	head := e.head(window)
	tail := e.tail(max(int64(len(head)), all-window))
	if int64(len(head)+len(tail)) == all { // what was unreadable before is readable now
		return Clip(e.fold(append(head, tail...)), e.limit)
	}
	head, tail = head[:lastLine(head)], tail[firstLine(tail):]
	gap := e.r.part(int64(len(head)), all-int64(len(tail)))
	head, tail = e.fold(head), e.fold(tail)
	from, to := len(head), 0
	if len(head)+len(tail) > e.limit {
		if room := max(e.limit/2, e.limit-len(tail)); room < len(head) {
			from = headEnd(head, room)
		}
		if room := e.limit - from; room < len(tail) {
			to = tailStart(tail, len(tail)-room)
		}
	}
	nl := []byte{'\n'}
	tr := &Truncated{
		HeadBytes:    int64(from),
		TailBytes:    int64(len(tail) - to),
		OmittedBytes: int64(len(head)-from) + gap.len() + int64(to),
		OmittedLines: int64(bytes.Count(head[from:], nl)+bytes.Count(tail[:to], nl)) + e.lines(gap),
	}
	return append(head[:from:from], tail[to:]...), tr
}

// head reads the first bytes, up to the first gap.
func (e *excerpt) head(window int64) (head []byte) {
	for _, r := range e.r.part(0, window) {
		b, gaps := e.spool.ReadRange(r.From, r.To)
		if len(gaps) > 0 {
			b = b[:gaps[0].From-r.From]
		}
		if head == nil {
			head = b // usually all of it: no copy
		} else {
			head = append(head, b...)
		}
		if int64(len(b)) < r.To-r.From {
			break
		}
	}
	return head
}

// tail reads the bytes behind a position that follow the last gap.
func (e *excerpt) tail(from int64) (tail []byte) {
	for _, r := range slices.Backward(e.r.part(from, e.r.len())) {
		b, gaps := e.spool.ReadRange(r.From, r.To)
		kept := r
		if n := len(gaps); n > 0 {
			kept.From = gaps[n-1].To
		}
		b = b[max(int64(len(b))-(kept.To-kept.From), 0):]
		if tail = slices.Concat(b, tail); int64(len(b)) < r.To-r.From {
			break
		}
	}
	return tail
}

// lines counts the line ends in the kept bytes of all.
func (e *excerpt) lines(all spans) (lines int64) {
	buf := make([]byte, 256<<10)
	for _, r := range all {
		for r.From < r.To {
			n, at := e.spool.Read(buf[:min(int64(len(buf)), r.To-r.From)], r.From)
			if n == 0 || at >= r.To {
				break
			}
			lines += int64(bytes.Count(buf[:min(int64(n), r.To-at)], []byte{'\n'}))
			r.From = at + int64(n)
		}
	}
	return lines
}

// lastLine returns where the last complete line of b ends, or its last complete character if it has no line end.
// Something is omitted behind it.
func lastLine(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return WholeRunes(b)
}

// firstLine returns where the first complete line of b begins, or its first complete character if there is no line
// end. Something is omitted before it.
func firstLine(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i+1 < len(b) {
		return i + 1
	}
	n := 0
	for n < len(b) && n < utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}

// Truncated describes what [Clip] or [Excerpt] omitted.
type Truncated struct {
	HeadBytes, TailBytes, OmittedBytes int64
	OmittedLines                       int64
}

// Clip shortens b to max bytes: it keeps the beginning and the end, half of the room each, cut behind a line end if the
// half has one, and never inside a UTF-8 character. It returns them joined, with nil if nothing was omitted.
func Clip(b []byte, max int) ([]byte, *Truncated) {
	if len(b) <= max {
		return b, nil
	}
	head, tail := headEnd(b, max/2), tailStart(b, len(b)-(max-max/2))
	out := make([]byte, 0, max)
	out = append(append(out, b[:head]...), b[tail:]...)
	return out, &Truncated{
		HeadBytes:    int64(head),
		TailBytes:    int64(len(b) - tail),
		OmittedBytes: int64(tail - head),
		OmittedLines: int64(bytes.Count(b[head:tail], []byte{'\n'})),
	}
}

func headEnd(b []byte, n int) int {
	if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
		return i + 1
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

func tailStart(b []byte, n int) int {
	if i := bytes.IndexByte(b[n:], '\n'); i >= 0 && n+i+1 < len(b) {
		return n + i + 1
	}
	for n < len(b) && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}
