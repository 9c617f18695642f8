package roots

import "strings"

// continued returns why a shell and the parser differ on lines joined by a backslash, or "". They do within a word: "$\
// (rm)" with a newline in place of the blank is a substitution in a shell, and text for the parser.
func continued(text string) string {
	for at := 0; ; {
		i := strings.Index(text[at:], "\\\n")
		if i < 0 {
			return ""
		}
		i += at
		at = i + 2
		if mayComment(text[strings.LastIndexByte(text[:i], '\n')+1 : i]) {
			return "a comment ends in a backslash, which does not continue it in shells"
		}
		if i > 0 && !isBlank(text[i-1]) && at < len(text) && !isBlank(text[at]) {
			return "a backslash joins two lines within a word"
		}
	}
}

// mayComment reports whether a comment may begin on a line.
func mayComment(line string) bool {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || strings.IndexByte(" \t;&|()<>`", line[i-1]) >= 0) {
			return true
		}
	}
	return false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
