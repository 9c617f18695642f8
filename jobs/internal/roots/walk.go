package roots

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// A reader reads one text in one dialect.
type reader struct {
	*total
	Found
	family *family
	lang   syntax.LangVariant
	src    string
	depth  int
	// functions are the functions that the text certainly defines, with the part of the text in which calls run them
	// and not a program (see define).
	functions map[string]calls
	// statement is the offset of the current top-level statement.
	statement uint
	// documentTexts contains the texts of here-documents, which are not words of the line.
	documentTexts map[*syntax.Word]bool
	// noPath is set while a command that runs without PATH (env -i) is examined.
	noPath bool
}

// calls is the part of the text in which a call of a function runs that and not a program: the statements that begin
// after the end of its definition, and before until. A call that merely comes later in the text may run before the
// definition: the text of a here-document follows the line, and is expanded with the statement that it belongs to.
type calls struct{ from, until uint }

// tree parses the text. The parser panics on some lines, which must not end the server.
func (r *reader) tree() (file *syntax.File, err error) {
	defer func() {
		if recover() != nil {
			file, err = nil, errors.New("the parser failed on it")
		}
	}()
	p := syntax.NewParser(syntax.Variant(r.lang), syntax.KeepComments(true))
	return p.Parse(strings.NewReader(r.src), "")
}

func (r *reader) parse() {
	r.note(continued(r.src))
	file, err := r.tree()
	if err != nil {
		r.note("the line cannot be parsed: " + strings.TrimPrefix(err.Error(), ":"))
	}
	if file == nil {
		return
	}
	r.define(file.Stmts)
	for _, s := range file.Stmts {
		r.statement = s.Pos().Offset()
		syntax.Walk(s, r.visit)
	}
	for i := range file.Last {
		r.comment(&file.Last[i])
	}
}

// define notes the functions that the text defines. An error, for example in an expansion, ends a line, and bash
// continues with the next one: so a function that is not the first on its line is only certainly defined until the line
// ends. All are noted before any of the text is examined, so that an unset in it is known to remove one. Functions
// defined in eval and trap do not count, since an unset that has been examined before them may run after them.
func (r *reader) define(statements []*syntax.Stmt) {
	if r.family.later {
		return
	}
	r.functions = map[string]calls{}
	first := true
	for i, s := range statements {
		first = first || r.newLine(statements[i-1], s)
		f := definition(s)
		if f == nil {
			first = false
			continue
		}
		at := calls{s.End().Offset(), uint(len(r.src))}
		for j := i + 1; j < len(statements) && !first; j++ {
			if r.newLine(statements[j-1], statements[j]) {
				at.until = statements[j].Pos().Offset()
				break
			}
		}
		if known, twice := r.functions[f.Name.Value]; !twice || known.until < at.from {
			r.functions[f.Name.Value] = at
		}
		r.total.defined[f.Name.Value] = true
	}
}

// newLine reports whether a line ends between two statements.
func (r *reader) newLine(a, b *syntax.Stmt) bool {
	return strings.Contains(strings.ReplaceAll(r.between(a.End(), b.Pos()), "\\\n", ""), "\n")
}

// definition returns the function that a statement certainly defines in the shell itself; nil for any other statement,
// and in case of doubt. In Korn shells, a name with a slash always means a program.
func definition(s *syntax.Stmt) *syntax.FuncDecl {
	f, ok := s.Cmd.(*syntax.FuncDecl)
	if !ok || f.Name == nil || !isPlain(f.Name.Value) || !alone(s) || len(s.Redirs) > 0 || f.Body == nil || !alone(f.Body) {
		return nil
	}
	if _, block := f.Body.Cmd.(*syntax.Block); !block {
		return nil // in function f { :; } | x, the definition runs in a separate process
	}
	return f
}

// alone reports whether the shell runs a statement itself, and waits for it.
func alone(s *syntax.Stmt) bool { return !s.Negated && !s.Background && !s.Coprocess && !s.Disown }

// source returns the text of a node.
func (r *reader) source(n syntax.Node) string {
	return r.between(n.Pos(), n.End())
}

func (r *reader) between(a, b syntax.Pos) string {
	from, to := a.Offset(), b.Offset()
	if from > to || to > uint(len(r.src)) {
		return ""
	}
	return r.src[from:to]
}

