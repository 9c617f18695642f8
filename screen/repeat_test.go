package screen

import (
	"strconv"
	"strings"
	"testing"
)

// TestRepeat checks that REP draws the same as the character sent as often, at any cursor position and with any
// settings.
func TestRepeat(t *testing.T) {
	for i := range uint64(fewer(20_000)) {
		g := newGrammar(*seed, 1<<32+i)
		before := g.stream(g.IntN(30)) + g.pick([]string{"", "\x1b[?7h", "\x1b[4h", "\x1b[?69h\x1b[2;4s\x1b[9;9H", "\x1b[?69h\x1b[3;7s\x1b[4;2r\x1b[9;3H"})
		char := g.pick([]string{"x", "q", "世"})
		one, two := newPlayer(), newPlayer()
		for _, p := range []*player{one, two} {
			for _, s := range stepsOf(before) {
				p.feed(s, 1<<20)
			}
			p.feed(terminalStep{text: "\x18." + char}, 1<<20)
		}
		n := 1 + g.IntN(max(1, one.cols*(one.rows+1)/2)) // of more, some may be left out
		one.feed(terminalStep{text: strings.Repeat(char, n)}, 1<<20)
		two.feed(terminalStep{text: "\x1b[" + strconv.Itoa(n) + "b"}, 1<<20)
		if d := difference(one.Snapshot(maxHistory), two.Snapshot(maxHistory)); d != "" {
			t.Fatalf("%q, then %q %d times, and REP: %s", before, char, n+1, d)
		}
	}
}
