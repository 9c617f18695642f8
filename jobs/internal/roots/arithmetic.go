package roots

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic examines an expression. Shells also evaluate the values of its variables and the output of substitutions.
func (r *reader) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	if strings.ContainsAny(r.source(x), "'\"\\`") {
		r.note("the meaning of quotes within an expression depends on the shell")
	}
	syntax.Walk(x, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.BinaryArithm:
			r.assigned(n)
		case *syntax.UnaryArithm:
			// An incremented variable has a value before that.
		case *syntax.CmdSubst, *syntax.ProcSubst:
			r.note("the line evaluates a command's output as arithmetic, which can run a command")
			return false
		case *syntax.ParamExp:
			r.computed(n)
			return false
		case *syntax.Lit:
			r.literal(n.Value)
		}
		return true
	})
}

// let examines the expressions of let, which are words to a shell: the expression ends at an operator of the shell, and
// patterns are expanded to file names.
func (r *reader) let(n *syntax.LetClause) {
	r.add("let")
	text := strings.TrimPrefix(r.source(n), "let")
	if strings.ContainsFunc(text, func(c rune) bool {
		return !isPlain(string(c)) && !strings.ContainsRune(" \t=+/%,:", c)
	}) {
		r.note("the arguments of let may mean something else to the shell; use $((…))")
	}
	for _, x := range n.Exprs {
		r.arithmetic(x)
	}
}

// assigned notes an assignment within an expression; its value is a number.
func (r *reader) assigned(n *syntax.BinaryArithm) {
	switch n.Op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
	default:
		return
	}
	w, ok := n.X.(*syntax.Word)
	if !ok || w.Lit() == "" {
		return
	}
	if n.Op == syntax.Assgn {
		r.note(r.values.assign(w.Lit(), true))
	} else if Steers(w.Lit()) {
		r.note("the line changes " + w.Lit() + ", which changes which commands run")
	}
}

func (r *reader) computed(n *syntax.ParamExp) {
	r.values.arrays = r.values.arrays || n.Index != nil
	switch {
	case isNumber(n):
	case simple(n) || n.Param != nil && n.Exp == nil && n.Repl == nil && !n.Excl:
		r.values.use(n.Param.Value)
	default:
		r.note("the line evaluates an expansion as arithmetic, which can run a command")
	}
}

// literal notes the variable named by a word of an expression, unless it is a number.
func (r *reader) literal(text string) {
	switch {
	case text == "" || text[0] >= '0' && text[0] <= '9':
	case strings.ContainsAny(text, "$[]{}"):
		r.note("an expression is known only when the line runs")
	default:
		r.values.use(text)
	}
}

// computedWord examines a word that is evaluated as an expression, as in [[ x -eq 1 ]].
func (r *reader) computedWord(x syntax.TestExpr) {
	if w, ok := x.(*syntax.Word); ok {
		r.computedValue(wordOf(w, r.lang))
	}
}

func (r *reader) computedValue(w word) {
	switch {
	case w.number:
	case w.known && isName(w.text):
		r.values.use(w.text)
	case w.known && isDigits(strings.TrimPrefix(w.text, "-")):
	case w.name != "":
		r.values.use(w.name)
	default:
		r.note("the line evaluates a text as arithmetic, which can run a command")
	}
}

// parameterOf returns the variable that makes up the whole word, or "".
func parameterOf(w *syntax.Word) string {
	if len(w.Parts) != 1 {
		return ""
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || !simple(p) {
		return ""
	}
	return p.Param.Value
}

// nameWord examines a word that names a variable; a subscript in it would be evaluated.
func (r *reader) nameWord(x syntax.TestExpr) {
	w, ok := x.(*syntax.Word)
	if !ok {
		return
	}
	r.nameText(wordOf(w, r.lang))
}

func (r *reader) nameText(w word) {
	if !w.known || strings.ContainsAny(w.text, "[$`(") {
		r.note("a variable is named by a text that can run a command")
	}
}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
