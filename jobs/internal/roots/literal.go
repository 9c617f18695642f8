package roots

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The parser keeps some text as it is that a shell expands: the text of an extended glob, a
// process substitution within ${x:-…}, a dollar before something that it does not know. So
// text that the parser takes for plain is plain only if no shell finds an expansion in it.

// literals looks at the parts of a word, or of a text in double quotes, that the parser takes for
// plain. Within quotes and here-documents, only $ and ` expand.
func (r *reader) literals(parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			r.plainText(p, quoted)
		case *syntax.ExtGlob:
			if strings.ContainsAny(p.Pattern.Value, "$`<>'\"\\") {
				r.note("shells expand what is in an extended pattern, which is not read")
			}
		}
	}
}

func (r *reader) plainText(lit *syntax.Lit, quoted bool) {
	text := lit.Value
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			r.note("a backquote stands where the shell may take it for a substitution")
		case '$':
			if !r.loneDollar(lit, i, quoted) {
				r.note("a $ stands where the shell may take it for an expansion")
			}
		case '<', '>', '=':
			if !quoted && i+1 < len(text) && text[i+1] == '(' {
				r.note("the shell may take " + text[i:i+2] + " for a substitution")
			}
		}
	}
}

// loneDollar reports whether a $ stands for itself in every shell, because nothing follows it that begins a
// name or an expansion.
func (r *reader) loneDollar(lit *syntax.Lit, at int, quoted bool) bool {
	text := lit.Value[at+1:]
	if end := lit.End().Offset(); text == "" && end < uint(len(r.src)) {
		text = r.src[end:]
	}
	return text == "" || quoted && text[0] == '"' || strings.IndexByte(" \t\n;&|)/.,:%]}", text[0]) >= 0
}

// comment refuses a comment whose # is not clearly the beginning of a word: behind the ) of an array, a
// shell finds no comment there.
func (r *reader) comment(n *syntax.Comment) {
	if at := n.Pos().Offset(); at > 0 && at <= uint(len(r.src)) && strings.IndexByte(" \t\n;", r.src[at-1]) < 0 {
		r.note("whether a # that follows " + r.src[at-1:at] + " begins a comment depends on the shell")
	}
}

// backquoted refuses a substitution in backquotes of which a shell may find another end, or another text.
// Shells end it at the next backquote, whatever quotes stand before that.
func (r *reader) backquoted(n *syntax.CmdSubst) {
	switch text := r.between(n.Left, n.Right); {
	case strings.Contains(text, `\`):
		r.note("what a backslash within backquotes does depends on the shell")
	case strings.Contains(strings.TrimPrefix(text, "`"), "`"):
		r.note("backquotes end at the next backquote, also within quotes and comments")
	}
}
