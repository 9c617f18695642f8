package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/schema"
)

// Models write patterns for output as the tools return it: in lines that end in LF. The server matches the terminal's
// raw output: lines end in CR LF, or in several CR and LF if a program has written CR LF itself, and may begin with CR,
// as after a readline prompt. So a pattern is rewritten for the server: a line end in it matches both forms, and ^ and
// $ match at the edges of each line, as in the search of shell_output.

const (
	// lastLineEnd replaces \n at the end of a pattern, and anyLineEnd elsewhere. anyLineEnd looks at the next
	// character, for which lastLineEnd must not wait. Both match either all CR before the LF or none, and anyLineEnd
	// also all CR after it: if [^\n]* could match some of these CR, each line could be matched in two ways, and many
	// lines in so many ways that the pattern would be given up. CR between two LF belong to the first.
	lastLineEnd = `(?:(?<![^\r\n]\r+)\r*\n)`
	anyLineEnd  = `(?:(?<![^\r\n]\r+)\r*\n\r*(?!\r))`
	// lineStart replaces ^: with the flag m alone, ^ would also match within a line end, between CR and LF, and before
	// the CR of a line that begins with one. It does not end in a group or a lookahead, so that a quantifier after it
	// stays invalid.
	lineStart = `^(?!\r+[^\r\n])(?<![^\r\n]\r+(?=\n))`
	// perLine makes ^ and $ match at each line; CR counts as a line end.
	perLine = "m"
)

// maxPattern is the server's limit on the length of a pattern, in characters.
const maxPattern = 4096

// A linePattern is a model's pattern, rewritten for the server.
type linePattern struct {
	text   string
	breaks bool // contains a line end, so it can match several lines
}

// linePatternOf rewrites a pattern. A pattern with CR outside of a class, such as \r?\n, was written for a terminal,
// and only its ^ is rewritten. An invalid pattern stays invalid, and no group number changes: the inserted text does
// not change how the rest is parsed.
func linePatternOf(pattern string) linePattern {
	var p linePattern
	knowsCR := false
	eachAtom(pattern, func(atom, _ string) {
		knowsCR = knowsCR || atom == `\r` || atom == "\r"
		p.breaks = p.breaks || isLF(atom)
	})
	var b strings.Builder
	eachAtom(pattern, func(atom, rest string) {
		switch {
		case isLF(atom) && !knowsCR && rest == "":
			b.WriteString(lastLineEnd)
		case isLF(atom) && !knowsCR:
			b.WriteString(anyLineEnd)
		case atom == "^":
			b.WriteString(lineStart)
		default:
			b.WriteString(atom)
		}
	})
	p.text = b.String()
	return p
}

func isLF(atom string) bool { return atom == `\n` || atom == "\n" }

// eachAtom calls f with each piece of a pattern: an escape with the character after its backslash, a class, or one
// character. rest is the remaining pattern. A class that is not closed extends to the end.
func eachAtom(pattern string, f func(atom, rest string)) {
	for pattern != "" {
		n := atomLength(pattern)
		f(pattern[:n], pattern[n:])
		pattern = pattern[n:]
	}
}

func atomLength(pattern string) int {
	switch _, n := utf8.DecodeRuneInString(pattern); pattern[0] {
	case '\\':
		_, escaped := utf8.DecodeRuneInString(pattern[n:])
		return n + escaped
	case '[':
		return classLength(pattern)
	default:
		return n
	}
}

// classLength returns the length of the class at the start of a pattern. [] and [^] are classes in ECMAScript, so the
// first unescaped ] closes a class.
func classLength(pattern string) int {
	for i := 1; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case ']':
			return i + 1
		}
	}
	return len(pattern)
}

// misfitPattern returns the error for a pattern that is short enough as written, but too long for the server after
// rewriting; "": none. param is the tool's name for the pattern.
func misfitPattern(param, pattern string) string {
	if n := utf8.RuneCountInString(linePatternOf(pattern).text); n > maxPattern && utf8.RuneCountInString(pattern) <= maxPattern {
		return fmt.Sprintf("%s has %d characters when its line ends and ^ are expanded for a terminal, and may have at most %d: shorten it.", param, n, maxPattern)
	}
	return ""
}

// condition returns the wait condition that the output matches the pattern.
func (p linePattern) condition() schema.Condition {
	return schema.Condition{Pattern: new(p.text), Flags: new(perLine)}
}