// visit examines a node. The nodes below it are visited separately, so that no part of a line is left out.
func (r *reader) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Stmt:
		if n.Cmd == nil && r.lang == syntax.LangZsh && len(n.Redirs) > 0 {
			r.note("zsh runs a program for a redirection without a command")
		}
	case *syntax.CallExpr:
		r.call(n)
	case *syntax.DeclClause:
		r.declaration(n)
	case *syntax.LetClause:
		r.let(n)
	case *syntax.TimeClause:
		r.add("time") // a program of that name, within a pipeline
	case *syntax.CoprocClause:
		r.coprocess(n)
	case *syntax.FuncDecl:
		r.function(n)
	case *syntax.CaseItem:
		if slices.ContainsFunc(n.Patterns, func(w *syntax.Word) bool { return w.Lit() == "esac" }) {
			r.note("whether esac is a pattern depends on the shell")
		}
	case *syntax.ForClause, *syntax.WordIter, *syntax.CStyleLoop:
		r.loop(n)
	case *syntax.Redirect:
		r.redirect(n)
	case *syntax.ExtGlob:
		r.pattern("(")
	case *syntax.Comment:
		r.comment(n)
	default:
		r.visitExpansion(node)
	}
	return true
}

func (r *reader) visitExpansion(node syntax.Node) {
	switch n := node.(type) {
	case *syntax.Assign:
		r.assign(n)
	case *syntax.Word:
		if !r.documentTexts[n] {
			r.literals(n.Parts, false)
		}
		if r.lang == syntax.LangZsh {
			r.pattern(patternOf(n))
		}
	case *syntax.DblQuoted:
		r.literals(n.Parts, true)
		r.quoted(n)
	case *syntax.CmdSubst:
		if n.Backquotes {
			r.backquoted(n)
		}
		if n.TempFile || n.ReplyVar {
			r.note("the end of ${ …;} depends on the shell; write $(…)")
		}
		r.documents(n, n.Right)
		r.timed(n)
	case *syntax.ProcSubst:
		r.documents(n, n.Rparen)
		r.timed(n)
	case *syntax.ParamExp:
		r.parameter(n)
	case *syntax.ArithmExp:
		r.arithmetic(n.X)
	case *syntax.ArithmCmd:
		r.arithmetic(n.X)
	case *syntax.BinaryTest:
		if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
			r.computedWord(n.X)
			r.computedWord(n.Y)
		}
	case *syntax.UnaryTest:
		switch {
		case n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar:
			r.nameWord(n.X)
		case n.Op == syntax.TsFdTerm && r.family.ksh:
			r.computedWord(n.X)
		}
	case *syntax.ArrayExpr:
		r.array(n)
	case *syntax.ArrayElem:
		r.arithmetic(n.Index)
	case *syntax.FlagsArithm:
		r.note("flags of a subscript are not analysed")
	case *syntax.TestDecl:
		r.note("the line defines a test")
	}
}

// timed examines each time within a substitution. After it, bash recognises neither reserved words nor arrays: for
// bash, the substitution ends at the first ) of a case, and the rest is text.
func (r *reader) timed(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if t, is := n.(*syntax.TimeClause); is && !startsSimple(t.Stmt) {
			r.note("within a substitution, bash accepts only a simple command after time")
		}
		return true
	})
}

// startsSimple reports whether a statement is a simple command, or a pipeline that begins with one.
func startsSimple(s *syntax.Stmt) bool {
	if s == nil {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return startsSimple(c.X)
	case *syntax.CallExpr:
		return !slices.ContainsFunc(c.Assigns, func(a *syntax.Assign) bool { return a.Array != nil })
	}
	return false
}

// array rejects extended patterns, which are an error in an array if they are not enabled in bash. After such an error,
// bash continues with the next line, which may belong to the array.
func (r *reader) array(n *syntax.ArrayExpr) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if _, is := n.(*syntax.ExtGlob); is {
			r.note("an extended pattern in an array may be an error, after which the shell continues with the next line")
		}
		return true
	})
}

// pattern examines the unquoted text of a word. In zsh, parentheses after a pattern are qualifiers, some of which are
// code.
func (r *reader) pattern(text string) {
	if r.family.zsh && strings.Contains(text, "(") {
		r.note("parentheses in a pattern can hold code")
	}
	if r.family.zsh && strings.Count(text, "}") > strings.Count(text, "{") {
		r.note("a brace at the end of a word closes a block in zsh")
	}
}

func (r *reader) function(n *syntax.FuncDecl) {
	names := n.Names
	if n.Name != nil {
		names = append(names, n.Name)
	}
	if len(names) == 0 {
		r.note("a function without a name runs at once")
	}
	for _, name := range names {
		if special(name.Value) {
			r.note("the line defines a function " + name.Value + ", which hides the command")
		}
	}
}

