package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// MinLength is the minimum length of a value, in bytes and without surrounding white space. A shorter value would
// match too much output by chance.
const MinLength = 6

// Forms returns the byte sequences to search for if a value is secret: the value without surrounding white space,
// such as the last line end of a file, which programs remove; the value with the line ends that a terminal makes;
// and each of its lines that is long enough. It returns nil if the value is too short.
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

// onTerminal returns text as a terminal's line discipline prints it.
func onTerminal(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// isRule reports whether a line is one repeated character: such a line is no secret, and common in other text.
func isRule(line string) bool {
	_, n := utf8.DecodeRuneInString(line)
	return strings.ReplaceAll(line, line[:n], "") == ""
}

// Clean returns text without the values of the set.
func (s *Set) Clean(text string) string {
	r := NewRedactor(s)
	clean := string(r.Write([]byte(text)))
	return clean + string(r.Flush())
}

// CleanPart is Clean for a text that may be truncated: if it ends with half of a value or more, that part is
// replaced as well. A ? at its end may stand for a part of a character.
func (s *Set) CleanPart(text string) string {
	clean, ends := s.cleanPart(text)
	if cut, is := strings.CutSuffix(text, "?"); is && !ends {
		if less, ends := s.cleanPart(cut); ends {
			return less
		}
	}
	return clean
}

// cleanPart also reports whether the text ends with half of a value or more.
func (s *Set) cleanPart(text string) (clean string, ends bool) {
	r := NewRedactor(s)
	clean = string(r.Write([]byte(text)))
	clean += string(r.Pause())
	if all, _ := r.Held(); all > 0 {
		return clean + Mark, true
	}
	return clean, false
}
