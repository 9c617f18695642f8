package screen

import (
	"fmt"
	"strings"
	"testing"
)

// lines are more than a screen of them.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of %d\r\n", i, n)
	}
	return b.String()
}

// TestSkim shows that output which has left the screen need not be drawn: what it has
// set holds for what comes, and once the screen is full of that, it is the same.
func TestSkim(t *testing.T) {
	for _, early := range []string{
		lines(100), "\x1b[31;4m", "\x1b[2;9r" + lines(3) + "\x1b[r", "\x1b(0", "\x0e\x1b)0", "\x1b]2;title\x07",
		"\x1b[?25l\x1b[?2004h", "\x1b[?1049h" + lines(50), "\x1b[?1049h\x1b[1m\x1b[?1049l", "\x1b[?7l", "\x1b[4h",
		"\x1b[?69h\x1b[3;20s", "\x1b]4;3;#123456\x07", "\x1b]8;;http://a/\x07", "\x1b[3;5r", "x\x1b[10", "\xe4\xb8",
	} {
		drawn, skimmed := NewTerminal(40, 10, 0), NewTerminal(40, 10, 0)
		drawn.Write([]byte(early))
		skimmed.Skim([]byte(early))
		if !skimmed.Snapshot(0).Approximate {
			t.Errorf("%.20q: not approximate", early)
		}
		for _, term := range []*Terminal{drawn, skimmed} {
			term.Write([]byte("8;\r\n" + lines(30) + "\x1b[3;5Hx"))
		}
		a, b := drawn.Snapshot(0), skimmed.Snapshot(0)
		if d := difference(a, b); d != "" {
			t.Errorf("%.20q: %s", early, d)
		}
		whole := drawn.margins == drawn.wholeScreen()
		if b.Approximate == whole {
			t.Errorf("%.20q: approximate is %t", early, b.Approximate)
		}
	}
}

// TestLost shows what holds where output is missing.
func TestLost(t *testing.T) {
	term := NewTerminal(40, 10, 0)
	term.Write([]byte("before\x1b]2;no end"))
	term.Lost(Modes{AlternateScreen: true, BracketedPaste: true})
	term.Write([]byte("after"))
	s := term.Snapshot(0)
	if !s.Approximate || !s.Modes.AlternateScreen || !s.Modes.BracketedPaste || s.Title != "" || s.Lines[0].Text() != "      after" {
		t.Errorf("%+v, first line %q", s.Modes, s.Lines[0].Text())
	}
	term.Write([]byte("\x1b[H\x1b[2Jnew"))
	if s := term.Snapshot(0); s.Approximate || s.Lines[0].Text() != "new" {
		t.Errorf("a screen that was cleared is approximate: %q", s.Lines[0].Text())
	}
}
