package search

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/plain"
	"shelld.dev/shelld/jobs/internal/spool"
)

const (
	maxLine      = 4 << 10  // bytes of a line that are returned
	nearWindow   = 8 << 10  // window in which the lines around a match are looked for first
	farWindow    = 64 << 10 // and then, if they are not all in that
	maxText      = 4 << 10  // bytes that are returned of the text and of each group
	textOverhead = 8        // bytes that a text costs in addition to its own
)

// newMatch returns a match without its lines.
func newMatch(m *match.Match) Match {
	found := Match{
		Start: m.Start, End: m.End, Text: m.Text, Groups: m.Groups, Named: m.Named,
		endsLine: m.Text[len(m.Text)-1] == '\n', Limited: m.Limited,
	}
	found.cut(maxText)
	return found
}

// add adds a match to the result. If it does not fit, the search is over, and add returns false.
func (p *stream) add(m *Match) bool {
	if p.matches == p.MaxMatches {
		p.End = FullMatches
		return false
	}
	p.lines(m)
	cost := m.cost()
	if p.matches > 0 && p.used+cost > p.MaxBytes {
		p.End = FullBytes
		return false
	}
	p.fit(m, cost)
	p.used += cost
	p.matches++
	p.res.Matches = append(p.res.Matches, *m)
	return true
}

// fit cuts a match that alone exceeds the limit.
func (p *stream) fit(m *Match, cost int) {
	if cost <= p.MaxBytes {
		return
	}
	m.Cut = true
	share := p.MaxBytes / 4
	m.cut(share / (1 + len(m.Groups) + len(m.Named)))
	m.Line = head(m.Line, share)
	for _, lines := range [][]string{m.Before, m.After} {
		for i := range lines {
			lines[i] = head(lines[i], share/len(lines))
		}
	}
}

// cut shortens each text to at most so many bytes.
func (m *Match) cut(most int) {
	short := func(s string) string {
		if len(s) <= most {
			return s
		}
		m.Cut = true
		return strings.Clone(head(s, most))
	}
	m.Text = short(m.Text)
	for i, g := range m.Groups {
		if g != nil && len(*g) > most {
			text := short(*g)
			m.Groups[i] = &text
		}
	}
	for name, g := range m.Named {
		if g != nil && len(*g) > most {
			text := short(*g)
			m.Named[name] = &text
		}
	}
}

// head returns at most the first n bytes of s, cut to whole characters.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cost returns the bytes that a match counts for in MaxBytes.
func (m *Match) cost() int {
	n := 2*textOverhead + len(m.Text) + len(m.Line)
	for _, g := range m.Groups {
		if n += textOverhead; g != nil {
			n += len(*g)
		}
	}
	for name, g := range m.Named {
		if n += textOverhead + len(name); g != nil {
			n += len(*g)
		}
	}
	for _, lines := range [][]string{m.Before, m.After} {
		for _, l := range lines {
			n += textOverhead + len(l)
		}
	}
	return n
}

// lines sets the line on which a match starts, and those around it.
func (p *stream) lines(m *Match) {
	before, whole := p.plainBefore(m.Start, nearWindow)
	rest, _ := p.plainFrom(m.Start, nearWindow)
	start := lastLineStart(before)
	var cut bool
	m.Line, cut = lineAround(before[start:], rest)
	m.Cut = m.Cut || cut
	if p.Context == 0 {
		return
	}
	m.Before = m.lastLines(before[:start], p.Context, whole)
	if len(m.Before) < p.Context && !whole {
		before, whole = p.plainBefore(m.Start, farWindow)
		m.Before = m.lastLines(before[:lastLineStart(before)], p.Context, whole)
	}
	for _, window := range []int64{nearWindow, farWindow} {
		after, whole := p.plainFrom(m.End, window)
		if m.After = m.linesAfter(after, p.Context, whole); whole || len(m.After) == p.Context {
			break
		}
	}
}

// linesAfter returns the first lines behind the one on which the match ends. text begins at the end of the match.
func (m *Match) linesAfter(text []byte, most int, whole bool) []string {
	if !m.endsLine {
		end := nextBreak(text)
		if end < 0 {
			return nil
		}
		text = text[end+lineBreak(text[end:]):]
	}
	return m.firstLines(text, most, whole)
}

// lastLineStart returns the index at which the last line of a text begins.
func lastLineStart(text []byte) int {
	return max(bytes.LastIndexByte(text, '\n'), bytes.LastIndexByte(text, '\r')) + 1
}

// plainBefore returns the plain text of at most window raw bytes before an offset. whole reports that a line begins
// there: nothing is before it, or nothing that is kept.
func (p *stream) plainBefore(off, window int64) (text []byte, whole bool) {
	low := max(off-window, 0)
	b, gaps := p.read(low, off)
	if n := len(gaps); n > 0 {
		low = min(max(gaps[n-1].To, low), off)
		return new(match.Stripper).Append(nil, b[int64(len(b))-(off-low):]), true
	}
	strip := p.stripperAt(low)
	return strip.Append(nil, b), low == 0
}

