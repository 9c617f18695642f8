package conformance

import (
	"fmt"
	"strings"
)

// strayHeader finds a line that was meant as a header but is none: "send run --", "--send run --", "-- send run",
// or one with a blank around it. Such a line would become text of the section above it, and the resulting error
// would not help.
func strayHeader(file, text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if words, stray := MeantAsHeader(line); stray {
			return &syntaxError{position{file, n, 1}, fmt.Sprintf("this line is no header, but text; expected -- %s --, from the first column on and with nothing behind it", words)}
		}
	}
	return nil
}

// MeantAsHeader reports whether a line has dashes at one end at least and a verb after them, but is not a txtar
// header.
func MeantAsHeader(line string) (words string, stray bool) {
	bare := strings.TrimSpace(line)
	if !strings.HasPrefix(bare, "--") && !strings.HasSuffix(bare, "--") {
		return "", false
	}
	words = strings.Join(strings.Fields(strings.Trim(bare, "- \t")), " ")
	verb, _, _ := strings.Cut(words, " ")
	if _, known := verbs[verb]; !known {
		return "", false
	}
	return words, !strings.HasPrefix(line, "-- ") || !strings.HasSuffix(line, " --")
}
