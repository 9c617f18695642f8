package record

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"shelld/conformance/internal/wire"
)

// What a session file has in a body is made as JSON values, with these for what JSON does
// not have.

// A spelled is a piece of a session as it is written: a variable, a pattern.
type spelled string

// widest is how long a line of a session may be before it is broken.
const widest = 110

// write spells a value. What does not fit a line has its members or elements on lines of
// their own.
func writeValue(v any, indent string) string {
	line := writeLine(v)
	if len(indent)+len(line) <= widest {
		return line
	}
	inner := indent + "\t"
	var b strings.Builder
	switch v := v.(type) {
	case map[string]any:
		b.WriteString("{\n")
		for _, name := range memberOrder(v) {
			b.WriteString(inner + memberName(name) + ": " + writeValue(v[name], inner) + ",\n")
		}
		b.WriteString(indent + "}")
	case []any:
		b.WriteString("[\n")
		for _, e := range v {
			b.WriteString(inner + writeValue(e, inner) + ",\n")
		}
		b.WriteString(indent + "]")
	default:
		return line
	}
	return b.String()
}

func writeLine(v any) string {
	var b strings.Builder
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, name := range memberOrder(v) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(memberName(name) + ": " + writeLine(v[name]))
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(writeLine(e))
		}
		b.WriteByte(']')
	case spelled:
		return string(v)
	case string:
		return string(phrase{{text: v}}.quoted())
	default:
		return string(wire.Encode(v))
	}
	return b.String()
}

// early are the members that a reader looks for first; the others follow by their names.
var early = []string{"handle", "kind", "command", "argv", "input", "keys", "send", "appendNewline", "bytesWritten", "pattern", "reason", "index", "match", "job", "outcome", "output", "text", "base64", "offset", "exit", "code", "signal"}

func memberOrder(o map[string]any) []string {
	rank := func(name string) int {
		if i := slices.Index(early, name); i >= 0 {
			return i
		}
		return len(early)
	}
	return slices.SortedFunc(maps.Keys(o), func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

func memberName(name string) string {
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return r > 127 || !wire.IsWord(byte(r)) }) < 0 {
		return name
	}
	return string(wire.Encode(strings.ReplaceAll(name, "${", "$${")))
}

// quoted is a phrase as a string of a session. A variable alone is one without quotes.
func (p phrase) quoted() spelled {
	if len(p) == 1 && p[0].variable != "" {
		return spelled("$" + p[0].variable)
	}
	return spelled(wire.Encode(p.join(func(s string) string { return strings.ReplaceAll(s, "${", "$${") })))
}

// join puts a phrase together, its text through plain.
func (p phrase) join(plain func(string) string) string {
	var b strings.Builder
	for _, w := range p {
		switch {
		case w.variable != "" && strings.HasSuffix(b.String(), "$"):
			b.WriteString(plain(w.text)) // $${ would not be a variable
		case w.variable != "":
			b.WriteString("${" + w.variable + "}")
		case w.pattern != "":
			b.WriteString(w.pattern)
		default:
			b.WriteString(plain(w.text))
		}
	}
	return b.String()
}

// regex is a phrase as a pattern: the text begins with it, or is no more than it.
func (p phrase) regex(whole bool) spelled {
	source := "^" + p.join(regexp.QuoteMeta)
	if whole {
		source += "$"
	}
	if strings.IndexFunc(source, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }) < 0 {
		return spelled("~`" + source + "`")
	}
	return spelled("~" + string(wire.Encode(source)))
}

// expected is a phrase as it is expected of a server, all of it or as the beginning.
func (p phrase) expected(whole bool) any {
	if whole && p.literal() {
		return p.quoted()
	}
	return p.regex(whole)
}
