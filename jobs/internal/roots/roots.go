package roots

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the text that is read. Beyond them nothing is known.
const (
	maxLine     = 64 << 10 // bytes of a line
	maxNesting  = 100      // nested brackets
	maxDepth    = 8        // texts within texts, as with sh -c and eval
	maxReadings = 100      // texts that are parsed for one line
)

// A Line is a command line, and the shell that reads it.
type Line struct {
	Text   string
	Shell  string   // name or path of the shell that runs it
	Env    []string // names of the variables that the start adds to the server's
	Locale string   // locale of the shell; "" = compatible with UTF-8
}

// Found is the commands that a command line runs.
type Found struct {
	Roots []string // each once, in the order of the line
	Why   string   // "" = all roots are known; else why the line may run more
	Files bool     // the line itself writes to files or opens connections: > file, < /dev/tcp/host/port
}

// Unknown reports whether the line may run a command that is not in Roots.
func (f Found) Unknown() bool { return f.Why != "" }

// Roots returns the roots of the line.
func (l Line) Roots() Found {
	family, known := familyOf(l.Shell)
	if !known {
		return Found{Why: fmt.Sprintf("lines of the shell %q cannot be analysed", base(l.Shell))}
	}
	if why := unreadable(l.Text); why != "" {
		return Found{Why: why}
	}
	t := newTotal(l.Env)
	f := t.read(l.Text, family, 0)
	if i := slices.IndexFunc(l.Env, isInteger); i >= 0 && family == kshFamily {
		f.note("some Korn shells evaluate " + l.Env[i] + " as arithmetic when they start, which can run a command")
	}
	f.note(t.values.suspect())
	f.note(t.values.misread(l.Locale, l.Text))
	return f
}

// Argv returns the roots of a program that is started with arguments and without a shell. env contains the names of the
// variables that the start sets; locale is that in which the program reads its arguments.
func Argv(argv, env []string, locale string) Found {
	t := newTotal(env)
	r := &reader{total: t, family: posixFamily, lang: syntax.LangPOSIX}
	words := make([]word, len(argv))
	for i, arg := range argv {
		words[i] = word{text: arg, known: true, quoted: true}
	}
	r.command(words)
	r.note(t.values.suspect())
	if r.total.readings > 0 { // A text was read by a shell.
		r.note(t.values.misread(locale, argv...))
	}
	return r.Found
}

// note keeps the first reason why not all is known.
func (f *Found) note(why string) {
	if f.Why == "" {
		f.Why = why
	}
}

func (f *Found) add(root string) {
	if !slices.Contains(f.Roots, root) {
		f.Roots = append(f.Roots, root)
	}
}

func (f *Found) merge(other Found) {
	for _, root := range other.Roots {
		f.add(root)
	}
	f.note(other.Why)
	f.Files = f.Files || other.Files
}

// A total is the state that all readings of a line share.
type total struct {
	readings int
	values   values
	defined  map[string]bool // functions defined in any of the texts
}

func newTotal(env []string) *total {
	t := &total{values: newValues(), defined: map[string]bool{}}
	for _, name := range env {
		t.values.given(name)
	}
	return t
}

// read reads a text in each dialect of a family. If the results differ, the meaning of the line depends on the version
// of the shell.
func (t *total) read(text string, fam *family, depth int) Found {
	var f Found
	if depth > maxDepth {
		f.note("commands are nested too deeply")
		return f
	}
	for i, lang := range fam.langs {
		if t.readings++; t.readings > maxReadings {
			f.note("the line has too many commands within commands")
			return f
		}
		r := &reader{total: t, family: fam, lang: lang, src: text, depth: depth}
		r.parse()
		if i > 0 && f.Why == "" && r.Why == "" && !sameRoots(f.Roots, r.Roots) {
			f.note("shells read the line in different ways")
		}
		f.merge(r.Found)
	}
	return f
}

func sameRoots(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// unreadable returns why a text is not given to the parser, or "".
func unreadable(text string) string {
	switch {
	case len(text) > maxLine:
		return fmt.Sprintf("a line of more than %d bytes is not analysed", maxLine)
	case !utf8.ValidString(text):
		return "the line is not UTF-8"
	case strings.ContainsFunc(text, oddControl):
		// The parser treats some of them as blanks, unlike shells.
		return "the line has control characters"
	case nesting(text) > maxNesting:
		return "commands are nested too deeply"
	}
	return ""
}

func oddControl(c rune) bool {
	return c < ' ' && c != '\t' && c != '\n' || c == 0x7f
}

// nesting returns an upper bound for the nesting of a text's brackets, including quoted ones. It limits the parser's
// stack. Nested keywords use less stack than brackets.
func nesting(text string) int {
	deepest, depth := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			depth++
			deepest = max(deepest, depth)
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}
