package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"shelld/schema"
)

// The patterns of models. What a model writes counts on the output as it is told: in lines that end
// in LF. The server looks at what a terminal gets, where they end in CR LF, or in several CR where a
// program has written CR LF itself, and may begin with CR, as behind a prompt of readline's. So a pattern is written anew for the server: a line end in it is
// either, and ^ and $ are the edges of each line, as they are where shell_output searches.

const (
	// lastLineEnd is \n of a model's where it ends the pattern, and anyLineEnd where it does not:
	// that looks at what comes next, for which the other need not wait. Either takes the CR before LF
	// all or not at all, and the other those behind: could [^\n]* have some of them, each line could be
	// read in two ways, and many lines in so many that the pattern would be given up. CR between two LF
	// belong to the first.
	lastLineEnd = `(?:(?<![^\r\n]\r+)\r*\n)`
	anyLineEnd  = `(?:(?<![^\r\n]\r+)\r*\n\r*(?!\r))`
	// lineStart is ^ of a model's: with the flag m alone it would match within a line end too,
	// between CR and LF, and before the CR of a line that begins with one. It ends in no group and in
	// no lookahead, so that what may not be repeated stays so.
	lineStart = `^(?!\r+[^\r\n])(?<![^\r\n]\r+(?=\n))`
	// perLine has ^ and $ match at each line, CR counting as an end of one.
	perLine = "m"
)

// maxPattern is how many characters the server takes.
const maxPattern = 4096

// A linePattern is a model's pattern as the server is sent it.
type linePattern struct {
	text   string
	breaks bool // it names line ends, and so means more than a line
}

// linePatternOf writes a pattern anew. One that names CR outside of a class, as \r?\n does, was
// written for a terminal, and is left as it is but for ^. What is no pattern stays none, for the
// same reason: nothing that is put in changes how the rest is read, and no group is numbered.
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

// eachAtom calls f with the pieces of a pattern: an escape with the character behind its backslash,
// a class, or one character; rest is what is behind. A class that is never closed goes to the end.
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

// classLength is the length of the class that a pattern begins with. [] and [^] are classes of
// ECMAScript, and so the first ] that is not escaped closes one.
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

// misfitPattern says what is wrong with a pattern that was short enough as it was written, and is
// too long for the server; "": nothing. param is what the tool calls it.
func misfitPattern(param, pattern string) string {
	if n := utf8.RuneCountInString(linePatternOf(pattern).text); n > maxPattern && utf8.RuneCountInString(pattern) <= maxPattern {
		return fmt.Sprintf("%s comes to %d characters where its line ends and ^ are written out for a terminal, and may have %d: shorten it.", param, n, maxPattern)
	}
	return ""
}

// condition is that the output has a model's pattern.
func (p linePattern) condition() schema.Condition {
	return schema.Condition{Pattern: new(p.text), Flags: new(perLine)}
}
