package screen

import "fmt"

// A Query is a question that a program has asked its terminal in its output. The answer is typed, as if the terminal
// had a keyboard of its own.
type Query struct {
	From, To int64 // its position in all scanned output
	Screen   bool  // only a Terminal, which draws, can answer it
	Colour   bool  // type the answer only to a program that reads keys: a shell would take it for commands with paths

	answer  string
	size    uint16 // not 0: the window operation that asks for a size
	version bool   // the query asks for this program's version
}

// A Display describes a terminal, for its answers.
type Display struct {
	Cols, Rows int
	Version    string // of this program
}

// queryBytes is the length of the longest query: a longer one is not answered. Code that removes queries from output
// (StripQueries) has to hold back no more than this.
const queryBytes = 1 << 10

// Untaken queries of a scanner are dropped beyond askedBytes, counted as the length of the answers plus askedCost for
// each. A program may ask without end.
const (
	askedBytes = 16 << 10
	askedCost  = 16
)

const (
	statusGood = "\x1b[0n"
	emptyTitle = "\x1b]l\x1b\\"
)

// QueryNames returns the names of the queries that are answered, as in xterm's manual; for colours and sizes those of
// the sequences.
func QueryNames() []string {
	return []string{
		"CPR", "DA1", "DA2", "DA3", "DECID", "DECRQM", "DECRQSS", "DECXCPR", "DSR",
		"OSC4", "OSC10", "OSC11", "OSC12", "XTGETTCAP", "XTVERSION", "XTWINOPS",
	}
}

// Queries returns the queries since the last call, in order, and the number of further ones that were dropped.
func (s *Scanner) Queries() (asked []Query, dropped int) {
	asked, dropped = s.asked, s.dropped
	s.asked, s.askedSize, s.dropped = nil, 0, 0
	return asked, dropped
}

// ask records the query that ends here.
func (s *Scanner) ask(q Query) {
	q.From, q.To = s.begun, s.pos+1
	if q.To-q.From > queryBytes {
		return
	}
	s.askedSize += len(q.answer) + askedCost
	if s.askedSize > askedBytes || s.dropped > 0 { // or there would be holes between the answers
		s.dropped++
		return
	}
	s.asked = append(s.asked, q)
}

// inVain reports whether the query that ends here is dropped in any case: its answer need not be built.
func (s *Scanner) inVain() bool { return s.dropped > 0 || s.pos+1-s.begun > queryBytes }

func (s *Scanner) answer(text string) { s.ask(Query{answer: text}) }

// Answer returns the terminal's answer; nil if Screen is set.
func (q Query) Answer(d Display) []byte {
	switch {
	case q.Screen:
		return nil
	case q.size != 0:
		return windowSize(q.size, d)
	case q.version:
		return fmt.Appendf(nil, "\x1bP>|shelld(%s)\x1b\\", cleanVersion(d.Version))
	}
	return []byte(q.answer)
}

// cleanVersion replaces the bytes that may not occur in a string.
func cleanVersion(version string) string {
	clean := []byte(version)
	for i, c := range clean {
		if c < 0x20 || c >= del {
			clean[i] = '?'
		}
	}
	return string(clean)
}

// windowSize answers one of xterm's window operations.
func windowSize(op uint16, d Display) []byte {
	what, height, width := op-10, d.Rows, d.Cols
	switch op {
	case 14:
		height, width = height*cellHeight, width*cellWidth
	case 16:
		height, width = cellHeight, cellWidth
	}
	return fmt.Appendf(nil, "\x1b[%d;%d;%dt", what, height, width)
}

// windowQuery handles CSI t if it is a query. The title is reported as empty: otherwise any program that writes to a
// terminal could have a title typed into the shell.
func (s *Scanner) windowQuery(op uint16) {
	switch op {
	case 14, 16, 18, 19:
		s.ask(Query{size: op})
	case 21:
		s.answer(emptyTitle)
	}
}

// endQuery handles a control sequence that sets nothing, if it is a query.
func (s *Scanner) endQuery(key [3]byte) {
	n := s.seq.params[0]
	switch key {
	case [3]byte{0, 0, 'c'}, [3]byte{'>', 0, 'c'}, [3]byte{'=', 0, 'c'}:
		if n == 0 {
			s.answer(attributes(key[0]))
		}
	case [3]byte{0, 0, 'n'}:
		switch n {
		case 5:
			s.answer(statusGood)
		case 6:
			s.ask(Query{Screen: true})
		}
	case [3]byte{'?', 0, 'n'}:
		s.privateStatus(n)
	case [3]byte{0, '$', 'p'}:
		s.answer(fmt.Sprintf("\x1b[%d;%d$y", n, s.ansiMode(n)))
	case [3]byte{'?', '$', 'p'}:
		s.answer(fmt.Sprintf("\x1b[?%d;%d$y", n, modeValue(s.privateState(n))))
	case [3]byte{'>', 0, 'q'}:
		if n == 0 {
			s.ask(Query{version: true})
		}
	}
}

// privateStatus answers DEC's private forms of DSR.
func (s *Scanner) privateStatus(n uint16) {
	switch n {
	case 6:
		s.ask(Query{Screen: true})
	case 15: // there is no printer
		s.answer("\x1b[?13n")
	case 25: // user-defined keys are not locked
		s.answer("\x1b[?20n")
	case 26: // the keyboard is North American
		s.answer("\x1b[?27;1;0;0n")
	}
}

func attributes(private byte) string {
	switch private {
	case '>':
		return secondaryAttributes
	case '=':
		return tertiaryAttributes
	}
	return primaryAttributes
}
