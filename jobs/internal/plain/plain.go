// Package plain shows output as a person reads it.
package plain

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"shelld/screen"
)

// maxColumn bounds how far a cursor movement goes to the right, so that a hostile
// sequence cannot ask for a line of any length.
const maxColumn = 4096

// Text is output as a person would read it afterwards: escape sequences removed,
// CRLF as LF, and lines that were redrawn (carriage return, backspace, erase,
// cursor up) folded to their last state. No control characters but LF and tab are
// left (see [screen.IsControl]): a C1 control is removed by itself, and what follows it
// is text, so that nothing depends on where a piece of output begins. Bytes that are not
// UTF-8 become U+FFFD (see [ValidUTF8]).
func Text(b []byte) string {
	if !needsFolding(b) {
		text := ValidUTF8(strings.ReplaceAll(string(b), "\r\n", "\n"))
		if hasControl(b) {
			text = screen.WithoutControls(text, "\n\t")
		}
		return text
	}
	f := pager{lines: [][]rune{nil}, cells: len(b) + spareCells, work: 64 * (len(b) + spareCells)}
	for len(b) > 0 {
		b = b[f.next(b):]
	}
	return f.String()
}

// ValidUTF8 returns text with U+FFFD for each byte that is not UTF-8. Package strings has one for a whole run of
// them: a line in another encoding would collapse, and two pieces of output would differ from the whole.
func ValidUTF8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r) // The loop yields U+FFFD for one byte at a time.
	}
	return b.String()
}

// spareCells is how many blanks a short output may ask for with cursor movements,
// beyond one for each of its bytes.
const spareCells = 64 << 10

// needsFolding is false for ordinary logs, for which Text is a copy.
func needsFolding(b []byte) bool {
	for i, c := range b {
		if c < ' ' && c != '\n' && c != '\t' {
			if c == '\r' && i+1 < len(b) && b[i+1] == '\n' {
				continue
			}
			return true
		}
	}
	return false
}

// hasControl says whether there is a control character beyond C0, by the bytes with which
// UTF-8 begins those.
func hasControl(b []byte) bool {
	for _, first := range []byte{0x7f, 0xc2, 0xe2} {
		for rest := b; ; {
			i := bytes.IndexByte(rest, first)
			if i < 0 {
				break
			}
			if r, _ := utf8.DecodeRune(rest[i:]); screen.IsControl(r) {
				return true
			}
			rest = rest[i+1:]
		}
	}
	return false
}

// A pager is a page that has lines but no height: enough of a terminal to undo
// redrawing, with nothing ever scrolled away.
//
// A few bytes can ask for a lot of blanks, or move a long line again and again. What
// they get of either is bounded by the length of the output; beyond it such
// sequences do nothing, and text goes on.
type pager struct {
	lines    [][]rune
	row, col int
	cells    int // blanks that may still be made
	work     int // characters that may still be moved
}

// next consumes one character or sequence and returns its length in bytes.
func (f *pager) next(b []byte) int {
	switch c := b[0]; {
	case c == 0x1b:
		return f.escape(b)
	case c == '\n':
		f.down(1)
		f.col = 0
	case c == '\r':
		f.col = 0
	case c == '\b':
		f.col = max(f.col-1, 0)
	case c < ' ' && c != '\t':
		// Other controls print nothing.
	default:
		r, n := utf8.DecodeRune(b)
		if c == '\t' || !screen.IsControl(r) {
			f.put(r)
		}
		return n
	}
	return 1
}

func (f *pager) put(r rune) {
	line := f.pad(f.col)
	f.col = min(f.col, len(line))
	if f.col < len(line) {
		line[f.col] = r
	} else {
		line = append(line, r)
	}
	f.lines[f.row] = line
	f.col++
}

// pad returns the current line, with blanks up to column col as far as they go.
func (f *pager) pad(col int) []rune {
	line := f.lines[f.row]
	for len(line) < col && f.cells > 0 {
		line = append(line, ' ')
		f.cells--
	}
	return line
}

// may says whether n characters may be moved.
func (f *pager) may(n int) bool {
	f.work -= n
	return f.work >= 0
}

func (f *pager) down(n int) {
	for range n {
		f.row++
		if f.row == len(f.lines) {
			f.lines = append(f.lines, nil)
		}
	}
}

// escape consumes a sequence. Those that move or erase on what is still in sight
// are obeyed; all others print nothing.
func (f *pager) escape(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case 0x1b: // It begins another.
		return 1
	case '[':
		return f.csi(b)
	case ']', 'P', '_', '^', 'X':
		return stringLength(b)
	}
	n := 1
	for n < len(b) && b[n] >= 0x20 && b[n] <= 0x2f {
		n++
	}
	return min(n+1, len(b))
}

// stringLength is the length of an OSC, DCS, APC, PM or SOS sequence at b.
func stringLength(b []byte) int {
	for i := 2; i < len(b); i++ {
		switch b[i] {
		case 0x07, 0x18, 0x1a:
			return i + 1
		case 0x1b:
			if i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
			return i
		}
	}
	return len(b)
}

func (f *pager) csi(b []byte) int {
	i, n, private := 2, 0, false
	for ; i < len(b) && b[i] < 0x40; i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			n = min(n*10+int(c-'0'), maxColumn)
		case c == ';':
			private = true // more than one parameter: none of those obeyed here
		case c < 0x20 || c > 0x3f:
			return i // a control inside: the sequence is over
		case c > ';':
			private = true
		}
	}
	if i == len(b) {
		return i
	}
	if !private {
		f.obey(b[i], n)
	}
	return i + 1
}

func (f *pager) obey(final byte, n int) {
	count := max(n, 1)
	switch final {
	case 'A':
		f.row = max(f.row-count, 0)
	case 'B':
		f.row = min(f.row+count, len(f.lines)-1)
	case 'C':
		f.col = min(f.col+count, maxColumn)
	case 'D':
		f.col = max(f.col-count, 0)
	case 'E':
		f.row, f.col = min(f.row+count, len(f.lines)-1), 0
	case 'F':
		f.row, f.col = max(f.row-count, 0), 0
	case 'G':
		f.col = min(count-1, maxColumn)
	case 'K':
		f.eraseLine(n)
	case 'J':
		if n == 0 {
			f.eraseLine(0)
			f.lines = f.lines[:f.row+1]
		}
	case 'P':
		line := f.lines[f.row]
		if f.col < len(line) && f.may(len(line)-f.col) {
			end := min(f.col+count, len(line))
			f.lines[f.row] = append(line[:f.col], line[end:]...)
		}
	case '@':
		line := f.lines[f.row]
		count = min(count, maxColumn-len(line), f.cells)
		if f.col < len(line) && count > 0 && f.may(len(line)-f.col) {
			f.cells -= count
			blanks := []rune(strings.Repeat(" ", count))
			f.lines[f.row] = slices.Insert(line, f.col, blanks...)
		}
	}
}

func (f *pager) eraseLine(how int) {
	line := f.lines[f.row]
	switch how {
	case 0:
		f.lines[f.row] = line[:min(f.col, len(line))]
	case 1:
		if n := min(f.col+1, len(line)); f.may(n) {
			for i := range n {
				line[i] = ' '
			}
		}
	case 2:
		f.lines[f.row] = line[:0]
	}
}

func (f *pager) String() string {
	var s strings.Builder
	for i, line := range f.lines {
		if i > 0 {
			s.WriteByte('\n')
		}
		s.WriteString(string(line))
	}
	return s.String()
}
