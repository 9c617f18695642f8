package echo

import (
	"bytes"
	"slices"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/proc"
)

// A Typed is input and the state of the terminal just before its first byte is written.
type Typed struct {
	Data  []byte     // with secret values already replaced, as in the output
	Attrs proc.Attrs // the modes
	Begun bool       // the input continues a line
	Armed int64      // the end of the output: the echo comes behind it
}

// LineEnds returns a copy of data in which an x replaces each byte that is not a line end. It
// stands for input that is typed while echo is off, of which no copy must be kept.
func LineEnds(data []byte) []byte {
	masked := bytes.Repeat([]byte{'x'}, len(data))
	for i, c := range data {
		if c == '\r' || c == '\n' {
			masked[i] = c
		}
	}
	return masked
}

// A plan is the search for the echo of one input.
type plan struct {
	needles []needle

	// raw: the needles are the kernel's bytes. If not, they are the visible text of an echo that
	// the program makes, without blanks, control characters and escape sequences.
	raw bool

	// held: nothing may be matched before the first line is found or the search has given up.
	held bool

	room int64 // how many bytes of output are searched for a needle before the search gives up
}

// A needle is a part of an echo that comes in one piece.
type needle struct {
	text []byte
	last bool // it ends a line of the input

	// If these follow in an echo that the program makes, they belong to it.
	blanks int
	enter  bool // a line end
}

const (
	// inFlight is how many bytes of output may have been written before the echo and not been
	// read yet: the capacity of a terminal.
	inFlight = 64 << 10

	// seenRoom is added to twice the input's length, for the prompt and other text that a program
	// draws around an echo that it makes.
	seenRoom = 256
)

// plan returns the search for the echo of t. It is nil if there will be no echo, or none that can
// be distinguished from other output.
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

// maxSeen bounds the input whose echo is searched for in visible text, since that text is kept
// during the search. People do not type more than this.
const maxSeen = 64 << 10

// seenNeedles cuts input into runs of visible characters, which a program that echoes keys shows.
// On the bytes between the runs it acts, for example with a completion or a cursor movement.
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
		first  int // the first needle of the current line
	)
	end := func() {
		if len(run.text) > 0 {
			all = append(all, run)
		}
		run = needle{}
	}
	for i, c := range data {
		single := i >= 2 && before == 'O' && data[i-2] == 0x1b // the last byte of a key such as F1
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
