// Package plain makes text of output: escape sequences removed, redrawn lines in their last state, invalid UTF-8
// replaced. It knows how to cut such text, or the stream that it comes from, to whole characters, sequences and lines.
package plain

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/screen"
)

// maxColumn is the last column that a cursor movement reaches, so that a hostile sequence cannot ask for a line of any
// length.
const maxColumn = 4096

// Text returns output as a person reads it afterwards: escape sequences removed, CRLF as LF, and lines that were
// redrawn (carriage return, backspace, erase, cursor up) in their last state. Of control characters (see
// [screen.IsControl]) it keeps only LF and tab. It removes a C1 control alone, and takes what follows as text, so that
// the result does not depend on where a piece of output begins. Bytes that are not UTF-8 become U+FFFD (see
// [ValidUTF8]).
func Text(b []byte) string {
	if !needsFolding(b) {
		text := ValidUTF8(strings.ReplaceAll(string(b), "\r\n", "\n"))
		if hasControl(b) {
			text = screen.WithoutControls(text, "\n\t")
		}
		return text
	}
	p := pager{lines: [][]rune{nil}, cells: len(b) + spareCells, work: 64 * (len(b) + spareCells)}
	for len(b) > 0 {
		b = b[p.next(b):]
	}
	return p.String()
}

// ValidUTF8 returns text with U+FFFD for each byte that is not UTF-8. Unlike [strings.ToValidUTF8], it does not put one
// for a whole run of them: a line in another encoding would collapse, and two pieces would differ from the whole.
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

// spareCells is the number of blanks that output may create with cursor movements, beyond one for each of its bytes.
const spareCells = 64 << 10

// needsFolding reports whether b has controls that move or redraw. Ordinary logs have none, and Text copies them.
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

// hasControl reports whether b has a control character beyond C0. It looks only at bytes with which UTF-8 begins one.
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

// A pager is a page of unbounded height: enough of a terminal to apply redrawing, and no line ever scrolls away.
//
// A few bytes can ask for many blanks, or move a long line again and again. Both are bounded by the length of the
// output: beyond the bound such sequences do nothing, and text continues.
type pager struct {
	lines    [][]rune
	row, col int
	cells    int // blanks that may still be created
	work     int // characters that may still be moved
}

// next consumes one character or sequence and returns its length in bytes.
func (p *pager) next(b []byte) int {
	switch c := b[0]; {
	case c == 0x1b:
		return p.escape(b)
	case c == '\n':
		p.down(1)
		p.col = 0
	case c == '\r':
		p.col = 0
	case c == '\b':
		p.col = max(p.col-1, 0)
	case c < ' ' && c != '\t':
		// other controls print nothing
	default:
		r, n := utf8.DecodeRune(b)
		if c == '\t' || !screen.IsControl(r) {
			p.put(r)
		}
		return n
	}
	return 1
}

func (p *pager) put(r rune) {
	line := p.pad(p.col)
	p.col = min(p.col, len(line))
	if p.col < len(line) {
		line[p.col] = r
	} else {
		line = append(line, r)
	}
	p.lines[p.row] = line
	p.col++
}

// pad returns the current line, extended with blanks up to column col as far as cells allows.
func (p *pager) pad(col int) []rune {
	line := p.lines[p.row]
	for len(line) < col && p.cells > 0 {
		line = append(line, ' ')
		p.cells--
	}
	return line
}

// may takes n from the characters that may still be moved. It reports whether there were so many.
func (p *pager) may(n int) bool {
	p.work -= n
	return p.work >= 0
}

func (p *pager) down(n int) {
	for range n {
		p.row++
		if p.row == len(p.lines) {
			p.lines = append(p.lines, nil)
		}
	}
}

// escape consumes a sequence and returns its length. It applies those that move the cursor or erase; others print
// nothing.
func (p *pager) escape(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case 0x1b: // the beginning of another sequence
		return 1
	case '[':
		return p.csi(b)
	case ']', 'P', '_', '^', 'X':
		return stringLength(b)
	}
	n := 1
	for n < len(b) && b[n] >= 0x20 && b[n] <= 0x2f {
		n++
	}
	return min(n+1, len(b))
}

// stringLength returns the length of the OSC, DCS, APC, PM or SOS sequence at the beginning of b.
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

func (p *pager) csi(b []byte) int {
	i, n, private := 2, 0, false
	for ; i < len(b) && b[i] < 0x40; i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			n = min(n*10+int(c-'0'), maxColumn)
		case c == ';':
			private = true // several parameters: not a sequence that is applied here
		case c < 0x20 || c > 0x3f:
			return i // a control ends the sequence
		case c > ';':
			private = true
		}
	}
	if i == len(b) {
		return i
	}
	if !private {
		p.apply(b[i], n)
	}
	return i + 1
}

func (p *pager) apply(final byte, n int) {
	count := max(n, 1)
	switch final {
	case 'A':
		p.row = max(p.row-count, 0)
	case 'B':
		p.row = min(p.row+count, len(p.lines)-1)
	case 'C':
		p.col = min(p.col+count, maxColumn)
	case 'D':
		p.col = max(p.col-count, 0)
	case 'E':
		p.row, p.col = min(p.row+count, len(p.lines)-1), 0
	case 'F':
		p.row, p.col = max(p.row-count, 0), 0
	case 'G':
		p.col = min(count-1, maxColumn)
	case 'K':
		p.eraseLine(n)
	case 'J':
		if n == 0 {
			p.eraseLine(0)
			p.lines = p.lines[:p.row+1]
		}
	case 'P':
		line := p.lines[p.row]
		if p.col < len(line) && p.may(len(line)-p.col) {
			end := min(p.col+count, len(line))
			p.lines[p.row] = append(line[:p.col], line[end:]...)
		}
	case '@':
		line := p.lines[p.row]
		count = min(count, maxColumn-len(line), p.cells)
		if p.col < len(line) && count > 0 && p.may(len(line)-p.col) {
			p.cells -= count
			blanks := []rune(strings.Repeat(" ", count))
			p.lines[p.row] = slices.Insert(line, p.col, blanks...)
		}
	}
}

func (p *pager) eraseLine(how int) {
	line := p.lines[p.row]
	switch how {
	case 0:
		p.lines[p.row] = line[:min(p.col, len(line))]
	case 1:
		if n := min(p.col+1, len(line)); p.may(n) {
			for i := range n {
				line[i] = ' '
			}
		}
	case 2:
		p.lines[p.row] = line[:0]
	}
}

func (p *pager) String() string {
	var s strings.Builder
	for i, line := range p.lines {
		if i > 0 {
			s.WriteByte('\n')
		}
		s.WriteString(string(line))
	}
	return s.String()
}
