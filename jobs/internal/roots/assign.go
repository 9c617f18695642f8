package roots

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign examines an assignment, before a command, alone, or as an argument of declare.
func (r *reader) assign(a *syntax.Assign) {
	if a.Index != nil || a.Array != nil {
		r.values.arrays = true
	}
	if a.Index != nil {
		r.arithmetic(a.Index)
	}
	switch {
	case a.Name == nil && a.Value != nil:
		r.setting(wordOf(a.Value, r.lang))
	case a.Name == nil || a.Naked:
	case a.Array != nil:
		r.note(r.values.assign(a.Name.Value, false))
	case a.Value == nil:
		r.give(a.Name.Value, "", !a.Append, true) // an empty value counts as 0
	default:
		w := wordOf(a.Value, r.lang)
		r.give(a.Name.Value, w.text, w.known && !a.Append, w.number)
	}
}

// give notes that a variable is set to a value.
func (r *reader) give(name, value string, known, number bool) {
	if known && value != "" && slices.Contains(localeNames, name) && keepsASCII(value) {
		return
	}
	if slices.Contains(harmlessVariables(), name) || known && Steers(name) && r.told(name, value) {
		r.values.given(name)
		return
	}
	r.note(r.values.assign(name, number))
}

// setting examines an argument of the form NAME=value. The name must be known.
func (r *reader) setting(w word) {
	name, value, ok := strings.Cut(w.text, "=")
	name, more := strings.CutSuffix(name, "+")
	switch {
	case w.many:
		r.note("an unquoted value may become several assignments")
	case ok && isName(name):
		r.give(name, value, w.known && !more, w.known && (value == "" || isDigits(value)))
	case !w.known:
		r.note("a variable is named by an expansion")
	case strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+"): // options
	default:
		r.naming(w)
	}
}

// naming examines the name of a variable that a command sets.
func (r *reader) naming(w word) {
	r.nameText(w)
	if w.known {
		r.note(r.values.assign(w.text, false))
	}
}

// declaration examines declare, export and similar commands; their assignments are visited separately.
func (r *reader) declaration(n *syntax.DeclClause) {
	r.add(n.Variant.Value)
	if n.Variant.Value == "nameref" {
		r.note("nameref makes a name refer to another")
	}
	array := false
	for _, a := range n.Args {
		w := word{}
		if a.Value != nil {
			w = wordOf(a.Value, r.lang)
		}
		switch {
		case a.Name == nil:
			array = r.declareArray(n.Variant.Value, w, array)
		case a.Naked && Steers(a.Name.Value) && (n.Variant.Value != "export" || len(n.Args) > 1 && n.Args[0].Name == nil):
			r.note("the line declares " + a.Name.Value + ", which changes which commands run")
		case a.Value != nil && (array || declares(n.Variant.Value)):
			r.note(r.values.declare(a.Name.Value, w.text, w.known, array))
		}
		if r.lang == syntax.LangPOSIX && w.many {
			r.note("an unquoted value may become several assignments in dash")
		}
		if a.Name == nil && a.Value != nil {
			r.declareOption(w)
		}
	}
}

// declares reports whether a command expands a value a second time if the name is an array already. The other commands
// do so if an option says that it is one.
func declares(command string) bool {
	return command == "declare" || command == "typeset" || command == "local"
}

// declareArray examines an argument of declare and similar commands that the parser does not parse as an assignment. It
// reports whether the following arguments declare arrays.
func (r *reader) declareArray(command string, w word, array bool) bool {
	if strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+") {
		array = array || strings.ContainsAny(w.text, "aA")
		r.values.arrays = r.values.arrays || array
		return array
	}
	name, value, ok := strings.Cut(w.text, "=")
	if ok && (array || declares(command)) {
		r.note(r.values.declare(strings.TrimSuffix(name, "+"), value, w.known, array))
	}
	return array
}

// declareOption rejects -i, because such variables are computed at each assignment, as those of -F are in some shells;
// -n, because it makes a name stand for another; and unknown options.
func (r *reader) declareOption(w word) {
	harmless := "aAgxrptlufF-"
	if r.family.ksh {
		harmless = "aAgxrptluf-"
	}
	if w.known && len(w.text) > 1 && strings.ContainsAny(w.text[:1], "-+") && strings.Trim(w.text[1:], harmless) != "" {
		r.note("declare " + w.text + " changes how assignments work")
	}
}