func (r *reader) loop(node syntax.Node) {
	switch n := node.(type) {
	case *syntax.ForClause:
		if n.Select {
			r.values.given("REPLY")
		}
	case *syntax.WordIter:
		numbers := len(n.Items) > 0
		for _, item := range n.Items {
			numbers = numbers && wordOf(item, r.lang).number
		}
		r.note(r.values.assign(n.Name.Value, numbers))
	case *syntax.CStyleLoop:
		r.arithmetic(n.Init)
		r.arithmetic(n.Cond)
		r.arithmetic(n.Post)
	}
}

// coprocess accepts two forms: a compound command, with or without a name, and plain words. Shells differ on the
// others: in bash, coproc rm >x runs rm, and its name is COPROC.
func (r *reader) coprocess(n *syntax.CoprocClause) {
	r.values.arrays = true
	body := n.Stmt
	known := body != nil && !body.Negated && len(body.Redirs) == 0
	if known {
		switch c := body.Cmd.(type) {
		case *syntax.Block, *syntax.Subshell:
			known = n.Name == nil || !r.family.ksh && isName(n.Name.Lit())
			known = known && (n.Name == nil || !Steers(n.Name.Lit()) && !special(n.Name.Lit()))
		case *syntax.CallExpr:
			known = n.Name == nil && len(c.Assigns) == 0 && len(c.Args) > 0 && isPlain(r.source(c.Args[0]))
		default:
			known = false
		}
	}
	if !known {
		r.note("the command of this coproc depends on the shell; write coproc { …; }")
	}
}

// quoted examines text within double quotes, and here-documents. The meaning of quotes within an expansion there
// depends on the shell and on the operator.
func (r *reader) quoted(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes && strings.Contains(r.source(n), `"`) {
				r.note("the meaning of a quote within backquotes within quotes depends on the shell")
			}
			return false
		case *syntax.ProcSubst:
			return false
		case *syntax.ParamExp:
			if !n.Short && strings.ContainsAny(r.source(n), "'\"\\`") {
				r.note("the meaning of quotes within a quoted expansion depends on the shell")
			}
		}
		return true
	})
}

func (r *reader) parameter(n *syntax.ParamExp) {
	r.values.arrays = r.values.arrays || n.Index != nil
	if r.lang == syntax.LangZsh && n.Short && n.Index == nil {
		r.shortened(n)
	}
	if n.Excl && n.Names == 0 && !isAll(n.Index) {
		r.note("${!…} names an unknown variable")
	}
	if n.Flags != nil || n.Width || n.GlobSubst != syntax.OptUnset || n.NestedParam != nil {
		r.note("flags of an expansion are not analysed")
	}
	if n.Index != nil && !isAll(n.Index) {
		r.arithmetic(n.Index)
	}
	if n.Slice != nil {
		r.arithmetic(n.Slice.Offset)
		r.arithmetic(n.Slice.Length)
	}
	if n.Exp == nil {
		return
	}
	switch n.Exp.Op {
	case syntax.OtherParamOps:
		if n.Exp.Word == nil || !strings.Contains("QEAKaUuLk", n.Exp.Word.Lit()) {
			r.note("${…@P} expands the value again")
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if n.Param != nil {
			r.note(r.values.assign(n.Param.Value, false))
		}
	}
}

// shortened examines the text after an expansion without braces, which may belong to it in zsh.
func (r *reader) shortened(n *syntax.ParamExp) {
	after := r.src[min(n.End().Offset(), uint(len(r.src))):]
	name := ""
	if n.Param != nil {
		name = n.Param.Value
	}
	if name == "$" && after != "" && strings.IndexByte("{('", after[0]) >= 0 {
		r.note("zsh may take the second $ of $$ for the start of an expansion")
	}
	if name == "#" && after != "" && strings.IndexByte("?@*-!$#", after[0]) >= 0 { // the length of another parameter
		after = after[1:]
	}
	if subscripted(after) {
		r.note("zsh evaluates the subscript of an expansion; write ${…} before a [")
	}
}

// subscripted reports whether a [ follows an expansion without braces, after text that may belong to its name: in zsh,
// that is a subscript for every parameter, such as $0[x], and names may contain letters of all alphabets.
func subscripted(after string) bool {
	return strings.HasPrefix(strings.TrimLeftFunc(after, func(c rune) bool { return c >= utf8.RuneSelf || isName("x"+string(c)) }), "[")
}

// isAll reports whether an index is @ or *.
func isAll(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}
