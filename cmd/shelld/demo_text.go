package main

import (
	"cmp"
	"strings"

	"shelld.dev/shelld/cmd/internal/base"
)

// terminalText makes a program's output readable: it keeps the lines, and makes every control character visible.
func terminalText(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return base.Visible(strings.TrimSuffix(s, "\n"), "\n")
}

// printable makes the control characters in a text visible, for text that should have none.
func printable(s string) string { return base.Visible(s, "") }

// wrap breaks text into lines of at most width characters, within a word only if the word alone is longer. It returns
// at least one line.
func wrap(s string, width int) []string {
	width = max(width, 10)
	var lines []string
	rest := []rune(s)
	for len(rest) > width {
		cut := breakAt(rest, width)
		lines = append(lines, string(rest[:cut]))
		rest = rest[cut:]
		if rest[0] == ' ' {
			rest = rest[1:]
		}
	}
	return append(lines, string(rest))
}

// breakAt returns the end of a line of at most width characters: after a comma in the second half, if there is one, or
// else at a space, but preferably not between the name and the value of a member.
func breakAt(s []rune, width int) int {
	space, colon := 0, 0
	for i := width; i > 0; i-- {
		switch {
		case s[i] != ' ':
		case s[i-1] == ',' && i > width/2:
			return i
		case s[i-1] == ':':
			colon = max(colon, i)
		default:
			space = max(space, i)
		}
	}
	return cmp.Or(space, colon, width)
}

// fold breaks text as a terminal of this width does.
func fold(s string, width int) []string {
	width = max(width, 10)
	var lines []string
	rest := []rune(s)
	for len(rest) > width {
		lines = append(lines, string(rest[:width]))
		rest = rest[width:]
	}
	return append(lines, string(rest))
}
