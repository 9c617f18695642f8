package jobs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"unicode/utf8"

	"shelld/jobs/internal/match"
)

// A StoredLine is a line of stored output on which there is a match.
type StoredLine struct {
	At      int64  // offset at which it begins; where it is Cut, of what is told of it
	Number  int64  // from 1 on; 0: nobody knows, since something before it is not kept
	Text    string // plain; of a line that was redrawn the state in which it matches
	Cut     bool   // it may be longer than MaxStoredLine: Text is what stands around the match
	Limited bool   // as in match.Match
}

// MaxStoredLine is about how many bytes are told of a line.
const MaxStoredLine = 1 << 20

// Search tells the lines on which a spec has matches: those of job/search, in order, each line once.
// Of the spec, which is compiled, counts what is looked for; all that is stored is searched. What is not
// kept is given to gap. It ends with an error of tell, and with ctx.
func (o *Output) Search(ctx context.Context, spec *SearchSpec, tell func(StoredLine) error, gap func(Range)) error {
	s := storedSearch{query: spec.query.Places(), tell: tell, number: 1, buf: make([]byte, searchRead)}
	for _, part := range o.Parts() {
		if part.Omitted {
			gap(part.Range)
			s.number = 0
			continue
		}
		s.window, s.ends = partWindow{out: o, part: part}, append(s.ends[:0], 0)
		s.counted, s.told = part.From, false
		if err := s.search(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A storedSearch goes along a part of an Output at a time.
type storedSearch struct {
	query *match.Query
	tell  func(StoredLine) error

	window  partWindow
	buf     []byte  // what is being searched
	ends    []int64 // how many line ends there are before each searchRead bytes of the part
	counted int64   // line ends were counted up to here
	number  int64   // of the line that counted is on; 0: nobody knows
	told    bool    // that line was told
}

func (s *storedSearch) search(ctx context.Context) error {
	part := s.window.part
	run := s.query.Begin(part.From, nil, part.From > 0, func() bool { return ctx.Err() != nil })
	for off := part.From; off < part.To; {
		b := s.buf[:min(searchRead, part.To-off)]
		if err := s.window.readAt(b, off); err != nil {
			return err
		}
		off += int64(len(b))
		s.ends = append(s.ends, s.ends[len(s.ends)-1]+int64(bytes.Count(b, lineFeed)))
		for len(b) > 0 {
			n, found, err := run.Step(b)
			if err := s.take(found, err); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b = b[n:]
		}
	}
	return s.take(run.End())
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
	behind, err := s.lineEnds(s.counted, m.Start)
	if err != nil {
		return err
	}
	// A line feed at the end of the match ends the last line, and begins none.
	inside, err := s.lineEnds(m.Start, m.End-1)
	if err != nil {
		return err
	}
	again := s.told && behind == 0
	if s.number > 0 {
		s.number += behind + inside
	}
	s.counted, s.told = m.End-1, true
	if again && inside == 0 {
		return nil
	}
	return s.lines(m, s.number-inside, again)
}

var lineFeed = []byte{'\n'}

// lineEnds counts those in a range, of which all was searched already: what lies far apart is not
// read again.
func (s *storedSearch) lineEnds(from, to int64) (int64, error) {
	start := s.window.part.From
	first, last := (from-start)/searchRead+1, (to-start)/searchRead
	if first > last {
		return s.countEnds(from, to)
	}
	head, err := s.countEnds(from, start+first*searchRead)
	if err != nil {
		return 0, err
	}
	tail, err := s.countEnds(start+last*searchRead, to)
	return head + s.ends[last] - s.ends[first] + tail, err
}

func (s *storedSearch) countEnds(from, to int64) (int64, error) {
	b, err := s.window.read(from, to)
	return int64(bytes.Count(b, lineFeed)), err
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
	text, err := s.window.read(from, to)
	if err != nil {
		return err
	}
	for i, at := 0, 0; ; i++ {
		end := bytes.IndexByte(text[at:], '\n') + at
		last := end < at
		if last {
			end = len(text)
		}
		line := StoredLine{At: from + int64(at), Limited: m.Limited, Cut: i == 0 && headCut || last && tailCut}
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
	return validText(new(match.Stripper).Append(nil, line))
}

// windowRead is how much a partWindow reads at a time, where not more is wanted.
const windowRead = 256 << 10

// A partWindow is a part of an Output, of which what was read last is at hand.
type partWindow struct {
	out  *Output
	part OutputPart
	at   int64 // offset of text
	text []byte
}

// readAt reads all that is asked for, which is in the part.
func (w *partWindow) readAt(b []byte, off int64) error {
	n, err := w.out.ReadAt(b, w.part.At+off-w.part.From)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF // somebody has cut the file
	}
	return err
}

// read returns a range of the part, which is good until the next call.
func (w *partWindow) read(from, to int64) ([]byte, error) {
	if from >= to {
		return nil, nil
	}
	if from < w.at || to > w.at+int64(len(w.text)) {
		n := min(max(to-from, windowRead), w.part.To-from)
		if int64(cap(w.text)) < n {
			w.text = make([]byte, n)
		}
		w.at, w.text = from, w.text[:n]
		if err := w.readAt(w.text, from); err != nil {
			w.text = w.text[:0]
			return nil, err
		}
	}
	return w.text[from-w.at : to-w.at], nil
}

const nearLine = 4 << 10 // in which the ends of a line are looked for first

// lineStart is where the line begins that an offset is on, or where what is told of it does.
func (w *partWindow) lineStart(off int64) (at int64, cut bool, err error) {
	for reach := int64(nearLine); ; reach = MaxStoredLine / 2 {
		low := max(off-reach, w.part.From)
		b, err := w.read(low, off)
		switch i := bytes.LastIndexByte(b, '\n'); {
		case err != nil:
			return 0, false, err
		case i >= 0:
			return low + int64(i) + 1, false, nil
		case low == w.part.From:
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
func (w *partWindow) lineEnd(off int64) (at int64, cut bool, err error) {
	for reach := int64(nearLine); ; reach = MaxStoredLine / 2 {
		high := min(off+reach, w.part.To)
		b, err := w.read(off, high)
		switch i := bytes.IndexByte(b, '\n'); {
		case err != nil:
			return 0, false, err
		case i >= 0:
			return off + int64(i), false, nil
		case high == w.part.To:
			return high, false, nil
		case reach > nearLine:
			return off + int64(wholeRunes(b)), true, nil
		}
	}
}
