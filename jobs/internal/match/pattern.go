package match

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits on the patterns that [Compile] accepts. They keep compile time and the memory of a compiled pattern small for
// any pattern from a client: the engine overflows its stack on deep nesting, and does not finish on a hostile pattern
// of megabytes.
const (
	MaxPattern = 4096  // characters in a pattern
	MaxNesting = 200   // groups and lookarounds inside one another
	MaxRepeat  = 65536 // the largest count in {n,m}, and the product of nested counts
)

// A SyntaxError is the reason for refusing a pattern, with its position.
type SyntaxError struct {
	Message string // one clause, without the position
	Pos     int    // in characters (code points) from 0 into the pattern
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at character %d of the pattern", e.Message, e.Pos)
}

// A Pattern is a compiled ECMAScript regular expression. It is immutable and safe for concurrent use by any number of
// Sets.
type Pattern struct {
	source string
	engine *engine  // finds matches
	prog   *program // decides whether a match, or a start, is final
	names  map[string][]int
	groups int // capture groups, group 0 not counted
	shape  shape
}

// flags are the ECMAScript flags of a pattern.
type flags struct {
	ignoreCase, multiline, dotAll, unicode bool
}

// parseFlags parses a subset of "imsu", each at most once.
func parseFlags(s string) (flags, error) {
	var f flags
	for i, c := range s {
		var set *bool
		switch c {
		case 'i':
			set = &f.ignoreCase
		case 'm':
			set = &f.multiline
		case 's':
			set = &f.dotAll
		case 'u':
			set = &f.unicode
		default:
			return f, fmt.Errorf("pattern flags %q: %q at character %d is not one of i, m, s, u", clip(s), c, utf8.RuneCountInString(s[:i]))
		}
		if *set {
			return f, fmt.Errorf("pattern flags %q: %q is given twice", clip(s), c)
		}
		*set = true
	}
	return f, nil
}

// clip shortens a client's text for an error message.
func clip(s string) string {
	if len(s) <= 32 {
		return s
	}
	return strings.ToValidUTF8(s[:32], "") + "…"
}

// Compile compiles an ECMAScript regular expression with flags, a subset of "imsu". Text is matched by code points with
// and without u. It returns a [*SyntaxError] for a pattern that is malformed, over a limit, or uses a construct that
// ECMAScript does not have; any other error is about flags.
func Compile(pattern, flags string) (*Pattern, error) {
	f, err := parseFlags(flags)
	if err != nil {
		return nil, err
	}
	p := newParser(pattern, f)
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	engine, err := newEngine(p.engineSource(), f, !isStraight(root))
	if err != nil {
		return nil, p.blame()
	}
	return &Pattern{
		source: pattern,
		engine: engine,
		prog:   newProgram(root, f, p.groups),
		names:  p.names,
		groups: p.groups,
		shape:  shapeOf(root),
	}, nil
}

// String returns the source text of the pattern.
func (p *Pattern) String() string { return p.source }
