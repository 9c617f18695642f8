package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shelld.dev/shelld/conformance/internal/wire"
)

// vars holds the values of a session's variables.
type vars map[string]any

// A mismatch says at which path of a value the expected and the actual value differ.
type mismatch struct {
	path      string // a JSON pointer
	want, got string
	pos       position
}

func (m *mismatch) Error() string { return m.pos.String() + ": " + m.text() }

func (m *mismatch) text() string {
	at := m.path
	if at == "" {
		at = "the value"
	}
	return fmt.Sprintf("%s: expected %s, got %s", at, m.want, m.got)
}

// match compares a received value with the expected one, and binds variables. They are bound only if the whole
// value matches.
func match(want value, got any, v vars) error {
	trial := maps.Clone(v)
	if err := (matcher{trial}).match("", want, got); err != nil {
		return err
	}
	maps.Copy(v, trial)
	return nil
}

type matcher struct{ vars vars }

func (m matcher) match(path string, want value, got any) error {
	switch w := want.(type) {
	case literal, repeated:
		return m.literal(path, w, got)
	case object:
		return m.object(path, w, got)
	case array:
		return m.array(path, w, got)
	case variable:
		return m.variable(path, w, got)
	case placeholder:
		if !placeholders[w.kind](got) {
			return &mismatch{path, "@" + w.kind, wire.Show(got), w.position}
		}
	case regex:
		return m.regex(path, w, got)
	case comparison:
		return m.comparison(path, w, got)
	case length:
		n, ok := lengthOf(got)
		if !ok {
			return &mismatch{path, "something with a length", wire.Show(got), w.position}
		}
		return m.match(path+" (its length)", w.of, wire.Number(strconv.Itoa(n)))
	}
	return nil
}

func (m matcher) literal(path string, w value, got any) error {
	want, err := m.evaluate(w)
	if err != nil {
		return err
	}
	if !equal(want, got) {
		return &mismatch{path, wire.Show(want), wire.Show(got), w.at()}
	}
	return nil
}

func (m matcher) object(path string, w object, got any) error {
	o, ok := got.(map[string]any)
	if !ok {
		return &mismatch{path, "an object", wire.Show(got), w.position}
	}
	for _, member := range w.members {
		at := path + "/" + member.name
		v, there := o[member.name]
		p, _ := member.v.(placeholder)
		switch {
		case p.kind == "absent" && there:
			return &mismatch{at, "no such member", wire.Show(v), member.position}
		case p.kind == "absent":
		case !there:
			return &mismatch{at, "a member " + member.name, "none; there are " + names(o), member.position}
		default:
			if err := m.match(at, member.v, v); err != nil {
				return err
			}
		}
	}
	if w.exact {
		for name := range o {
			if !slices.ContainsFunc(w.members, func(m member) bool { return m.name == name }) {
				return &mismatch{path + "/" + name, "no such member", wire.Show(o[name]), w.position}
			}
		}
	}
	return nil
}

func names(o map[string]any) string {
	if len(o) == 0 {
		return "no members"
	}
	return strings.Join(slices.Sorted(maps.Keys(o)), ", ")
}

func (m matcher) array(path string, w array, got any) error {
	a, ok := got.([]any)
	if !ok {
		return &mismatch{path, "an array", wire.Show(got), w.position}
	}
	if w.unordered {
		return m.unordered(path, w, a)
	}
	return m.sequence(path, w, w.elements, a, 0)
}

// sequence matches elements in order. For a ... it tries the shortest stretch first.
func (m matcher) sequence(path string, w array, want []value, got []any, i int) error {
	if len(want) == 0 {
		if i < len(got) {
			return &mismatch{path, fmt.Sprintf("%d elements", i), fmt.Sprintf("%d: %s", len(got), wire.Show(got)), w.position}
		}
		return nil
	}
	if want[0] == nil {
		var first error
		for ; i <= len(got); i++ {
			trial := matcher{maps.Clone(m.vars)}
			err := trial.sequence(path, w, want[1:], got, i)
			if err == nil {
				maps.Copy(m.vars, trial.vars)
				return nil
			}
			first = orElse(first, err)
		}
		return first
	}
	if i >= len(got) {
		return &mismatch{path, "another element", fmt.Sprintf("only %d: %s", len(got), wire.Show(got)), want[0].at()}
	}
	if err := m.match(path+"/"+strconv.Itoa(i), want[0], got[i]); err != nil {
		return err
	}
	return m.sequence(path, w, want[1:], got, i+1)
}

