package roots

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The parser leaves some text unexpanded that a shell expands: the text of an extended glob, a process substitution
// within ${x:-…}, a dollar sign before an unknown character. So text that is plain for the parser counts as plain only
// if no shell finds an expansion in it.

// literals examines the parts of a word, or of a text in double quotes, that are plain for the parser. Within quotes
// and here-documents, only $ and ` expand.
func (r *reader) literals(parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			r.plainText(p, quoted)
		case *syntax.ExtGlob:
			if strings.ContainsAny(p.Pattern.Value, "$`<>'\"\\") {
				r.note("shells expand the content of an extended pattern, which is not analysed")
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
			r.note("the shell may take a backquote for a substitution")
		case '$':
			if !r.loneDollar(lit, i, quoted) {
				r.note("the shell may take a $ for an expansion")
			}
		case '<', '>', '=':
			if !quoted && i+1 < len(text) && text[i+1] == '(' {
				r.note("the shell may take " + text[i:i+2] + " for a substitution")
			}
		}
	}
}

// loneDollar reports whether a $ stands for itself in every shell, because no name or expansion follows it.
func (r *reader) loneDollar(lit *syntax.Lit, at int, quoted bool) bool {
	text := lit.Value[at+1:]
	if end := lit.End().Offset(); text == "" && end < uint(len(r.src)) {
		text = r.src[end:]
	}
	return text == "" || quoted && text[0] == '"' || strings.IndexByte(" \t\n;&|)/.,:%]}", text[0]) >= 0
}

// comment rejects a comment whose # is not clearly the start of a word: after the ) of an array, a shell finds no
// comment there.
func (r *reader) comment(n *syntax.Comment) {
	if at := n.Pos().Offset(); at > 0 && at <= uint(len(r.src)) && strings.IndexByte(" \t\n;", r.src[at-1]) < 0 {
		r.note("whether a # after " + r.src[at-1:at] + " begins a comment depends on the shell")
	}
}

// backquoted rejects a substitution in backquotes if a shell may find another end or another text. Shells end it at the
// next backquote, regardless of quotes before that.
func (r *reader) backquoted(n *syntax.CmdSubst) {
	switch text := r.between(n.Left, n.Right); {
	case strings.Contains(text, `\`):
		r.note("the meaning of a backslash within backquotes depends on the shell")
	case strings.Contains(strings.TrimPrefix(text, "`"), "`"):
		r.note("backquotes end at the next backquote, also within quotes and comments")
	}
}
