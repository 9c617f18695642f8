package record

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"shelld.dev/shelld/conformance/internal/wire"
)

// The body of a step is built from JSON values, with the following types for things that JSON does not have.

// A spelled is literal session text: a variable, a pattern.
type spelled string

// widest is the maximum length of a line of a session before it is broken.
const widest = 110

// writeValue formats a value. If it does not fit a line, its members or elements go on lines of their own.
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

// early lists the members that a reader looks for first; the others follow in the order of their names.
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

// quoted returns a phrase as a string of a session. A phrase that is a single variable has no quotes.
func (p phrase) quoted() spelled {
	if len(p) == 1 && p[0].variable != "" {
		return spelled("$" + p[0].variable)
	}
	return spelled(wire.Encode(p.join(func(s string) string { return strings.ReplaceAll(s, "${", "$${") })))
}

// join concatenates a phrase, with its plain text passed through plain.
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

// regex returns a phrase as a pattern. If whole, the pattern matches only the whole text, otherwise its
// beginning.
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

// expected returns the pattern for a text of the server, for all of it or its beginning.
func (p phrase) expected(whole bool) any {
	if whole && p.literal() {
		return p.quoted()
	}
	return p.regex(whole)
}
