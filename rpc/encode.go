package rpc

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// outputEvent is one job/output notification (protocol section 5).
type outputEvent struct {
	// Handle is the job's handle, Seq the number of the event on this connection for this job.
	Handle, Seq int64
	// Stream is "pty", "stdout" or "stderr".
	Stream string
	// Offset is the position of Data's first byte in that stream, in raw bytes.
	Offset int64
	// Data is the raw output. It is only read, and only during the call.
	Data []byte
	// LeftOut is the number of raw bytes of this piece that are not in Data.
	LeftOut int
	// Base64 asks for base64 even if Data could be sent as text.
	Base64 bool
	// GapFrom and GapTo bound the bytes before Offset that are skipped. There is no gap if GapTo <= GapFrom.
	GapFrom, GapTo int64
	// Late marks bytes beyond the offsets at which job/exited was sent, Restart the first event of a new subscription.
	Late, Restart bool
}

// bytes returns the number of raw bytes that the event covers.
func (e *outputEvent) bytes() int64 { return int64(len(e.Data) + e.LeftOut) }

// outputOverheadBytes is the maximum size of a notification's body without Data (numbers are not negative).
const outputOverheadBytes = 320

// appendOutput appends the body of the whole notification to dst. Data is sent as text if all of it is UTF-8, and as
// base64 otherwise, whatever Base64 says, so that an event always decodes to the exact bytes. It allocates only to grow
// dst: the body takes at most 6 bytes for each byte of Data, and outputOverheadBytes.
func appendOutput(dst []byte, e *outputEvent) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"job/output","params":{"handle":`...)
	dst = strconv.AppendInt(dst, e.Handle, 10)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = append(dst, `,"stream":"`...)
	dst = append(dst, e.Stream...)
	dst = append(dst, `","offset":`...)
	dst = strconv.AppendInt(dst, e.Offset, 10)
	dst = append(dst, `,"bytes":`...)
	dst = strconv.AppendInt(dst, e.bytes(), 10)
	dst = appendOutputMarks(dst, e)
	dst = appendOutputData(dst, e)
	return append(dst, `}}`...)
}

// appendOutputMarks appends the members that only some events have.
func appendOutputMarks(dst []byte, e *outputEvent) []byte {
	if e.GapTo > e.GapFrom {
		dst = append(dst, `,"gap":{"from":`...)
		dst = strconv.AppendInt(dst, e.GapFrom, 10)
		dst = append(dst, `,"to":`...)
		dst = strconv.AppendInt(dst, e.GapTo, 10)
		dst = append(dst, '}')
	}
	if e.Late {
		dst = append(dst, `,"late":true`...)
	}
	if e.Restart {
		dst = append(dst, `,"restart":true`...)
	}
	return dst
}