// unordered matches each expected element with a separate actual one. It takes the first that matches; if ... is
// among the expected elements, further actual ones are allowed.
func (m matcher) unordered(path string, w array, got []any) error {
	left := slices.Clone(got)
	open := false
	for _, want := range w.elements {
		if want == nil {
			open = true
			continue
		}
		i := slices.IndexFunc(left, func(g any) bool {
			trial := matcher{maps.Clone(m.vars)}
			if trial.match(path, want, g) != nil {
				return false
			}
			maps.Copy(m.vars, trial.vars)
			return true
		})
		if i < 0 {
			return &mismatch{path, "an element like the one here", "only " + wire.Show(left), want.at()}
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 && !open {
		return &mismatch{path, "no further element", wire.Show(left), w.position}
	}
	return nil
}

func (m matcher) variable(path string, w variable, got any) error {
	if w.kind != "" && !placeholders[w.kind](got) {
		return &mismatch{path, "@" + w.kind, wire.Show(got), w.position}
	}
	have, bound := m.vars[w.name]
	if !bound && w.plus != 0 {
		return &syntaxError{w.position, "the variable $" + w.name + " has no value yet"}
	}
	if !bound {
		m.vars[w.name] = got
		return nil
	}
	want, err := plus(w, have)
	if err != nil {
		return err
	}
	if !equal(want, got) {
		return &mismatch{path, fmt.Sprintf("%s ($%s)", wire.Show(want), w.name), wire.Show(got), w.position}
	}
	return nil
}

func plus(w variable, have any) (any, error) {
	if w.plus == 0 {
		return have, nil
	}
	n, ok := have.(wire.Number)
	i, err := strconv.ParseInt(string(n), 10, 64)
	if !ok || err != nil {
		return nil, &syntaxError{w.position, fmt.Sprintf("$%s is no integer that something could be added to: %s", w.name, wire.Show(have))}
	}
	return wire.Number(strconv.FormatInt(i+w.plus, 10)), nil
}

func (m matcher) regex(path string, w regex, got any) error {
	source, err := m.join(w.position, w.source, regexp.QuoteMeta)
	if err != nil {
		return err
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return &syntaxError{w.position, "this is no regular expression of Go's: " + err.Error()}
	}
	s, ok := got.(string)
	if !ok || !re.MatchString(s) {
		return &mismatch{path, "a string that matches " + strconv.Quote(source), wire.Show(got), w.position}
	}
	return nil
}

func (m matcher) comparison(path string, w comparison, got any) error {
	than, err := m.evaluate(w.than)
	if err != nil {
		return err
	}
	a, okA := wire.Rational(got)
	b, okB := wire.Rational(than)
	if !okB {
		return &syntaxError{w.position, "only numbers can be compared, not " + wire.Show(than)}
	}
	holds := false
	if okA {
		c := a.Cmp(b)
		holds = map[string]bool{">=": c >= 0, "<=": c <= 0, ">": c > 0, "<": c < 0}[w.op]
	}
	if !holds {
		return &mismatch{path, "a number " + w.op + " " + wire.Show(than), wire.Show(got), w.position}
	}
	return nil
}

// evaluate builds a value to send: JSON with the variables filled in.
func (m matcher) evaluate(v value) (any, error) {
	switch v := v.(type) {
	case literal:
		return m.fill(v)
	case repeated:
		return m.repeat(v)
	case concat:
		return m.concat(v)
	case object:
		o := map[string]any{}
		for _, member := range v.members {
			x, err := m.evaluate(member.v)
			if err != nil {
				return nil, err
			}
			o[member.name] = x
		}
		return o, nil
	case array:
		return m.elements(v)
	case variable:
		have, bound := m.vars[v.name]
		if !bound {
			return nil, &syntaxError{v.position, "the variable $" + v.name + " has no value yet; those that have: " + boundNames(m.vars)}
		}
		return plus(v, have)
	}
	return nil, &syntaxError{v.at(), "a pattern stands for what is expected, and cannot be sent; write JSON and $variables"}
}

func (m matcher) elements(v array) (any, error) {
	a := []any{}
	for _, e := range v.elements {
		if e == nil {
			return nil, &syntaxError{v.position, "... stands for what is expected, and cannot be sent"}
		}
		x, err := m.evaluate(e)
		if err != nil {
			return nil, err
		}
		a = append(a, x)
	}
	return a, nil
}

func (m matcher) repeat(v repeated) (any, error) {
	s, err := m.join(v.position, v.of, func(s string) string { return s })
	if err == nil && len(s)*v.times > mostRepeated {
		err = &syntaxError{v.position, fmt.Sprintf("@repeat makes at most %d bytes", mostRepeated)}
	}
	if err != nil {
		return nil, err
	}
	return strings.Repeat(s, v.times), nil
}

func (m matcher) concat(v concat) (any, error) {
	var all strings.Builder
	for _, part := range v.parts {
		s, err := m.evaluate(part)
		if err != nil {
			return nil, err
		}
		text, _ := s.(string) // The parser allows nothing else.
		all.WriteString(text)
	}
	return all.String(), nil
}

func boundNames(v vars) string {
	if len(v) == 0 {
		return "none"
	}
	return "$" + strings.Join(slices.Sorted(maps.Keys(v)), ", $")
}

func (m matcher) fill(l literal) (any, error) {
	t, ok := l.v.(text)
	if !ok {
		return l.v, nil
	}
	return m.join(l.position, t, func(s string) string { return s })
}

// join fills in the variables of a text, each through quote.
func (m matcher) join(pos position, t text, quote func(string) string) (string, error) {
	var b strings.Builder
	for i, piece := range t {
		if i%2 == 0 {
			b.WriteString(piece)
			continue
		}
		v, bound := m.vars[piece]
		if !bound {
			return "", &syntaxError{pos, "the variable $" + piece + " has no value yet; those that have: " + boundNames(m.vars)}
		}
		if s, ok := v.(string); ok {
			b.WriteString(quote(s))
		} else {
			b.WriteString(quote(wire.Show(v)))
		}
	}
	return b.String(), nil
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case wire.Number:
		x, okX := wire.Rational(a)
		y, okY := wire.Rational(b)
		return okX && okY && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	return a == b
}

func isInteger(v any) bool {
	r, ok := wire.Rational(v)
	return ok && r.IsInt()
}

func isTime(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

func isNonEmpty(v any) bool {
	n, ok := lengthOf(v)
	return ok && n > 0
}

func lengthOf(v any) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case []any:
		return len(v), true
	case map[string]any:
		return len(v), true
	}
	return 0, false
}
