package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/plain"
	"shelld/jobs/internal/spool"
)

// A Line is a line of stored output on which there is a match.
type Line struct {
	At      int64  // offset at which it begins; where it is Cut, of what is told of it
	Number  int64  // from 1 on; 0: nobody knows, since something before it is not kept
	Text    string // plain; of a line that was redrawn the state in which it matches
	Cut     bool   // it may be longer than MaxLine: Text is what stands around the match
	Limited bool   // as in match.Match
}

// MaxLine is about how many bytes are told of a line.
const MaxLine = 1 << 20

// Search tells the lines on which a query has matches: those of job/search, in order, each line once.
// All that is stored is searched. What is not
// kept, or not any more when its turn comes, is given to gap. It ends with an error of tell, and with ctx.
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
			// What was found and not told yet is looked for again, in what is still there of it.
			off, s.number, err = s.settled, 0, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A storedSearch goes along what is kept without a gap, a run of it at a time.
type storedSearch struct {
	out   *Output
	query *match.Query
	tell  func(Line) error

	block  []byte // what is being searched
	window outputWindow

	// Of the run:
	from    int64
	ends    []int64 // how many line ends there are before each outputRead bytes
	counted int64   // line ends were counted up to here
	before  int64   // how many there are before that
	settled int64   // up to here lines were told
	atLine  bool    // and there one begins
	told    bool    // and the one that counted is on as well

	number int64 // of the line that counted is on; 0: nobody knows
}

// errLost says that something is not there any more that was to be looked at again.
var errLost = errors.New("its server has overwritten it")

// read reads a block.
func (s *storedSearch) read(off int64) (b []byte, at int64, err error) {
	n, at, err := s.out.Read(s.block, off)
	if n == 0 {
		at = s.out.NextOffset
	}
	return s.block[:n], at, err
}

// search searches a run, of which b is the first block, and returns where it ends.
func (s *storedSearch) search(ctx context.Context, b []byte, off int64) (end int64, err error) {
	var before []byte
	if s.atLine && off == s.settled {
		before = lineFeed // A run that was given up goes on behind a line that was told.
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
		return fmt.Errorf("%w; make the pattern simpler, or look for a text as it stands", failed)
	}
	return nil
}

// match tells the lines from that on which a match begins to that on which it ends, without one
// that was told already.
func (s *storedSearch) match(m *match.Match) error {
	behind, err := s.count(m.Start)
	if err != nil {
		return err
	}
	again := s.told && behind == 0
	// A line feed at the end of the match ends the last line, and begins none.
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

// count counts the line ends from where they were counted up to, to an offset, up to which all was
// searched: what lies far apart is not read again.
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

// lines tells the lines of a match, of which the first has a number; with again, but for that one.
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

// shownLine is what a line shows where a match of it is, which is from there to there: a line that was
// redrawn has had several states, with a carriage return between them.
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

// windowRead is how much an outputWindow reads at a time, where not more is wanted.
const windowRead = 256 << 10

// An outputWindow is a run of an Output, of which what is searched and what was read last are at hand.
type outputWindow struct {
	out     *Output
	from    int64 // where the run begins
	to      int64 // and how far it was read
	blockAt int64 // offset of block
	block   []byte
	at      int64 // offset of text
	text    []byte
}

// view returns what is there of a range, up to the next gap, and where that begins. It is good until
// the next call.
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

// read returns a range, as view does; errLost where something of it is not there any more.
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

const nearLine = 4 << 10 // in which the ends of a line are looked for first

// lineStart is where the line begins that an offset is on, or where what is told of it does.
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

// lineEnd is where the line ends that an offset is on, or where what is told of it does.
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
			return off + int64(len(b)), false, nil // at the end, or at a gap
		case reach > nearLine:
			return off + int64(plain.WholeRunes(b)), true, nil
		}
	}
}

// isLineEnd says whether a line ends at an offset, with a line feed.
func (w *outputWindow) isLineEnd(off int64) bool {
	b, at, err := w.view(off, off+1)
	return err == nil && at == off && len(b) == 1 && b[0] == '\n'
}