// appendOutputData tries text first, and removes it again at the first byte that is not UTF-8. It checks for UTF-8
// while it escapes: a separate pass for the check cost half as much as the escaping.
func appendOutputData(dst []byte, e *outputEvent) []byte {
	before := len(dst)
	if !e.Base64 {
		dst = append(dst, `,"text":`...)
		var valid bool
		if dst, valid = appendQuoted(dst, e.Data); valid {
			return dst
		}
		dst = dst[:before]
	}
	dst = append(dst, `,"base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, e.Data)
	return append(dst, '"')
}

// appendJSONString appends s as a JSON string. It escapes only the bytes that JSON requires to be escaped: the quote,
// the backslash and the bytes below 0x20. s should be UTF-8: invalid bytes become U+FFFD, since the wire must stay JSON
// in any case. The output of jobs does not come here: appendOutput loses no bytes.
func appendJSONString(dst []byte, s []byte) []byte {
	before := len(dst)
	dst, valid := appendQuoted(dst, s)
	if !valid {
		dst, _ = appendQuoted(dst[:before], bytes.ToValidUTF8(s, []byte("\uFFFD")))
	}
	return dst
}

// appendQuoted appends s as a JSON string, up to the first byte that is not UTF-8. Then it reports false, and the
// caller must discard what was appended.
//
// It copies eight bytes at a time, even if only some of them need no escape: the next bytes overwrite the surplus.
// Coloured output has an escape every few bytes, and calling copy for the bytes between took longer.
func appendQuoted(dst, s []byte) ([]byte, bool) {
	q := quoter{buf: dst[:cap(dst)], n: len(dst)}
	q.reserve(len(s) + len(s)/8)
	q.buf[q.n] = '"'
	q.n++
	for i := 0; i < len(s); {
		q.reserve(0)
		if i+8 <= len(s) {
			w := binary.LittleEndian.Uint64(s[i:])
			binary.LittleEndian.PutUint64(q.buf[q.n:], w)
			special := specialBytes(w)
			if special == 0 {
				i += 8
				q.n += 8
				continue
			}
			plain := bits.TrailingZeros64(special) / 8
			i += plain
			q.n += plain
		}
		switch e := &escapes[s[i]]; {
		case e.n > 0:
			binary.LittleEndian.PutUint64(q.buf[q.n:], e.text)
			q.n += e.n
			i++
		case s[i] >= utf8.RuneSelf:
			run, valid := nonASCII(s[i:])
			if !valid {
				return dst, false
			}
			q.copy(s, i, run)
			i += run
		default: // near the end
			q.buf[q.n] = s[i]
			q.n++
			i++
		}
	}
	q.buf[q.n] = '"'
	return q.buf[:q.n+1], true
}

// A quoter is a JSON string under construction: the first n bytes of buf.
type quoter struct {
	buf []byte
	n   int
}

// roomAhead is the number of bytes for which a quoter always has room: twice eight, and the closing quote.
const roomAhead = 17

// reserve makes room for more bytes, and always for roomAhead.
func (q *quoter) reserve(more int) {
	if len(q.buf)-q.n < more+roomAhead {
		grown := slices.Grow(q.buf[:q.n], more+roomAhead)
		q.buf = grown[:cap(grown)]
	}
}

// copy appends a run of s.
func (q *quoter) copy(s []byte, from, run int) {
	if run <= 8 && from+8 <= len(s) {
		binary.LittleEndian.PutUint64(q.buf[q.n:], binary.LittleEndian.Uint64(s[from:]))
	} else {
		q.reserve(run)
		copy(q.buf[q.n:], s[from:from+run])
	}
	q.n += run
}

// escapes holds the shortest escape for each byte that must be escaped in a JSON string: n bytes of text, the first in
// the lowest byte.
var escapes = func() (all [256]struct {
	text uint64
	n    int
}) {
	for c := range all {
		if c < 0x20 || c == '"' || c == '\\' {
			var text [8]byte
			all[c].n = copy(text[:], appendEscape(nil, byte(c)))
			all[c].text = binary.LittleEndian.Uint64(text[:])
		}
	}
	return all
}()

// appendEscape appends the shortest JSON escape of c, a byte that must be escaped in a JSON string.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}

// plainASCII returns the number of bytes at the start of b that are ASCII and need no escape in a JSON string. It
// checks eight bytes at a time: strings are most of the data that this package reads and writes.
func plainASCII(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if special := specialBytes(binary.LittleEndian.Uint64(b[i:])); special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// nonASCII returns the length of the run of characters at the start of b that are not ASCII. valid is false if an
// invalid character ended the run. The common characters of two and three bytes are recognized without a call for each.
func nonASCII(b []byte) (n int, valid bool) {
	for n < len(b) && b[n] >= utf8.RuneSelf {
		rest := b[n:]
		switch c := rest[0]; {
		case len(rest) >= 3 && c >= 0xe1 && c <= 0xec && continues(rest[1]) && continues(rest[2]):
			n += 3
		case len(rest) >= 2 && c >= 0xc2 && c <= 0xdf && continues(rest[1]):
			n += 2
		default:
			r, size := utf8.DecodeRune(rest)
			if r == utf8.RuneError && size == 1 {
				return n, false
			}
			n += size
		}
	}
	return n, true
}

// continues reports whether c is a byte of a character after its first.
func continues(c byte) bool { return c&0xc0 == 0x80 }

// specialBytes sets the top bit of each byte of w that is below 0x20, a quote, a backslash, or not ASCII. Bytes above
// the lowest such byte may be set wrongly, since a subtraction borrows from its left: only the lowest bit counts.
func specialBytes(w uint64) uint64 {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	quote := w ^ '"'*ones
	slash := w ^ '\\'*ones
	return ((w-0x20*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash | w) & tops
}

// validUTF8Prefix returns the length of the longest prefix of b that consists of whole characters of valid UTF-8, and
// whether all of the rest is the start of one more character, valid so far (1 to 3 bytes).
func validUTF8Prefix(b []byte) (n int, incomplete bool) {
	whole := len(b) - incompleteTail(b)
	if utf8.Valid(b[:whole]) {
		return whole, whole < len(b)
	}
	for {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size <= 1 {
			return n, false
		}
		n += size
	}
}

// incompleteTail returns the number of bytes at the end of b (0 to 3) that are the start of a character, valid so far.
// It reads only those, so a sender that holds such a tail back needs no pass over the chunk before appendOutput's.
func incompleteTail(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if !utf8.RuneStart(tail[0]) {
			continue
		}
		if utf8.FullRune(tail) {
			return 0
		}
		return n
	}
	return 0
}
