package conformance

import (
	"fmt"

	"shelld/conformance/internal/wire"
)

// A position is a place in a session file. Lines and columns count from 1.
type position struct {
	file      string
	line, col int
}

func (p position) String() string { return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col) }

// A syntaxError is a mistake in a session file: where, and what was expected there.
type syntaxError struct {
	pos position
	msg string
}

func (e *syntaxError) Error() string { return e.pos.String() + ": " + e.msg }

// A value is a JSON value of the session language, which is JSON and, where messages
// are expected, a pattern for them. The set is closed: the types in this file.
type value interface {
	at() position
}

type (
	// literal is null, a boolean, a number as it is spelled, or a string. The string
	// may have ${variables} in it.
	literal struct {
		position
		v any // nil, bool, number, text
	}
	// object is { … }; exact, where it comes behind @exactly, allows no further member.
	object struct {
		position
		members []member
		exact   bool
	}
	// array is [ … ]; elements that are nil stand for ..., which is any number of
	// elements. unordered allows them in any order.
	array struct {
		position
		elements  []value
		unordered bool
	}
	// variable is $name or $name:type: the value of the variable. Where a message is
	// expected it is bound to what is there, if it has no value yet. plus is added to
	// an integer.
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
	// regex is ~"…": a string that it matches somewhere.
	regex struct {
		position
		source text
	}
	// comparison is >= 3 and the like: a number on that side of another.
	comparison struct {
		position
		op   string
		than value
	}
	// repeated is @repeat N "…": a string so many times.
	repeated struct {
		position
		times int
		of    text
	}
	// concat is strings that follow each other.
	concat struct {
		position
		parts []value
	}
	// length is @len N: a string, array or object of so many characters, elements,
	// members.
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

// A text is a string with the variables in it still to be filled in: pieces of text
// and names alternate, beginning with text.
type text []string

func (t text) plain() (string, bool) {
	if len(t) == 1 {
		return t[0], true
	}
	return "", false
}

// placeholders are the words behind @ that stand for a value of a kind.
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
	// absent is no value at all: the member must not be there. match knows it.
	"absent": func(any) bool { return false },
}
