package search

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/plain"
	"shelld/jobs/internal/spool"
)

const (
	maxLine      = 4 << 10  // bytes that are told of a line
	nearWindow   = 8 << 10  // in which the lines before and after a match are looked for first
	farWindow    = 64 << 10 // and then
	maxText      = 4 << 10  // bytes that are told of what matched, and of each group
	textOverhead = 8        // bytes that a text counts for beside its own
)

// told is a match as it is told, but for its lines.
func (p *stream) told(m *match.Match) Match {
	told := Match{
		Start: m.Start, End: m.End, Text: m.Text, Groups: m.Groups, Named: m.Named,
		endsLine: m.Text[len(m.Text)-1] == '\n', Limited: m.Limited,
	}
	told.cut(maxText)
	return told
}

// add tells a match, unless that would be too much: then the search is over.
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

// fit cuts a match that would be too much by itself.
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

// cut leaves at most so many bytes of each text.
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

// head is at most the first n bytes of a text, without half a character at the end.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cost is how many bytes a match counts for.
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

// lines finds the line on which a match starts, and those around it.
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

// linesAfter are the first lines behind the one on which a match ends; text is what follows
// on the match.
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

// lastLineStart is where the last line of a text begins.
func lastLineStart(text []byte) int {
	return max(bytes.LastIndexByte(text, '\n'), bytes.LastIndexByte(text, '\r')) + 1
}

// plainBefore is the plain text before an offset, of at most so many raw bytes. whole says
// that a line begins where it begins: nothing stands before it, or nothing that is kept.
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

// stripperAt is what has seen all before an offset.
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

// lastEscape is where the last escape character stands before an offset from which a sequence
// may reach that far; -1: there is none. What was found to be without one is looked at once.
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
		if len(gaps) > 0 { // a sequence ends where something is gone
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

// plainFrom is the plain text from an offset on, of at most so many raw bytes. whole says
// that nothing follows, or nothing that is kept.
func (p *stream) plainFrom(off, window int64) (text []byte, whole bool) {
	to := min(off+window, p.end)
	b, gaps := p.read(off, to)
	if len(gaps) > 0 {
		b = b[:max(gaps[0].From-off, 0)]
	}
	return new(match.Stripper).Append(nil, b), to == p.end || len(gaps) > 0
}

// lineAround is a line of which the text before a place and the one behind it are given; of
// a long one what is around the place, and that it is cut.
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

// nextBreak is where the first line break begins; -1: there is none.
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

// lineBreak is how long the line break is at the beginning of b: LF, CRLF, which terminals
// make CRCRLF of now and then, or CR alone, with which a line is written anew.
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

// firstLines are the first lines of a text; with whole, its end is the end of one.
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

// lastLines are the last lines of a text that ends with a line break or is empty; with
// whole, its beginning is that of a line.
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

// around is a line before or after the match as it is told.
func (m *Match) around(b []byte) string {
	if len(b) > maxLine {
		m.Cut = true
		b = b[:maxLine]
		b = b[:plain.WholeRunes(b)]
	}
	return plain.ValidUTF8(string(b))
}