// stripperAt returns a stripper in the state that it has after all bytes before an offset.
func (p *stream) stripperAt(off int64) (s match.Stripper) {
	at := p.lastEscape(off)
	for size := int64(256); at >= 0 && at < off; size *= 256 {
		b, gaps := p.read(at, min(at+size, off))
		if len(gaps) > 0 || len(b) == 0 {
			return match.Stripper{}
		}
		if s.Resume(b) { // no other sequence begins before off
			return match.Stripper{}
		}
		at += int64(len(b))
	}
	return s
}

// lastEscape returns the offset of the last escape character before off whose sequence may reach off, or -1. Bytes that
// it found to have none are read only once.
func (p *stream) lastEscape(off int64) int64 {
	low := max(off-match.MaxSequence-1, 0)
	if off < p.clean.From || low > p.clean.To {
		p.clean = spool.Range{From: off, To: off}
	}
	for _, part := range []spool.Range{{From: max(p.clean.To, low), To: off}, {From: low, To: min(p.clean.From, off)}} {
		if part.From >= part.To {
			continue
		}
		b, gaps := p.read(part.From, part.To)
		if len(gaps) > 0 { // a sequence ends at a gap
			part.From = max(gaps[len(gaps)-1].To, part.From)
			b = b[int64(len(b))-max(part.To-part.From, 0):]
		}
		if i := bytes.LastIndexByte(b, 0x1b); i >= 0 {
			at := part.From + int64(i)
			p.clean = spool.Range{From: at + 1, To: max(off, at+1)}
			return at
		}
	}
	p.clean = spool.Range{From: min(p.clean.From, low), To: max(p.clean.To, off)}
	return -1
}

// plainFrom returns the plain text of at most window raw bytes from an offset on. whole reports that nothing follows,
// or nothing that is kept.
func (p *stream) plainFrom(off, window int64) (text []byte, whole bool) {
	to := min(off+window, p.end)
	b, gaps := p.read(off, to)
	if len(gaps) > 0 {
		b = b[:max(gaps[0].From-off, 0)]
	}
	return new(match.Stripper).Append(nil, b), to == p.end || len(gaps) > 0
}

// lineAround returns the line that consists of the end of before and the beginning of rest. If it is long, it returns
// the part around the boundary between them, and reports that it is cut.
func lineAround(before, rest []byte) (line string, cut bool) {
	if end := nextBreak(rest); end >= 0 {
		rest = rest[:end]
	}
	if cut = len(before)+len(rest) > maxLine; cut {
		room := max(maxLine-len(rest), maxLine*3/4)
		before = before[max(len(before)-room, 0):]
		for len(before) > 0 && !utf8.RuneStart(before[0]) {
			before = before[1:]
		}
		rest = rest[:min(len(rest), maxLine-len(before))]
		rest = rest[:plain.WholeRunes(rest)]
	}
	return plain.ValidUTF8(string(append(bytes.Clone(before), rest...))), cut
}

// nextBreak returns the index of the first line break, or -1.
func nextBreak(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// lineBreak returns the length of the line break at the beginning of b: LF, CRLF, CRCRLF (which terminals sometimes
// make of it), or CR alone, which redraws a line.
func lineBreak(b []byte) int {
	n := 0
	for n < len(b) && b[n] == '\r' {
		n++
	}
	if n < len(b) && b[n] == '\n' {
		return n + 1
	}
	return 1
}

// firstLines returns the first lines of a text. With whole, the end of the text is the end of a line.
func (m *Match) firstLines(text []byte, most int, whole bool) (lines []string) {
	for len(lines) < most && len(text) > 0 {
		end := nextBreak(text)
		if end < 0 {
			if whole || len(text) > maxLine {
				lines = append(lines, m.around(text))
			}
			break
		}
		lines = append(lines, m.around(text[:end]))
		text = text[end+lineBreak(text[end:]):]
	}
	return lines
}

// lastLines returns the last lines of a text that ends with a line break or is empty. With whole, its beginning is that
// of a line.
func (m *Match) lastLines(text []byte, most int, whole bool) []string {
	all := [][]byte{}
	for len(text) > 0 {
		end := nextBreak(text)
		if end < 0 {
			break
		}
		if len(all) == most {
			all = append(all[:0], all[1:]...)
		}
		if whole {
			all = append(all, text[:end])
		}
		whole = true
		text = text[end+lineBreak(text[end:]):]
	}
	lines := make([]string, len(all))
	for i, l := range all {
		lines[i] = m.around(l)
	}
	return lines
}

// around returns a line before or after the match as it is returned, cut to maxLine.
func (m *Match) around(b []byte) string {
	if len(b) > maxLine {
		m.Cut = true
		b = b[:maxLine]
		b = b[:plain.WholeRunes(b)]
	}
	return plain.ValidUTF8(string(b))
}
