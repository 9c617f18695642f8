package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// MinLength is the least length of a value, in bytes and without the white space around it.
// A shorter one stands in too much of any output by chance.
const MinLength = 6

// Forms returns what to look for where a value is secret: the value without the white space
// around it, as a file's last line end, which programs take off; what a terminal makes of its
// line ends; and each of its lines that is long enough. Nil: the value is too short.
func Forms(value string) (all []string) {
	value = strings.TrimSpace(value)
	if len(value) < MinLength {
		return nil
	}
	if !strings.ContainsAny(value, "\r\n") {
		return []string{value}
	}
	plain := strings.ReplaceAll(value, "\r\n", "\n")
	all = []string{value, plain, onTerminal(value), onTerminal(plain)}
	for line := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if line = strings.TrimSpace(line); len(line) >= MinLength && !isRule(line) {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// onTerminal is text as a terminal's line discipline passes it on.
func onTerminal(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// isRule says whether a line is one character, over and over: it says nothing, and stands in
// many a text.
func isRule(line string) bool {
	_, n := utf8.DecodeRuneInString(line)
	return strings.ReplaceAll(line, line[:n], "") == ""
}

// Clean returns a text without the values of the set.
func (s *Set) Clean(text string) string {
	r := NewRedactor(s)
	clean := string(r.Write([]byte(text)))
	return clean + string(r.Flush())
}

// CleanPart is Clean for a text that may have been cut off: where it ends with half of a value
// or more, that is replaced as well. A ? at its end may stand for a part of a character.
func (s *Set) CleanPart(text string) string {
	clean, ends := s.cleanPart(text)
	if cut, is := strings.CutSuffix(text, "?"); is && !ends {
		if less, ends := s.cleanPart(cut); ends {
			return less
		}
	}
	return clean
}

// cleanPart says as well whether the text ends with half of a value or more.
func (s *Set) cleanPart(text string) (clean string, ends bool) {
	r := NewRedactor(s)
	clean = string(r.Write([]byte(text)))
	clean += string(r.Pause())
	if all, _ := r.Held(); all > 0 {
		return clean + Mark, true
	}
	return clean, false
}
