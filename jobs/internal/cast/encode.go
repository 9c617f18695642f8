package cast

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// A Code is the kind of an event.
type Code byte

const (
	Output Code = 'o'
	Input  Code = 'i'
	Resize Code = 'r'
	Marker Code = 'm'
	Exit   Code = 'x'
)

// A Header describes the recorded program and terminal.
type Header struct {
	Cols, Rows int
	Type       string // of the terminal; "": unknown, or no terminal
	Began      time.Time
	Command    string // "": none
	Title      string // "": none
}

// mostText is the maximum length of a text of the header, in bytes: a command line can be as long as the system
// allows.
const mostText = 4096

// append appends the header line.
func (h Header) append(b []byte) []byte {
	b = append(b, `{"version":3,"term":{"cols":`...)
	b = strconv.AppendInt(b, int64(h.Cols), 10)
	b = append(b, `,"rows":`...)
	b = strconv.AppendInt(b, int64(h.Rows), 10)
	b = appendMember(b, "type", h.Type)
	b = append(b, `},"timestamp":`...)
	b = strconv.AppendInt(b, h.Began.Unix(), 10)
	b = appendMember(b, "command", h.Command)
	b = appendMember(b, "title", h.Title)
	return append(b, '}', '\n')
}

func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	if len(text) > mostText {
		cut := mostText
		for cut > mostText-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	b = append(append(append(b, `,"`...), name...), `":"`...)
	return append(AppendText(b, text), '"')
}

// appendBegin appends the part of an event before its data. interval is in microseconds.
func appendBegin(b []byte, interval int64, c Code) []byte {
	b = strconv.AppendInt(append(b, '['), interval/1e6, 10)
	digits := strconv.AppendInt(nil, 1e6+interval%1e6, 10)
	b = append(append(b, '.'), digits[1:]...)
	return append(b, ',', '"', byte(c), '"', ',', '"')
}

func appendEnd(b []byte) []byte { return append(b, '"', ']', '\n') }

// AppendText appends text in the form that goes between the quotes of a JSON string.
func AppendText(b []byte, text string) []byte {
	var t Text
	return t.Flush(t.Append(b, []byte(text)))
}

// A Text converts a stream of bytes to JSON strings, each with the text since the previous one. The zero value is
// at the beginning of a stream.
type Text struct {
	// Lines converts each line end to CR LF, as a terminal does with a program's output; it is for streams
	// without a terminal.
	Lines bool

	carry [utf8.UTFMax]byte // the beginning of a character
	n     int
	cr    bool // the last byte was CR
}

// Append appends p, except for an incomplete character at its end.
func (t *Text) Append(b, p []byte) []byte {
	if t.n > 0 && len(p) > 0 {
		var begun [utf8.UTFMax]byte
		had := copy(begun[:], t.carry[:t.n])
		n := had + copy(begun[had:], p)
		r, size := decode(begun[:n])
		if size == 0 {
			t.n = copy(t.carry[:], begun[:n])
			return b
		}
		b = t.appendRune(b, r)
		t.n, p = 0, p[size-had:] // the carried bytes belong to this character, or to this invalid sequence
	}
	for len(p) > 0 {
		b = slices.Grow(b, len(p))
		n := copyPlain(b[len(b):cap(b)], p)
		if n < len(p) && p[n] >= utf8.RuneSelf {
			n += copyValid(b[len(b)+n:cap(b)], p[n:])
		}
		if n > 0 {
			b, p, t.cr = b[:len(b)+n], p[n:], false
		}
		for ; len(p) > 0 && escapes[p[0]] != ""; p = p[1:] {
			b = t.appendEscaped(b, p[0])
		}
		if len(p) > 0 && p[0] >= utf8.RuneSelf {
			r, size := decode(p)
			if size == 0 {
				t.n = copy(t.carry[:], p)
				break
			}
			b, p = t.appendRune(b, r), p[size:]
		}
	}
	return b
}

// copyValid copies whole non-ASCII characters from the beginning of p, and returns their length in bytes.
func copyValid(to, p []byte) (n int) {
	for n < len(p) && p[n] >= utf8.RuneSelf {
		_, size := utf8.DecodeRune(p[n:])
		if size < 2 {
			break
		}
		n += size
	}
	return copy(to, p[:n])
}

// copyPlain copies ASCII characters that need no escape from the beginning of p, and returns how many there are.
// It may overwrite the bytes after them in to, which has at least the length of p. Recordings of a flood of
// output spend most of their time here.
func copyPlain(to, p []byte) (n int) {
	to = to[:len(p)]
	for len(p) >= 8 && len(to) >= 8 {
		w := binary.LittleEndian.Uint64(p)
		binary.LittleEndian.PutUint64(to, w)
		if special := specials(w); special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
		n, p, to = n+8, p[8:], to[8:]
	}
	for i, c := range p {
		if specials(uint64(c)|spaces&^0xff) != 0 {
			return n + i
		}
		to[i] = c
	}
	return n + len(p)
}

const (
	ones   = 0x0101010101010101
	spaces = ' ' * ones
)

// specials finds control characters, quotes, backslashes and non-ASCII bytes among the eight bytes of w: the
// lowest byte with its top bit set in the result is the first of them. Higher bytes may be marked wrongly: a byte
// whose subtraction or addition overflows is special itself, and the carry affects only the bytes above it.
func specials(w uint64) uint64 {
	quotes, backslashes := w^'"'*ones, w^'\\'*ones // matching bytes are 0 now
	return (w | (w - spaces) | (w + ones) | (quotes - ones) | (backslashes - ones)) & (0x80 * ones)
}

// decode returns the first character of p and its length, or 0 if p ends inside it. The bytes of a character that
// is begun and not continued become a single U+FFFD.
func decode(p []byte) (r rune, size int) {
	if !utf8.FullRune(p) {
		return 0, 0
	}
	r, size = utf8.DecodeRune(p)
	for r == utf8.RuneError && size < len(p) && !utf8.FullRune(p[:size]) && !utf8.FullRune(p[:size+1]) {
		size++
	}
	return r, size
}

// Flush appends U+FFFD for an incomplete character, if one is held. It is for the end of a stream, or before a
// gap in it.
func (t *Text) Flush(b []byte) []byte {
	if t.n > 0 {
		b = utf8.AppendRune(b, utf8.RuneError)
	}
	t.n, t.cr = 0, false
	return b
}

// escapes has the JSON escapes of the ASCII characters that need one.
var escapes = func() (e [256]string) {
	for c := range ' ' {
		e[c] = fmt.Sprintf(`\u%04x`, c)
	}
	e['\n'], e['\r'], e['"'], e['\\'], e[0x7f] = `\n`, `\r`, `\"`, `\\`, `\u007f`
	return e
}()

func (t *Text) appendEscaped(b []byte, c byte) []byte {
	if c == '\n' && t.Lines && !t.cr {
		b = append(b, escapes['\r']...)
	}
	t.cr = c == '\r'
	return append(b, escapes[c]...)
}

// appendRune appends a character; invalid UTF-8 is U+FFFD by now.
func (t *Text) appendRune(b []byte, r rune) []byte {
	if r < utf8.RuneSelf && escapes[r] != "" {
		return t.appendEscaped(b, byte(r))
	}
	t.cr = false
	return utf8.AppendRune(b, r)
}
