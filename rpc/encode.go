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
	// Data is the raw output; it is only read, and only during the call.
	Data []byte
	// LeftOut is how many raw bytes of this piece are not in Data.
	LeftOut int
	// Base64 asks for base64 even where Data could be sent as text.
	Base64 bool
	// GapFrom and GapTo bound the bytes before Offset that will not come; no gap where GapTo <= GapFrom.
	GapFrom, GapTo int64
	// Late marks bytes beyond the offsets at which job/exited was sent, Restart the first event of a new subscription.
	Late, Restart bool
}

// bytes is how many raw bytes the event tells of.
func (e *outputEvent) bytes() int64 { return int64(len(e.Data) + e.LeftOut) }

// outputOverheadBytes is the most that the body of a notification takes beside Data (numbers are not negative).
const outputOverheadBytes = 320

// appendOutput appends the body of the whole notification to dst. Data goes out as text where it is UTF-8 throughout
// and as base64 otherwise, whatever Base64 says, so that an event always decodes to the exact bytes. It allocates only
// to grow dst: the body takes at most 6 bytes for one of Data and outputOverheadBytes.
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

// appendOutputData tries text first and takes it back at the first byte that is no UTF-8. Whether the bytes are UTF-8
// is found out while they are escaped: a pass of its own for that cost as much as half of the escaping.
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

// appendJSONString appends s as a JSON string. It escapes only what JSON must have escaped: the quote, the backslash
// and the bytes below 0x20. s should be UTF-8: what is not becomes U+FFFD, since the wire must stay JSON whatever a
// caller passes. Output of jobs never comes here; appendOutput does not lose bytes.
func appendJSONString(dst []byte, s []byte) []byte {
	before := len(dst)
	dst, valid := appendQuoted(dst, s)
	if !valid {
		dst, _ = appendQuoted(dst[:before], bytes.ToValidUTF8(s, []byte("\uFFFD")))
	}
	return dst
}

// appendQuoted appends s as a JSON string, up to the first byte that is no UTF-8: then it reports false, and the
// caller takes back what was appended.
//
// It copies eight bytes at a time, also where fewer of them stand for themselves: what is too much is written over
// next. Coloured output has an escape every few bytes, and a call to copy for what is between two took longer.
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

// A quoter is a JSON string on its way: n bytes of buf.
type quoter struct {
	buf []byte
	n   int
}

// roomAhead is how many bytes a quoter can always take: twice eight, and the closing quote.
const roomAhead = 17

// reserve makes room for more bytes, and for roomAhead in any case.
func (q *quoter) reserve(more int) {
	if len(q.buf)-q.n < more+roomAhead {
		grown := slices.Grow(q.buf[:q.n], more+roomAhead)
		q.buf = grown[:cap(grown)]
	}
}

// copy takes a run of s.
func (q *quoter) copy(s []byte, from, run int) {
	if run <= 8 && from+8 <= len(s) {
		binary.LittleEndian.PutUint64(q.buf[q.n:], binary.LittleEndian.Uint64(s[from:]))
	} else {
		q.reserve(run)
		copy(q.buf[q.n:], s[from:from+run])
	}
	q.n += run
}

// escapes has for each byte that JSON strings do not hold as it is the shortest way to write it, in n bytes of text,
// the first of which is the lowest.
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

// appendEscape appends the shortest JSON escape of c, one of the bytes that JSON strings do not hold as they are.
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

// plainASCII returns how many bytes at the start of b are ASCII and stand for themselves in a JSON string. It looks
// at eight bytes at a time: strings are most of what this package reads and writes.
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

// nonASCII returns the length of the run of characters at the start of b that are not ASCII, and whether no broken one
// ended it. The common ones of two and three bytes are told without a call for each.
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

// continues: c is a byte of a character after its first.
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

// validUTF8Prefix returns the length of the longest prefix of b that is whole characters of valid UTF-8, and whether
// all of the rest is the start of one more character, valid so far (1 to 3 bytes).
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

// incompleteTail returns how many bytes at the end of b (0 to 3) are the start of a character, valid so far. It looks
// at no more than those, so a sender that holds such a tail back needs no pass over the chunk before appendOutput's.
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
