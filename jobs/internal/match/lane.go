package match

import (
	"sort"
	"unicode/utf8"
)

// replacement is the text that patterns see in place of a byte that is not UTF-8, and in place of the bytes lost in a
// gap.
const replacement = "\uFFFD"

// A lane is one form of the stream, raw or plain, as patterns see it: a window of valid UTF-8 and the mapping from
// positions in it to raw offsets. A position counts bytes of this form since the Set began and is never reused.
type lane struct {
	strip *Stripper // nil in the raw lane
	text  []byte    // the window
	base  int64     // position of text[0]
	segs  []segment // ascending; the first begins at or before base

	// An incomplete character, or bytes that may yet turn out to be one; not in the window.
	held   [utf8.UTFMax]byte
	heldAt [utf8.UTFMax]int64 // their raw offsets
	nheld  int

	watches []*watch
}

// A segment maps the positions from at up to the next segment's to raw offsets from raw on: one to one, or three to one
// if each raw byte was replaced.
type segment struct {
	at, raw  int64
	replaced bool
}

// end returns the position after the last byte so far.
func (l *lane) end() int64 { return l.base + int64(len(l.text)) }

// view returns the window from position from up to position to.
func (l *lane) view(from, to int64) []byte { return l.text[from-l.base : to-l.base] }

// floor returns the largest position up to pos, within the window, at which a
// character starts.
func (l *lane) floor(pos int64) int64 {
	i := max(pos-l.base, 0)
	for i > 0 && i < int64(len(l.text)) && !utf8.RuneStart(l.text[i]) {
		i--
	}
	return l.base + i
}

// next returns the position after the character at pos.
func (l *lane) next(pos int64) int64 {
	_, size := utf8.DecodeRune(l.text[pos-l.base:])
	return pos + int64(size)
}

// put takes the next raw bytes, which are at raw offset at.
func (l *lane) put(b []byte, at int64) {
	if l.strip == nil {
		l.putText(b, at)
		return
	}
	for len(b) > 0 {
		drop, keep := l.strip.next(b)
		if keep > 0 {
			l.putText(b[drop:drop+keep], at+int64(drop))
		}
		b = b[drop+keep:]
		at += int64(drop + keep)
	}
}

// putText appends bytes of this form that are adjacent in the raw stream.
func (l *lane) putText(b []byte, at int64) {
	for l.nheld > 0 && len(b) > 0 {
		l.hold(b[0], at)
		b, at = b[1:], at+1
	}
	whole := len(b)
	if n := incomplete(b); n > 0 {
		whole -= n
	}
	if utf8.Valid(b[:whole]) {
		l.appendText(b[:whole], at)
		b, at = b[whole:], at+int64(whole)
	}
	for i, c := range b {
		l.hold(c, at+int64(i))
	}
}

// incomplete returns the number of bytes at the end of b that may begin a character.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// hold takes one byte and appends the held bytes that are then a complete character, or can never be one.
func (l *lane) hold(b byte, at int64) {
	l.held[l.nheld], l.heldAt[l.nheld] = b, at
	l.nheld++
	for l.nheld > 0 && utf8.FullRune(l.held[:l.nheld]) {
		c, size := utf8.DecodeRune(l.held[:l.nheld])
		if c == utf8.RuneError && size == 1 {
			l.segment(segment{l.end(), l.heldAt[0], true})
			l.text = append(l.text, replacement...)
		} else {
			for i := range size { // an escape sequence may have been in between
				l.appendText(l.held[i:i+1], l.heldAt[i])
			}
		}
		copy(l.held[:], l.held[size:l.nheld])
		copy(l.heldAt[:], l.heldAt[size:l.nheld])
		l.nheld -= size
	}
}

// replaceHeld replaces the held bytes: they will not become a character.
func (l *lane) replaceHeld() {
	for i := range l.nheld {
		l.segment(segment{l.end(), l.heldAt[i], true})
		l.text = append(l.text, replacement...)
	}
	l.nheld = 0
}

func (l *lane) appendText(b []byte, at int64) {
	if len(b) > 0 {
		l.segment(segment{l.end(), at, false})
		l.text = append(l.text, b...)
	}
}

// segment adds s unless the last one continues in the same way.
func (l *lane) segment(s segment) {
	if n := len(l.segs); n > 0 {
		last := l.segs[n-1]
		if last.replaced == s.replaced && last.offset(s.at) == s.raw {
			return
		}
	}
	l.segs = append(l.segs, s)
}

// offset returns the raw offset of the byte at position pos.
func (s segment) offset(pos int64) int64 {
	if s.replaced {
		return s.raw + (pos-s.at)/int64(len(replacement))
	}
	return s.raw + pos - s.at
}

// offset returns the raw offset of the byte at position pos, which is in the window.
func (l *lane) offset(pos int64) int64 {
	after := sort.Search(len(l.segs), func(i int) bool { return l.segs[i].at > pos })
	return l.segs[after-1].offset(pos)
}

// adjacent reports whether the bytes between two positions are adjacent in the raw stream: nothing between them was
// removed or replaced.
func (l *lane) adjacent(from, to int64) bool {
	after := sort.Search(len(l.segs), func(i int) bool { return l.segs[i].at > from })
	return after == len(l.segs) || l.segs[after].at > to
}

// gap forgets everything: the next byte follows unknown output, which patterns that look back see as one replacement
// character.
func (l *lane) gap() {
	if l.strip != nil {
		*l.strip = Stripper{}
	}
	l.base = l.end()
	l.nheld = 0
	l.text = []byte(replacement)
	l.segs = []segment{{l.base, 0, true}}
	for _, w := range l.watches {
		w.restart(l.base, l.end())
	}
}

// restart forgets everything: the next byte is the first.
func (l *lane) restart() {
	if l.strip != nil {
		*l.strip = Stripper{}
	}
	l.base, l.nheld, l.text, l.segs = l.end(), 0, l.text[:0], l.segs[:0]
	for _, w := range l.watches {
		w.restart(l.base, l.base)
	}
}

// rawFrom returns the raw offset of the byte at pos or, if that has not come, of the first byte that is not in the
// window; next is the raw offset of the next byte of the stream.
func (l *lane) rawFrom(pos, next int64) int64 {
	switch {
	case pos < l.end():
		return l.offset(pos)
	case l.nheld > 0:
		return l.heldAt[0]
	}
	return next
}

const (
	roomy = 32 << 10 // a larger buffer of a window is released once it is nearly empty
	spare = 8 << 10  // bytes that may stay at the front before the rest is moved
)

// trim drops the text that no watch needs any more.
func (l *lane) trim() {
	low := l.end()
	for _, w := range l.watches {
		low = min(low, w.needs())
	}
	l.cut(low)
}

// cut drops the text before low, if that pays.
func (l *lane) cut(low int64) {
	drop := int(low - l.base)
	rest := l.text[drop:]
	switch {
	case cap(l.text) > roomy && len(rest) < spare:
		l.text = append(make([]byte, 0, 2*spare), rest...)
	case drop == 0 || drop < len(rest)/2 || drop < spare && len(rest) > 0:
		return // moving the rest would not pay
	default:
		l.text = l.text[:copy(l.text, rest)]
	}
	l.base = low
	keep := max(sort.Search(len(l.segs), func(i int) bool { return l.segs[i].at > low })-1, 0)
	if cap(l.segs) > 4*(len(l.segs)-keep)+1024 {
		l.segs = append([]segment(nil), l.segs[keep:]...)
	} else {
		l.segs = l.segs[:copy(l.segs, l.segs[keep:])]
	}
}
