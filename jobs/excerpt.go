package jobs

import (
	"bytes"
	"unicode/utf8"
)

// An answer quotes output that may be as long as its file. What is read of it at once
// is bounded by what is shown: the whole of a range that is not much longer, and else
// a window at either end.
const (
	// foldBytes is the most that is folded as a whole: a long range that was redrawn
	// again and again may be short when it is plain.
	foldBytes = 4 << 20
	// windowSpare is what a window has beside what is shown of it, for what is cut to
	// whole lines and characters.
	windowSpare = 64 << 10
)

// An excerpt is a range of a stream on its way into an answer.
type excerpt struct {
	st    *stream
	r     Range
	plain bool
	limit int
}

// Excerpt returns a range of a stream as it is shown: plain or as it was written, and
// at most limit bytes of it, of which more are cut as [Clip] does. Where bytes are
// gone, the cut is there. It takes as long as reading all of it where lines that are
// left out have to be counted, and no more memory than the windows.
func (j *Job) Excerpt(name Stream, r Range, plain bool, limit int) ([]byte, *Truncated) {
	st := j.stream(name)
	if st == nil || r.From >= r.To {
		return nil, nil
	}
	e := excerpt{st, r, plain, limit}
	window := int64(limit) + windowSpare
	if plain {
		window = max(window, foldBytes/2)
	}
	if r.To-r.From <= 2*window {
		if b, gaps := st.spool.ReadRange(r.From, r.To); gaps == nil && int64(len(b)) == r.To-r.From {
			return Clip(e.fold(b), limit)
		}
	}
	return e.ends(window)
}

func (e *excerpt) fold(b []byte) []byte {
	if e.plain {
		return []byte(Plain(b))
	}
	return b
}

// ends returns the excerpt of a range that is too long, or has gaps. Head and tail are
// folded each by itself, the tail from a line's beginning on, since where a window
// begins an escape sequence may be cut.
func (e *excerpt) ends(window int64) ([]byte, *Truncated) {
	head := e.head(window)
	tail := e.tail(window, e.r.From+int64(len(head)))
	if int64(len(head)+len(tail)) == e.r.To-e.r.From { // what could not be read came back
		return Clip(e.fold(append(head, tail...)), e.limit)
	}
	head, tail = head[:lastLine(head)], tail[firstLine(tail):]
	gap := Range{e.r.From + int64(len(head)), e.r.To - int64(len(tail))}
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
		OmittedBytes: int64(len(head)-from) + gap.To - gap.From + int64(to),
		OmittedLines: int64(bytes.Count(head[from:], nl)+bytes.Count(tail[:to], nl)) + e.lines(gap),
	}
	return append(head[:from:from], tail[to:]...), tr
}

// head reads the first bytes, up to the first that is gone.
func (e *excerpt) head(window int64) []byte {
	b, gaps := e.st.spool.ReadRange(e.r.From, min(e.r.From+window, e.r.To))
	if len(gaps) > 0 {
		b = b[:gaps[0].From-e.r.From]
	}
	return b
}

// tail reads the last bytes behind from, back to the last that is gone.
func (e *excerpt) tail(window, from int64) []byte {
	from = max(from, e.r.To-window)
	b, gaps := e.st.spool.ReadRange(from, e.r.To)
	if n := len(gaps); n > 0 {
		from = gaps[n-1].To
	}
	return b[max(int64(len(b))-(e.r.To-from), 0):]
}

// lines counts the line ends of a range that are stored.
func (e *excerpt) lines(r Range) (lines int64) {
	buf := make([]byte, 256<<10)
	for r.From < r.To {
		n, at := e.st.spool.Read(buf[:min(int64(len(buf)), r.To-r.From)], r.From)
		if n == 0 || at >= r.To {
			break
		}
		lines += int64(bytes.Count(buf[:min(int64(n), r.To-at)], []byte{'\n'}))
		r.From = at + int64(n)
	}
	return lines
}

// lastLine returns where the last whole line of b ends, behind which something is
// left out, or else its last whole character.
func lastLine(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return wholeRunes(b)
}

// firstLine returns where the first whole line of b begins, before which something is
// left out, or else its first whole character.
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
