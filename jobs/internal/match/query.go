package match

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A Query is a pattern or a literal text to find in stored output. It is immutable and safe for concurrent use.
//
// Its matches are those that a Set would have found while the output came, with the pattern added before the first
// byte; a text matches like the pattern that has all of it escaped. They are found faster if the query allows it.
type Query struct {
	pattern *Pattern // nil: a literal that needs none
	literal []byte   // nil: a pattern; in lower case if fold is set
	fold    bool     // the case of ASCII letters does not count; literal is only ASCII
	foreign bool     // literal contains the replacement of bytes that are not UTF-8
	raw     bool
	lines   bool     // the pattern gets each line by itself; false if that makes no difference
	places  bool     // see Places
	must    [][]byte // texts without which no line matches; nil: none known
}

// QueryOf makes a query of a pattern. With lines each line is searched by itself: no match reaches from one into the
// next, nor depends on its text. The pattern must have the flag m then.
func QueryOf(p *Pattern, raw, lines bool) *Query {
	within := p.inLines()
	q := &Query{pattern: p, raw: raw, lines: lines && !within}
	if lines || within {
		q.must = p.shape.must
	}
	for _, text := range q.must {
		if bytes.Contains(text, []byte(replacement)) {
			q.must = nil // a byte that is not UTF-8 stands for it
			break
		}
	}
	return q
}

// CompileLiteral makes a query of a text, which is not empty and valid UTF-8. With fold the case of letters does not
// count, as under the flag i.
func CompileLiteral(text string, fold, raw bool) (*Query, error) {
	if fold && !isASCII(text) {
		p, err := Compile(Escape(text), "i")
		if err != nil {
			return nil, err
		}
		return QueryOf(p, raw, false), nil
	}
	q := &Query{literal: []byte(text), fold: fold, raw: raw, foreign: strings.Contains(text, replacement)}
	if fold {
		q.literal = appendLower(nil, q.literal)
	}
	return q, nil
}

// Escape returns a pattern that matches only this text.
func Escape(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c < utf8.RuneSelf && strings.ContainsRune(`\^$.*+?()[]{}|/`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// InLines reports whether no match reaches from one line into the next, nor depends on more than the line break before
// it: a search that begins behind a line break finds the same matches as one from further back.
func (q *Query) InLines() bool {
	if q.literal != nil {
		return bytes.IndexByte(q.literal, '\n') < 0
	}
	return q.lines || q.pattern.inLines()
}

// inLines reports the same for a pattern.
func (p *Pattern) inLines() bool { return p.shape.lf && p.shape.behind <= 1 }

// Places returns the query for a caller that only needs to know which lines have matches: these have only their offsets
// and Limited, and further ones on the same line may be left out. With many on each line that is much quicker.
func (q *Query) Places() *Query {
	p := *q
	p.places = true
	return &p
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendLower appends text with its ASCII letters in lower case.
func appendLower(dst, text []byte) []byte {
	at := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[at:] {
		if 'A' <= c && c <= 'Z' {
			dst[at+i] = c + 'a' - 'A'
		}
	}
	return dst
}

// LastLineBreak returns the index in text of the last line break, from a place on, that a query sees, and -1 if there
// is none. text begins Behind/2 before the place, or at the beginning of the stored output: a line break may be part of
// the text of an escape sequence.
func LastLineBreak(text []byte, from int, raw bool) int {
	last := bytes.LastIndexByte(text, '\n')
	if last < from {
		return -1
	}
	if raw {
		return last
	}
	var s Stripper
	found := -1
	for at := 0; at <= last; {
		drop, keep := s.next(text[at : last+1])
		kept := text[at+drop : at+drop+keep]
		if i := bytes.LastIndexByte(kept, '\n'); i >= 0 && at+drop+i >= from {
			found = at + drop + i
		}
		at += drop + keep
	}
	return found
}
