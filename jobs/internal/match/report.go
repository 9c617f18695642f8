package match

import (
	"bytes"
	"strings"
)

// match makes the Match of the groups at m.
func (s *scan) match(m []place) *Match {
	l := s.lane
	whole := m[0]
	if s.bare {
		return &Match{Start: l.offset(whole.from), End: l.offset(whole.to-1) + 1, Limited: whole.from <= s.givenUp}
	}
	found := &Match{
		Start:   l.offset(whole.from),
		End:     l.offset(whole.to-1) + 1,
		Text:    string(l.view(whole.from, whole.to)),
		Groups:  make([]*string, s.pattern.groups),
		Line:    s.lineAt(whole.from),
		Limited: whole.from <= s.givenUp,
	}
	for i, g := range m[1:] {
		if g.from < 0 {
			continue
		}
		var text string
		if whole.from <= g.from && g.to <= whole.to {
			text = found.Text[g.from-whole.from : g.to-whole.from] // nested groups would each have a copy
		} else {
			text = string(l.view(g.from, g.to)) // in a lookahead or look-behind
		}
		found.Groups[i] = &text
	}
	if len(s.pattern.names) > 0 {
		found.Named = make(map[string]*string, len(s.pattern.names))
	}
	for name, numbers := range s.pattern.names {
		found.Named[name] = nil
		for _, n := range numbers {
			if text := found.Groups[n-1]; text != nil {
				found.Named[name] = text
			}
		}
	}
	return found
}

const (
	maxLine  = 4 << 10 // bytes of Match.Line
	lineGrid = 1 << 10
)

// A lineCache holds the last line that was requested: many matches in a row start on the same one.
type lineCache struct {
	from, until int64 // positions for which text is the answer
	text        string
}

// lineAt returns the line that position pos is on, or the part of a long one around pos.
func (s *scan) lineAt(pos int64) string {
	if s.line.from <= pos && pos < s.line.until {
		return s.line.text
	}
	l := s.lane
	low := max(l.base, s.origin, pos-3*lineGrid)
	before := bytes.LastIndexAny(l.view(low, pos), "\r\n")
	switch {
	case before >= 0:
		low += int64(before) + 1
	case low == pos-3*lineGrid: // a long line, cut so that its neighbours share the cut
		low = l.floor(max(low, (pos/lineGrid-1)/2*2*lineGrid))
	}
	high := min(l.end(), low+maxLine)
	if after := bytes.IndexAny(l.view(pos, high), "\r\n"); after >= 0 {
		high = pos + int64(after)
	}
	text := l.view(low, l.floor(high))
	if l.strip == nil {
		text = new(Stripper).Append(nil, text)
	}
	s.line = lineCache{pos, min(high, low+3*lineGrid), strings.ToValidUTF8(string(text), "")}
	return s.line.text
}
