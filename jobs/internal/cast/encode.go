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

// A Code says what an event is.
type Code byte

const (
	Output Code = 'o'
	Input  Code = 'i'
	Resize Code = 'r'
	Marker Code = 'm'
	Exit   Code = 'x'
)

// A Header says what was recorded.
type Header struct {
	Cols, Rows int
	Type       string // of the terminal; "" = not known, or there is none
	Began      time.Time
	Command    string // "" = none
	Title      string // "" = none
}

// mostText bounds a text of the header, in bytes: a command line can be as long as a system
// lets it.
const mostText = 4096

// append adds the line.
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

// appendBegin adds an event up to where its data begins. The interval counts in microseconds.
func appendBegin(b []byte, interval int64, c Code) []byte {
	b = strconv.AppendInt(append(b, '['), interval/1e6, 10)
	digits := strconv.AppendInt(nil, 1e6+interval%1e6, 10)
	b = append(append(b, '.'), digits[1:]...)
	return append(b, ',', '"', byte(c), '"', ',', '"')
}

func appendEnd(b []byte) []byte { return append(b, '"', ']', '\n') }

// AppendText adds text to what stands between the quotes of a JSON string.
func AppendText(b []byte, text string) []byte {
	var t Text
	return t.Flush(t.Append(b, []byte(text)))
}

// A Text is one stream of bytes on its way into strings of JSON, of which each is what came of
// it since the last. The zero value is at the begin of a stream.
type Text struct {
	// Lines has a line end be CR LF, as a terminal shows what a program writes; for a stream
	// that did not come through one.
	Lines bool

	carry [utf8.UTFMax]byte // the begin of a character
	n     int
	cr    bool // CR was the last byte
}

// Append adds p, but for a character at its end that is not whole.
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
		t.n, p = 0, p[size-had:] // what has begun a character is a part of it, or of what is none
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

// copyValid copies whole characters that are no ASCII from the begin of p, and returns how long they are.
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

// copyPlain copies characters of ASCII that stand for themselves from the begin of p, and returns how
// many there are. What is behind them in to, which is as long as p, is overwritten. Recordings of a
// flood spend their time here.
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

// specials has a bit set in the byte, of the eight of w, that is the first to be a control character, a
// quote, a backslash, or no ASCII; there may be more set in those above it. A byte from which more is
// taken than it has, or to which too much is added, is such a one, and disturbs only those.
func specials(w uint64) uint64 {
	quotes, backslashes := w^'"'*ones, w^'\\'*ones // which are 0 now
	return (w | (w - spaces) | (w + ones) | (quotes - ones) | (backslashes - ones)) & (0x80 * ones)
}

// decode returns the first character of p and its length; 0 where p ends before it does. Bytes
// that begin one and do not go on so are U+FFFD together.
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

// Flush adds what was held back, for a stream that ends or of which something is missing.
func (t *Text) Flush(b []byte) []byte {
	if t.n > 0 {
		b = utf8.AppendRune(b, utf8.RuneError)
	}
	t.n, t.cr = 0, false
	return b
}

// escapes are what characters of ASCII are that do not stand for themselves.
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

// appendRune adds a character; what was no UTF-8 is U+FFFD by now.
func (t *Text) appendRune(b []byte, r rune) []byte {
	if r < utf8.RuneSelf && escapes[r] != "" {
		return t.appendEscaped(b, byte(r))
	}
	t.cr = false
	return utf8.AppendRune(b, r)
}
