package roots

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (r *reader) redirect(n *syntax.Redirect) {
	if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
		name := strings.Trim(n.N.Value, "{}")
		if strings.ContainsAny(name, "[]$") {
			r.note("the name of a descriptor is an expression")
		}
		r.note(r.values.assign(name, true))
		if r.family.ksh {
			r.values.use(name) // zsh makes it an integer from then on, and computes any value assigned to it.
		}
	}
	to := wordOf(n.Word, r.lang)
	r.Files = r.Files || opens(n, to)
	if n.Op == syntax.DplIn || n.Op == syntax.DplOut {
		r.duplicated(to)
	}
	if at := n.Pos().Offset(); at <= uint(len(r.src)) {
		r.note(adjacent(r.src[:at], n.N != nil))
	}
	if at := n.OpPos.Offset(); r.family.ksh && (n.Op == syntax.RdrAll || n.Op == syntax.AppAll) && at > 0 && at <= uint(len(r.src)) && isDigits(r.src[at-1:at]) {
		r.note("a number before &> is a descriptor to some shells")
	}
	if n.Hdoc != nil && strings.Contains(r.between(n.OpPos, n.Hdoc.End()), "\\\n") {
		r.note("the end of a here-document with a backslash at the end of a line depends on the shell")
	}
	if (n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc) && !plainDelimiter(r.source(n.Word)) {
		r.note("the end of a here-document whose delimiter is not a plain word depends on the shell")
	}
	if n.Hdoc != nil {
		r.documentText(n)
	}
}

// adjacent returns why the text right before a redirection may be part of it, or the redirection part of the text, or
// "".
func adjacent(before string, numbered bool) string {
	word := strings.TrimRight(before, "0123456789")
	switch {
	case strings.HasSuffix(before, "="):
		return "a redirection after = is a value to some shells"
	case !numbered && word != before && (word == "" || strings.IndexByte(" \t\n;&|(){}<>", word[len(word)-1]) >= 0):
		return "whether a number before a redirection is a descriptor depends on the shell"
	case !numbered && strings.HasSuffix(before, "}") && endsInName(before):
		return "whether a name before a redirection is a descriptor depends on the shell"
	}
	return ""
}

// endsInName reports whether a text ends in a word that begins with a brace, such as {x}.
func endsInName(text string) bool {
	at := strings.LastIndexByte(text, '{')
	return at >= 0 && !isBlank(text[at+1]) && (at == 0 || strings.IndexByte(" \t\n;&|(){}<>", text[at-1]) >= 0)
}

// documentText examines the text of a here-document, which is not expanded if its delimiter is quoted.
func (r *reader) documentText(n *syntax.Redirect) {
	if r.documentTexts == nil {
		r.documentTexts = map[*syntax.Word]bool{}
	}
	r.documentTexts[n.Hdoc] = true
	if isPlain(r.source(n.Word)) {
		r.literals(n.Hdoc.Parts, true)
	}
	r.quoted(n.Hdoc)
}

// duplicated examines the word after >& and <&. Bash expands it twice, so that a quoted $(rm) runs, and the value of a
// variable as well.
func (r *reader) duplicated(to word) {
	switch {
	case strings.HasPrefix(to.text, "-") && to.text != "-": // In bash, >&- closes, and the rest is a word of the command.
		r.note("the word after >&- or <&- is a file to some shells, and an argument to others")
	case to.known && isPlain(strings.ReplaceAll(to.text, "/", "_")):
	case to.number:
	case to.name != "":
		r.values.use(to.name)
	default:
		r.note("the word after >& or <& is expanded twice")
	}
}

// opens reports whether a redirection may write to a file, or open a network connection.
func opens(n *syntax.Redirect, to word) bool {
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return false
	case syntax.DplIn, syntax.DplOut: // to a descriptor, unless it is a name
		return !to.known || strings.Trim(to.text, "0123456789-") != ""
	case syntax.RdrIn:
		return !to.known || strings.HasPrefix(to.text, "/dev/")
	}
	return !to.known || to.text != "/dev/null"
}

// plainDelimiter reports whether the delimiter of a here-document is a plain word, quoted as a whole or not at all.
func plainDelimiter(word string) bool {
	for _, quote := range []string{`\`, "'", `"`} {
		if cut, ok := strings.CutPrefix(word, quote); ok {
			if word = cut; quote != `\` {
				word, ok = strings.CutSuffix(word, quote)
			}
			return ok && isPlain(word)
		}
	}
	return isPlain(word)
}

// isPlain reports whether a word has no characters that could have a meaning in a shell.
func isPlain(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(c rune) bool {
		return c != '_' && c != '-' && c != '.' && !(c >= '0' && c <= '9') && !(c|0x20 >= 'a' && c|0x20 <= 'z')
	})
}

// documents examines the here-documents of a substitution. If the text comes only after the end of the substitution,
// the here-document is empty in some shells, and they run the text as commands.
func (r *reader) documents(n syntax.Node, end syntax.Pos) {
	syntax.Walk(n, func(n syntax.Node) bool {
		d, ok := n.(*syntax.Redirect)
		if ok && (d.Op == syntax.Hdoc || d.Op == syntax.DashHdoc) && (d.Hdoc == nil || d.Hdoc.End().After(end)) {
			r.note("a here-document must end within its substitution")
		}
		return true
	})
}
