package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/plain"
	"shelld.dev/shelld/jobs/internal/spool"
)

// A Line is a line of stored output that has a match.
type Line struct {
	At      int64  // the offset of Text
	Number  int64  // counted from 1; 0: unknown, since earlier output is not kept
	Text    string // plain text; of a redrawn line, the state that matches
	Cut     bool   // the line may be longer than MaxLine, and Text is the part around the match
	Limited bool   // as in match.Match
}

// MaxLine is the approximate limit of the bytes returned of a line.
const MaxLine = 1 << 20

// Search calls tell once for each line on which the query has a match, in order. It calls gap for each range that is
// not kept, or that is no longer kept when it is read. It finds the same matches as job/search. It returns the error of
// tell if that fails, and stops if ctx is done.
func (o *Output) Search(ctx context.Context, query *match.Query, tell func(Line) error, gap func(spool.Range)) error {
	s := storedSearch{out: o, query: query.Places(), tell: tell, number: 1, block: make([]byte, outputRead)}
	for off := int64(0); off < o.NextOffset; {
		b, at, err := s.read(off)
		if err != nil {
			return err
		}
		if from := max(off, s.settled); at > from {
			gap(spool.Range{From: from, To: at})
			s.number = 0
		}
		off, err = s.search(ctx, b, at)
		if errors.Is(err, errLost) {
			// Matches that were found and not yet returned are searched for again in the output that is still kept.
			off, s.number, err = s.settled, 0, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A storedSearch searches ranges without a gap, one after the other.
type storedSearch struct {
	out   *Output
	query *match.Query
	tell  func(Line) error

	block  []byte // the block being searched
	window outputWindow

	// State of the present range:
	from    int64
	ends    []int64 // number of line ends before each block of outputRead bytes
	counted int64   // line ends are counted up to this offset
	before  int64   // number of line ends before counted
	settled int64   // lines were returned up to this offset
	atLine  bool    // a line begins at settled
	told    bool    // the line at counted was returned as well

	number int64 // number of the line at counted; 0: unknown
}

// errLost means that the server has overwritten output that had to be read again.
var errLost = errors.New("its server overwrote it")

// read reads a block. The first byte has offset at.
func (s *storedSearch) read(off int64) (b []byte, at int64, err error) {
	n, at, err := s.out.Read(s.block, off)
	if n == 0 {
		at = s.out.NextOffset
	}
	return s.block[:n], at, err
}

// search searches a range whose first block is b, and returns the end of the range.
func (s *storedSearch) search(ctx context.Context, b []byte, off int64) (end int64, err error) {
	var before []byte
	if s.atLine && off == s.settled {
		before = lineFeed // After an interrupted range, the search continues right behind a line that was returned.
	}
	s.from, s.counted, s.settled, s.atLine = off, off, off, before != nil
	s.ends, s.before, s.told = append(s.ends[:0], 0), 0, false
	s.window = outputWindow{out: s.out, from: off, text: s.window.text[:0]}
	run := s.query.Begin(off, before, off > 0 && before == nil, func() bool { return ctx.Err() != nil })
	for len(b) > 0 {
		s.window.block, s.window.blockAt = b, off
		s.ends = append(s.ends, s.ends[len(s.ends)-1]+int64(bytes.Count(b, lineFeed)))
		off += int64(len(b))
		s.window.to = off
		for len(b) > 0 {
			n, found, err := run.Step(b)
			if err := s.take(found, err); err != nil {
				return 0, err
			}
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			b = b[n:]
		}
		s.window.block = nil
		var at int64
		if b, at, err = s.read(off); err != nil {
			return 0, err
		}
		if at > off {
			break
		}
	}
	return off, s.take(run.End())
}

func (s *storedSearch) take(found []*match.Match, failed error) error {
	for _, m := range found {
		if err := s.match(m); err != nil {
			return err
		}
	}
	if failed != nil {
		return fmt.Errorf("%w; make the pattern simpler, or search for a literal text", failed)
	}
	return nil
}

// match returns all lines from the beginning of a match to its end, except a line that was already returned.
func (s *storedSearch) match(m *match.Match) error {
	behind, err := s.count(m.Start)
	if err != nil {
		return err
	}
	again := s.told && behind == 0
	// A line feed at the end of the match ends the last line. It does not begin another one.
	inside, err := s.count(m.End - 1)
	if err != nil {
		return err
	}
	if s.number > 0 {
		s.number += behind + inside
	}
	if s.told = true; again && inside == 0 {
		return nil
	}
	return s.lines(m, s.number-inside, again)
}

var lineFeed = []byte{'\n'}

// count returns the number of line ends between counted and an offset in the searched part. It rereads at most one
// block.
func (s *storedSearch) count(to int64) (more int64, err error) {
	from, before := s.counted, s.before
	if i := (to - s.from) / outputRead; s.from+i*outputRead > from {
		from, before = s.from+i*outputRead, s.ends[i]
	}
	b, err := s.window.read(from, to)
	if err != nil {
		return 0, err
	}
	before += int64(bytes.Count(b, lineFeed))
	more = before - s.before
	s.counted, s.before = to, before
	return more, nil
}

// lines returns the lines of a match. number is the number of the first one. If again is set, the first one is omitted.
func (s *storedSearch) lines(m *match.Match, number int64, again bool) error {
	from, headCut, err := s.window.lineStart(m.Start)
	if err != nil {
		return err
	}
	to, tailCut, err := s.window.lineEnd(m.End - 1)
	if err != nil {
		return err
	}
	settled, atLine := to, s.window.isLineEnd(to)
	if atLine {
		settled++
	}
	text, err := s.window.read(from, to)
	if err != nil {
		return err
	}
	s.settled, s.atLine = settled, atLine
	for i, at := 0, 0; ; i++ {
		end := bytes.IndexByte(text[at:], '\n') + at
		last := end < at
		if last {
			end = len(text)
		}
		line := Line{At: from + int64(at), Limited: m.Limited, Cut: i == 0 && headCut || last && tailCut}
		if number > 0 {
			line.Number = number + int64(i)
		}
		if i > 0 || !again {
			line.Text = shownLine(text[at:end], int(m.Start-from)-at, int(m.End-from)-at)
			if err := s.tell(line); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		at = end + 1
	}
}

// shownLine returns the state of a line that has the match in [from, to). A redrawn line has several states, separated
// by carriage returns.
func shownLine(line []byte, from, to int) string {
	line = bytes.TrimRight(line, "\r")
	if to >= 0 && to < len(line) {
		if i := bytes.IndexByte(line[to:], '\r'); i >= 0 {
			line = line[:to+i]
		}
	}
	if from > 0 {
		line = line[bytes.LastIndexByte(line[:min(from, len(line))], '\r')+1:]
	}
	return plain.ValidUTF8(string(new(match.Stripper).Append(nil, line)))
}

// windowRead is the number of bytes that an outputWindow reads at a time, unless more are requested.
const windowRead = 256 << 10

// An outputWindow gives access to a range of an Output. It keeps the block being searched and the last bytes read.
type outputWindow struct {
	out     *Output
	from    int64 // beginning of the range
	to      int64 // end of the part read so far
	blockAt int64 // offset of block
	block   []byte
	at      int64 // offset of text
	text    []byte
}

// view returns the bytes of a range up to the next gap, and their offset. They are valid until the next call of view.
func (w *outputWindow) view(from, to int64) (b []byte, at int64, err error) {
	if at := w.blockAt; from >= at && to <= at+int64(len(w.block)) {
		return w.block[from-at : to-at], from, nil
	}
	if at := w.at; from >= at && to <= at+int64(len(w.text)) {
		return w.text[from-at : to-at], from, nil
	}
	size := max(to-from, windowRead)
	if int64(cap(w.text)) < size {
		w.text = make([]byte, size)
	}
	n, at, err := w.out.Read(w.text[:size], from)
	w.at, w.text = at, w.text[:n]
	return w.text[:max(min(int64(n), to-at), 0)], at, err
}

// read is like view, but returns errLost if the range is no longer complete.
func (w *outputWindow) read(from, to int64) ([]byte, error) {
	if from >= to {
		return nil, nil
	}
	b, at, err := w.view(from, to)
	if err == nil && (at > from || int64(len(b)) < to-from) {
		err = errLost
	}
	return b, err
}

const nearLine = 4 << 10 // window that is searched first for the ends of a line

// lineStart returns the beginning of the line at an offset. If the line is too long, it returns the beginning of the
// part to return, and cut is set.
func (w *outputWindow) lineStart(off int64) (at int64, cut bool, err error) {
	for reach := int64(nearLine); ; reach = MaxLine / 2 {
		low := max(off-reach, w.from)
		if low == off {
			return off, false, nil
		}
		b, at, err := w.view(low, off)
		switch i := bytes.LastIndexByte(b, '\n'); {
		case err != nil:
			return 0, false, err
		case at+int64(len(b)) < off:
			return 0, false, errLost
		case i >= 0:
			return at + int64(i) + 1, false, nil
		case at > low:
			return 0, false, errLost
		case low == w.from:
			return low, false, nil
		case reach > nearLine:
			for len(b) > 0 && !utf8.RuneStart(b[0]) {
				b = b[1:]
			}
			return off - int64(len(b)), true, nil
		}
	}
}

// lineEnd returns the end of the line at an offset. If the line is too long, it returns the end of the part to return,
// and cut is set.
func (w *outputWindow) lineEnd(off int64) (at int64, cut bool, err error) {
	for reach := int64(nearLine); ; reach = MaxLine / 2 {
		b, at, err := w.view(off, min(off+reach, w.out.NextOffset))
		switch i := bytes.IndexByte(b, '\n'); {
		case err != nil:
			return 0, false, err
		case at > off:
			return 0, false, errLost
		case i >= 0:
			return off + int64(i), false, nil
		case int64(len(b)) < reach && off+int64(len(b)) < w.to:
			return 0, false, errLost
		case int64(len(b)) < reach:
			return off + int64(len(b)), false, nil // end of the output, or a gap
		case reach > nearLine:
			return off + int64(plain.WholeRunes(b)), true, nil
		}
	}
}

// isLineEnd reports whether the byte at an offset is a line feed.
func (w *outputWindow) isLineEnd(off int64) bool {
	b, at, err := w.view(off, off+1)
	return err == nil && at == off && len(b) == 1 && b[0] == '\n'
}
