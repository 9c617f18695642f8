package cast

import (
	"encoding/binary"
	"math/bits"
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
	for i := 0; i < len(p); {
		if n := asItIs(p[i:]); n > 0 {
			b = append(b, p[i:i+n]...)
			t.cr = false
			i += n
			continue
		}
		r, size := rune(p[i]), 1
		if r >= utf8.RuneSelf {
			r, size = decode(p[i:])
		}
		if size == 0 {
			t.n = copy(t.carry[:], p[i:])
			break
		}
		b = t.appendRune(b, r)
		i += size
	}
	return b
}

// asItIs is how many of the first bytes of p stand for themselves.
func asItIs(p []byte) (n int) {
	for {
		n += plain(p[n:])
		if n == len(p) || p[n] < utf8.RuneSelf {
			return n
		}
		for n < len(p) && p[n] >= utf8.RuneSelf {
			_, size := utf8.DecodeRune(p[n:])
			if size < 2 {
				return n
			}
			n += size
		}
	}
}

// plain is how many of the first bytes of p are characters of ASCII that stand for themselves:
// none of specials. Recordings of a flood spend their time here.
func plain(p []byte) (n int) {
	for ; len(p)-n >= 8; n += 8 {
		if special := specials(binary.LittleEndian.Uint64(p[n:])); special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for n < len(p) && specials(uint64(p[n])|spaces&^0xff) == 0 {
		n++
	}
	return n
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

const hex = "0123456789abcdef"

// appendRune adds a character; what was no UTF-8 is U+FFFD by now.
func (t *Text) appendRune(b []byte, r rune) []byte {
	cr := t.cr
	t.cr = r == '\r'
	switch {
	case r == '"', r == '\\':
		return append(b, '\\', byte(r))
	case r == '\n':
		if t.Lines && !cr {
			b = append(b, '\\', 'r')
		}
		return append(b, '\\', 'n')
	case r == '\r':
		return append(b, '\\', 'r')
	case r < ' ' || r == 0x7f:
		return append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
	}
	return utf8.AppendRune(b, r)
}
