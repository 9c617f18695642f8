package echo

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"shelld.dev/shelld/jobs/internal/match"
)

// A program that shows the keys that it reads does so at once, so its first output decides whether
// it does. For a key or two there is no other evidence: the same letters may be a word of the
// answer. The echo of longer input may come behind a prompt that the program was just printing. But
// if a prompt stood there already, text that comes without a cursor movement is an answer, up to the
// end of its line.

// A lead is the rule for output that comes first. The zero value accepts anything.
type lead struct {
	strict bool // the echo must come first
	direct bool // text that comes first and does not begin like the echo is not part of it
	skip   bool // such text continues
	from   int  // the length of seen when the cursor last went back
	back   bool // the cursor went back
}

// keys is the longest input, in characters, whose echo must come first.
const keys = 2

func newLead(t *Typed, prompt bool) lead {
	data := bytes.TrimSuffix(bytes.TrimPrefix(t.Data, []byte("\x1b[200~")), []byte("\x1b[201~"))
	control := bytes.IndexFunc(data, func(r rune) bool { return r < ' ' || r == 0x7f })
	if control < 0 && utf8.RuneCount(data) <= keys {
		return lead{strict: true}
	}
	return lead{direct: prompt && control != 0 && !t.Begun}
}

// newline takes a line end of the output. An answer may begin on a new line, an echo of keys does
// not. The lines before are not drawn again, except behind an empty line of the input.
func (f *Finder) newline() {
	if f.front = nil; len(visibleOf(f.seen)) > 0 {
		f.shown = nil
	}
	f.state, f.seen = 0, f.seen[:0]
	if f.lead.skip, f.lead.from = false, 0; f.lead.strict {
		f.finish()
	}
}

// goesBack records that the cursor goes back after this many bytes of visible text.
func (l *lead) goesBack(seen int) { l.skip, l.from, l.back = false, seen, true }

// elsewhere reports whether a visible byte belongs neither to the echo nor to the text drawn around
// it.
func (f *Finder) elsewhere(c byte) bool {
	switch l := &f.lead; {
	case l.strict:
		if !f.leads(c) {
			f.finish()
			return true
		}
	case l.direct && f.next == f.armed:
		l.skip = c != f.plan.needles[0].text[0]
	}
	return f.lead.skip
}

// leads reports whether the text seen with c begins like the echo, or like a redrawn end of the
// prompt with the echo behind it.
func (f *Finder) leads(c byte) bool {
	l, text := &f.lead, f.plan.needles[f.at].text
	whole := append(visibleOf(f.seen), c)
	if bytes.HasPrefix(text, whole) {
		return true
	}
	if !l.back {
		return false
	}
	again := append(visibleOf(f.seen[min(l.from, len(f.seen)):]), c)
	line := slices.Concat(f.front, text)
	for i := range len(f.front) + 1 {
		if bytes.HasPrefix(line[i:], again) {
			return true
		}
	}
	return false
}

func visibleOf(seen []seenByte) []byte {
	var text []byte
	for _, s := range seen {
		if s.char != ' ' {
			text = append(text, s.char)
		}
	}
	return text
}

// A Reader reads stored output. at is the offset of the first byte read: behind off if output was dropped.
type Reader interface {
	Read(p []byte, off int64) (n int, at int64)
}

// maxPrompt bounds the output, in bytes, that is read for the text of a line.
const maxPrompt = 1 << 10

// lineBefore returns the visible text of the line before the offset end of the output.
func lineBefore(out Reader, end int64) []byte {
	var (
		buf   [maxPrompt]byte
		strip match.Stripper
		line  []byte
	)
	from := max(end-maxPrompt, 0)
	n, at := out.Read(buf[:end-from], from)
	if n == 0 || at+int64(n) != end {
		return nil // output was dropped
	}
	for _, c := range strip.Append(nil, buf[:n]) {
		switch {
		case c == '\n':
			line = line[:0]
		case c > ' ':
			line = append(line, c)
		}
	}
	return line
}
