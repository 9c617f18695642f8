package echo

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"shelld/jobs/internal/match"
)

// A program that reads keys shows them at once, if it does: what it prints first
// tells whether it does. Of a key or two that is all there is to go by, as an answer
// may well have them as a word. Longer input may come behind a prompt that was just
// being printed; but where one stood there already, text that comes without any
// movement of the cursor is an answer, up to the end of its line.

// An lead is the look at what comes first. The zero value takes anything.
type lead struct {
	strict bool // the echo has to come first
	direct bool // text that comes first, and is not the echo's, is no part of it
	skip   bool // such text is going on
	from   int  // where in seen the cursor went back last
	back   bool // it did
}

// keys is the longest input, in characters, that has to be echoed at once.
const keys = 2

func newLead(t *Typed, prompt bool) lead {
	data := bytes.TrimSuffix(bytes.TrimPrefix(t.Data, []byte("\x1b[200~")), []byte("\x1b[201~"))
	control := bytes.IndexFunc(data, func(r rune) bool { return r < ' ' || r == 0x7f })
	if control < 0 && utf8.RuneCount(data) <= keys {
		return lead{strict: true}
	}
	return lead{direct: prompt && control != 0 && !t.Begun}
}

// newline takes a line end of the output: an answer goes on to a new line, an echo of
// keys does not. What stood on the lines before is not drawn again, but behind an
// empty line of the input.
func (f *Finder) newline() {
	if f.front = nil; len(visibleOf(f.seen)) > 0 {
		f.shown = nil
	}
	f.state, f.seen = 0, f.seen[:0]
	if f.lead.skip, f.lead.from = false, 0; f.lead.strict {
		f.finish()
	}
}

// goesBack is told that the cursor moves, with so much on the line.
func (l *lead) goesBack(seen int) { l.skip, l.from, l.back = false, seen, true }

// elsewhere reports whether a visible byte says that it is no part of the echo, nor
// of what is drawn around it.
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

// leads reports whether what was seen and c begin like the echo, or like the end of
// the prompt, drawn again, and the echo.
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

// A Reader is stored output.
type Reader interface {
	Read(p []byte, off int64) (n int, at int64)
}

// maxPrompt bounds the output, in bytes, that is looked at for what stood on a line.
const maxPrompt = 1 << 10

// lineBefore is the visible text that stands on the line at an offset of the output.
func lineBefore(out Reader, end int64) []byte {
	var (
		buf   [maxPrompt]byte
		strip match.Stripper
		line  []byte
	)
	from := max(end-maxPrompt, 0)
	n, at := out.Read(buf[:end-from], from)
	if n == 0 || at+int64(n) != end {
		return nil // dropped
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
