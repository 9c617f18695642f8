package match

import (
	"errors"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/dlclark/regexp2/v2"
)

// The two errors for which a pattern is removed from a Set; see [Hit].
var (
	// ErrTimeLimit: the pattern exceeded its time limit twice in a row.
	ErrTimeLimit = errors.New("matching the pattern exceeded its time limit of " + timeLimit.String() + " twice in a row")
	// ErrStackLimit: the pattern needed more than the backtracking stack.
	ErrStackLimit = errors.New("matching the pattern exceeded its backtracking stack of 1048576 entries")

	// errTimeout means that one search ran out of time. The engine's own error contains the job's output and is not
	// passed on.
	errTimeout = errors.New("the search timed out")
)

// TimeLimit and StackLimit are the limits of [ErrTimeLimit] and [ErrStackLimit].
const (
	TimeLimit  = timeLimit
	StackLimit = stackLimit
)

const (
	timeLimit   = slowdown * 50 * time.Millisecond // per pattern and Feed
	searchLimit = timeLimit / 2                    // of one search, so that there is time to try again
	clockPeriod = 5 * time.Millisecond             // precision of the engine's clock
	stackLimit  = 1 << 20                          // slots of 8 bytes; a lookback full of (?:a|b)* needs three for each character
)

// startClock sets the resolution of the engine's clock, before any search and not at package init, which would cost
// time at every start of the program.
var startClock = sync.OnceFunc(func() { regexp2.SetTimeoutCheckPeriod(clockPeriod) })

// StopClock ends the goroutine that the engine keeps for about a second after a search with a time limit. It is for
// tests that check for leaked goroutines.
func StopClock() { regexp2.StopTimeoutClock() }

// An engine finds the matches of one pattern. It is safe for concurrent use.
type engine struct {
	re     *regexp2.Regexp
	limit  time.Duration // of a search; 0 if it has none
	groups int           // including the whole match; 0 if they are not numbered one after another
}

// newEngine compiles src. A limited engine enforces searchLimit in every search, for which it runs a clock; a pattern
// without a limit must be unable to backtrack.
func newEngine(src string, f flags, limited bool) (*engine, error) {
	startClock()
	options := regexp2.ECMAScript
	for _, o := range []struct {
		on     bool
		option regexp2.RegexOptions
	}{
		{f.ignoreCase, regexp2.IgnoreCase},
		{f.multiline, regexp2.Multiline},
		{f.dotAll, regexp2.Singleline},
		{f.unicode, regexp2.Unicode},
	} {
		if o.on {
			options |= o.option
		}
	}
	re, err := regexp2.Compile(src, options, regexp2.OptionMaintainCaptureOrder(), regexp2.OptionMaxBacktrackingStackSize(stackLimit))
	if err != nil {
		return nil, err
	}
	e := &engine{re: re}
	if numbers := re.GetGroupNumbers(); numbers[len(numbers)-1] == len(numbers)-1 {
		e.groups = len(numbers)
	}
	if limited {
		e.setLimit(searchLimit)
	}
	return e, nil
}

// setLimit limits every search to d; 0 removes the limit. It must not be called once the engine is in use.
func (e *engine) setLimit(d time.Duration) {
	e.limit = d
	if e.re.MatchTimeout = d; d == 0 {
		e.re.MatchTimeout = regexp2.DefaultMatchTimeout
	}
}

// A span is a range of byte positions; from is -1 for a group that took no part.
type span struct{ from, to int }

// A scratch is storage shared by successive searches.
type scratch struct {
	runes []rune
	at    []int // byte index of each of runes, and of the end; empty if equal to the rune index
	spans []span
}

