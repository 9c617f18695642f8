package echo

import (
	"bytes"
	"slices"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/proc"
)

// A Typed is input whose first byte is about to be written, and the terminal as it is then.
type Typed struct {
	Data  []byte // as the output shows it
	Attrs proc.Attrs
	Begun bool  // a part of a line stands before it
	Armed int64 // the offset of the output behind which its echo comes
}

// LineEnds is input with all but its line ends made unknown: what is typed while echo is off
// is to be in no copy.
func LineEnds(data []byte) []byte {
	masked := bytes.Repeat([]byte{'x'}, len(data))
	for i, c := range data {
		if c == '\r' || c == '\n' {
			masked[i] = c
		}
	}
	return masked
}

// A plan is what to look for.
type plan struct {
	needles []needle

	// raw: the needles are bytes, as the kernel sends them; else what can be seen of
	// a program's own echo, without blanks, control characters and escape sequences.
	raw bool

	// held: nothing counts before the first line was found, or given up.
	held bool

	room int64 // how much output is searched for a needle; then it does not come
}

// A needle is a part of an echo that comes in one piece.
type needle struct {
	text []byte
	last bool // it ends a line of the input

	// What may follow in a program's own echo, and then belongs to it.
	blanks int
	enter  bool // a line end
}

const (
	// inFlight is how much output may have been written before the echo and not have
	// been read yet: as much as a terminal holds.
	inFlight = 64 << 10

	// seenRoom is added to twice the input's length, for what a program draws around
	// the echo that it makes itself.
	seenRoom = 256
)

// plan says what to look for; nil where there will be no echo, or none that could be
// told from anything else.
func (t *Typed) plan() *plan {
	length := 2 * int64(len(t.Data))
	if t.Attrs.Echo || t.Attrs.Canonical {
		k := kernelShows(t.Data, t.Attrs, t.Begun)
		if k.exact {
			return rawPlan(k, length+inFlight)
		}
		if !t.Attrs.Echo {
			return nil
		}
	}
	needles := seenNeedles(t.Data)
	if needles == nil {
		return nil
	}
	return &plan{needles: needles, held: true, room: length + seenRoom}
}

func rawPlan(k kernelOutput, room int64) *plan {
	if len(k.lines) == 0 {
		return nil
	}
	p := &plan{raw: true, held: k.flushed, room: room}
	for _, line := range k.lines {
		p.needles = append(p.needles, needle{text: line, last: true})
	}
	return p
}

// maxSeen bounds the input whose echo is looked for in what can be seen, since what
// was seen is remembered meanwhile. More is no typing.
const maxSeen = 64 << 10

// seenNeedles cuts input into the runs of visible characters that a program which
// echoes keys would show: it acts on what stands between them, as a completion or a
// movement of the cursor.
func seenNeedles(data []byte) []needle {
	if len(data) > maxSeen {
		return nil
	}
	var (
		all    []needle
		run    needle
		strip  match.Stripper
		buf    [1]byte
		before byte
		first  int // needle of the present line
	)
	end := func() {
		if len(run.text) > 0 {
			all = append(all, run)
		}
		run = needle{}
	}
	for i, c := range data {
		single := i >= 2 && before == 'O' && data[i-2] == 0x1b // the end of a key such as F1
		visible := len(strip.Append(buf[:0], data[i:i+1])) > 0 && !single
		before = c
		switch {
		case visible && c == '\r', visible && c == '\n':
			end()
			if n := len(all); n > first {
				all[n-1].last, all[n-1].enter, first = true, true, n
			}
		case visible && c == ' ':
			run.blanks++
		case visible && c > ' ':
			run.text, run.blanks = append(run.text, c), 0
		default:
			end()
		}
	}
	end()
	if n := len(all); n > first {
		all[n-1].last = true
	}
	return slices.Clip(all)
}
