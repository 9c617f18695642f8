package conformance

import (
	"fmt"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A position is a place in a session file. Lines and columns count from 1.
type position struct {
	file      string
	line, col int
}

func (p position) String() string { return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col) }

// A syntaxError is a mistake in a session file: its position and the expected text.
type syntaxError struct {
	pos position
	msg string
}

func (e *syntaxError) Error() string { return e.pos.String() + ": " + e.msg }

// A value is a JSON value of the session language: JSON and, in expected messages, a pattern. The set is closed:
// the types in this file.
type value interface {
	at() position
}

type (
	// literal is null, a boolean, a number in its spelling, or a string. The string may contain ${variables}.
	literal struct {
		position
		v any // nil, bool, number, text
	}
	// object is { … }. If exact (after @exactly), it allows no further member.
	object struct {
		position
		members []member
		exact   bool
	}
	// array is [ … ]. A nil element stands for ..., which is any number of elements. If unordered, the elements
	// may come in any order.
	array struct {
		position
		elements  []value
		unordered bool
	}
	// variable is $name or $name:type: the value of the variable. In an expected message it is bound to the
	// actual value, if it has no value yet. plus is added to an integer.
	variable struct {
		position
		name string
		kind string // a placeholder's name, or ""
		plus int64
	}
	// placeholder is @name: any value of a kind.
	placeholder struct {
		position
		kind string
	}
	// regex is ~"…": a string that contains a match.
	regex struct {
		position
		source text
	}
	// comparison is >= 3 and the like: a number in that range.
	comparison struct {
		position
		op   string
		than value
	}
	// repeated is @repeat N "…": the string, repeated N times.
	repeated struct {
		position
		times int
		of    text
	}
	// concat is consecutive strings, joined.
	concat struct {
		position
		parts []value
	}
	// length is @len N: a string, array or object with that many characters, elements, members.
	length struct {
		position
		of value
	}
)

func (p position) at() position { return p }

// A member is one name and value of an object.
type member struct {
	position
	name string
	v    value
}

// A text is a string whose variables are not filled in yet: pieces of text and names alternate, beginning with
// text.
type text []string

func (t text) plain() (string, bool) {
	if len(t) == 1 {
		return t[0], true
	}
	return "", false
}

// placeholders maps the words after @ that stand for a value of a kind to their checks.
var placeholders = map[string]func(any) bool{
	"any":      func(any) bool { return true },
	"int":      isInteger,
	"number":   func(v any) bool { _, ok := v.(wire.Number); return ok },
	"string":   func(v any) bool { _, ok := v.(string); return ok },
	"bool":     func(v any) bool { _, ok := v.(bool); return ok },
	"null":     func(v any) bool { return v == nil },
	"array":    func(v any) bool { _, ok := v.([]any); return ok },
	"object":   func(v any) bool { _, ok := v.(map[string]any); return ok },
	"time":     isTime,
	"nonempty": isNonEmpty,
	// absent matches no value at all: the member must be missing. match handles it.
	"absent": func(any) bool { return false },
}