// decode decodes text into runes, and returns the index of the rune at the byte from.
func (s *scratch) decode(text []byte, from int) (start int) {
	s.runes, s.at = slices.Grow(s.runes[:0], len(text)), s.at[:0]
	runes, high := s.runes[:len(text)], byte(0)
	for i, c := range text {
		runes[i] = rune(c)
		high |= c
	}
	if high < utf8.RuneSelf {
		s.runes = runes
		return from
	}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if i < from {
			start++
		}
		s.runes, s.at = append(s.runes, c), append(s.at, i)
		i += size
	}
	s.at = append(s.at, len(text))
	return start
}

// byteAt returns the byte index of a rune.
func (s *scratch) byteAt(r int) int {
	if len(s.at) == 0 {
		return r
	}
	return s.at[r]
}

// find returns the spans of the first match in text that starts at or after from, groups in order with the whole match
// first, or nil if there is none. Only look-behind, ^ and \b see the text before from. text is valid UTF-8 and from the
// start of a character. The spans are valid until the next find with this scratch.
func (e *engine) find(text []byte, from int, s *scratch) ([]span, error) {
	if len(text) <= 4*near && e.groups > 0 {
		return e.findNear(text, from, s)
	}
	return e.findFar(text, from)
}

// findNear is find in a short text. The engine's search in text gives each match copies of its own, which would be most
// of the cost if there are many.
func (e *engine) findNear(text []byte, from int, s *scratch) ([]span, error) {
	start, found := s.decode(text, from), false
	err := e.re.FindRunesMatches(s.runes, start, func(m regexp2.MatchView) bool {
		found, s.spans = true, s.spans[:0]
		for g := range e.groups {
			sp := span{-1, -1}
			if at, length, ok := m.GroupRange(g); ok {
				sp = span{s.byteAt(at), s.byteAt(at + length)}
			}
			s.spans = append(s.spans, sp)
		}
		return false
	})
	if err != nil || !found {
		return nil, searchError(err)
	}
	return s.spans, nil
}

// searchError converts the engine's error of a search.
func searchError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, regexp2.ErrBacktrackingStackLimit):
		return ErrStackLimit
	}
	return errTimeout
}

func (e *engine) findFar(text []byte, from int) ([]span, error) {
	// The string is dead when find returns: spans are copied out, and the engine keeps no reference to the input of a
	// search.
	s := unsafe.String(unsafe.SliceData(text), len(text))
	m, err := e.re.FindStringMatchStartingAt(s, from)
	if err != nil || m == nil {
		return nil, searchError(err)
	}
	groups := m.Groups()
	spans := make([]span, len(groups))
	for i := range groups {
		spans[i] = span{-1, -1}
		if len(groups[i].Captures) > 0 {
			at, length := groups[i].ByteRange()
			spans[i] = span{at, at + length}
		}
	}
	return spans, nil
}

// A charset is the set of the characters that one class or escape matches. Only the engine decides that: it is queried
// about all of ASCII at once, and about every other character when it occurs. A charset is immutable.
type charset struct {
	ascii  [utf8.RuneSelf]bool
	engine *engine // nil if the engine refuses the source; the set is then empty
}

// asciiRunes is all of ASCII in order.
var asciiRunes = func() []rune {
	all := make([]rune, utf8.RuneSelf)
	for i := range all {
		all[i] = rune(i)
	}
	return all
}()

func newCharset(src string, f flags) *charset {
	e, err := newEngine(src, f, false)
	if err != nil {
		return new(charset) // Compile passes the whole pattern to the engine, and fails
	}
	s := &charset{engine: e}
	err = e.re.FindRunesMatches(asciiRunes, 0, func(m regexp2.MatchView) bool {
		if at, length, ok := m.GroupRange(0); ok && length == 1 {
			s.ascii[at] = true
		}
		return true
	})
	if err != nil { // only a time limit fails, and there is none
		panic("match: searching a character set failed: " + err.Error())
	}
	return s
}

// has reports whether the set holds c.
func (s *charset) has(c rune) bool {
	if c < utf8.RuneSelf {
		return s.ascii[c]
	}
	if s.engine == nil {
		return false
	}
	ok, err := s.engine.re.MatchRunes([]rune{c})
	return ok && err == nil
}
