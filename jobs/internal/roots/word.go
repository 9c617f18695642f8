package roots

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// A word is an argument of a command, as far as it is known.
type word struct {
	text   string // the value; if it is unknown, the start of it
	known  bool
	many   bool   // it may expand to any number of words
	quoted bool   // part of it was quoted, so that it is not a reserved word
	number bool   // it is certainly a number
	tilde  bool   // it begins with a tilde that stands for itself
	name   string // the variable that makes up the whole word; "" = none
}

// wordOf returns a word without its quotes.
func wordOf(w *syntax.Word, lang syntax.LangVariant) word {
	is := build(w, lang).finish(len(w.Parts))
	is.name = parameterOf(w)
	return is
}

// patternOf returns a word in which all quoted and expanded parts are replaced by q.
func patternOf(w *syntax.Word) string {
	return build(w, 0).pattern.String()
}

func build(w *syntax.Word, lang syntax.LangVariant) *builder {
	b := &builder{word: word{known: true}, lang: lang}
	for _, part := range w.Parts {
		b.part(part)
	}
	return b
}

// A builder assembles a word from its parts. The pattern is the word with its quoted parts replaced by q: it shows
// which characters a shell expands.
type builder struct {
	word
	lang    syntax.LangVariant
	value   strings.Builder
	pattern strings.Builder
}

func (b *builder) part(part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.literal(p.Value)
	case *syntax.SglQuoted:
		text, ok := p.Value, true
		if p.Dollar {
			text, ok = ansiC(p.Value)
		}
		b.put(text)
		b.quoted = true
		b.known = b.known && ok
	case *syntax.DblQuoted:
		b.quoted = true
		b.known = b.known && !p.Dollar // it is translated
		b.doubleQuoted(p)
	default:
		b.many = b.many || !isNumber(part)
		b.number = isNumber(part)
		b.unknown()
	}
}

// put adds quoted text.
func (b *builder) put(text string) {
	if b.known {
		b.value.WriteString(text)
	}
	b.pattern.WriteString(strings.Repeat("q", len(text)))
}

func (b *builder) unknown() {
	b.known = false
	b.pattern.WriteByte('q')
}

// literal adds text outside quotes, in which a backslash quotes the next character.
func (b *builder) literal(text string) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			_, size := utf8.DecodeRuneInString(text[i+1:])
			b.put(text[i+1 : i+1+size])
			b.quoted = true
			i += size
			continue
		}
		if b.known {
			b.value.WriteByte(text[i])
		}
		b.pattern.WriteByte(text[i])
	}
}

func (b *builder) doubleQuoted(q *syntax.DblQuoted) {
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			b.many = b.many || isList(part)
			b.number = isNumber(part) && len(q.Parts) == 1
			b.unknown()
			continue
		}
		b.put(unescape(lit.Value))
	}
}

// unescape removes the backslashes that are special within double quotes.
func unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			if i++; text[i] == '\n' {
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func (b *builder) finish(parts int) word {
	w := b.word
	w.text = b.value.String()
	pattern := b.pattern.String()
	w.number = w.number && parts == 1
	if pattern != "[" && strings.ContainsAny(pattern, "*?[") || braces(pattern) || b.lang == syntax.LangZsh && zshExpands(pattern) {
		w.known, w.many, w.text = false, true, ""
	}
	if strings.HasPrefix(w.text, "~") {
		prefix, _, _ := strings.Cut(w.text, "/")
		switch {
		case pattern[0] != '~':
			w.tilde = true
		case !strings.HasPrefix(pattern, prefix):
			w.known = false // partly quoted: shells differ
		}
	}
	if w.known && isDigits(w.text) {
		w.number = true
	}
	return w
}

// braces reports whether a pattern may expand to several words by its braces.
func braces(pattern string) bool {
	_, after, ok := strings.Cut(pattern, "{")
	return ok && (strings.Contains(after, ",") || strings.Contains(after, ".."))
}

// zshExpands reports whether zsh expands a word: =ls becomes the path of ls, parentheses contain qualifiers, which can
// be code, and <1-9> is a pattern.
func zshExpands(pattern string) bool {
	return len(pattern) > 1 && pattern[0] == '=' || strings.ContainsAny(pattern, "()<>^#")
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// isList reports whether an expansion may be several words even within double quotes.
func isList(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	if !ok {
		return false
	}
	if p.Param == nil || p.Param.Value == "@" || p.Flags != nil || p.Excl {
		return true
	}
	index, ok := p.Index.(*syntax.Word)
	return ok && index.Lit() == "@"
}

// isNumber reports whether an expansion is always a number.
func isNumber(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return p.Length || simple(p) && (p.Param.Value == "?" || p.Param.Value == "#" || p.Param.Value == "$" || p.Param.Value == "!")
	}
	return false
}

// simple reports whether an expansion consists only of a name.
func simple(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}
