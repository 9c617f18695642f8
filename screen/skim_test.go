package screen

import (
	"fmt"
	"strings"
	"testing"
)

// lines returns more than a screen of lines.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of %d\r\n", i, n)
	}
	return b.String()
}

// TestSkim checks that output which has left the screen need not be drawn: its settings affect later output, and once
// that output fills the screen, the picture is the same.
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

// TestLost checks the state after missing output.
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
	if s := term.Snapshot(0); !s.Approximate || s.Lines[0].Text() != "new" {
		t.Errorf("margins may be set, and it is not approximate: %q", s.Lines[0].Text())
	}
	term.Write([]byte("\x1bcreset"))
	if s := term.Snapshot(0); s.Approximate || s.Lines[0].Text() != "reset" {
		t.Errorf("a terminal that was reset is approximate: %q", s.Lines[0].Text())
	}
}

// TestApproximate checks that no undrawn place is reported as drawn.
func TestApproximate(t *testing.T) {
	for name, c := range map[string]struct {
		before, skimmed, after string
		want                   bool
	}{
		"scrolled up":     {"1\r\n2\r\n3\r\n4", "x", "\x1b[4;1H\n\n\n\n", false},
		"not far enough":  {"1\r\n2\r\n3\r\n4", "x", "\x1b[4;1H\n\n\n", true},
		"up and down":     {"1\r\n2\r\n3\r\n4", "\x1b[H", "\x1b[4;1H\n\n\n\x1b[H\x1bM\x1bM\x1bM\x1b[4;1H\n", true},
		"row by row":      {"1\r\n2\r\n3\r\n4", "x", "\x1b[1;1H\x1b[2K\x1b[2;1H\x1b[2K\x1b[3;1H\x1b[2K\x1b[4;1H\x1b[2K", false},
		"cleared":         {"1\r\n2\r\n3\r\n4", "x", "\x1b[2J", false},
		"the other one":   {"1\r\n2\r\n3\r\n4", "x", "\x1b[?1049h", false},
		"and back":        {"1\r\n2\r\n3\r\n4", "x", "\x1b[?1049h\x1b[?1049l", true},
		"nothing skimmed": {"1\r\n2\r\n3\r\n4", "", "", true},
	} {
		term := NewTerminal(10, 4, 10)
		term.Write([]byte(c.before))
		term.Skim([]byte(c.skimmed))
		term.Write([]byte(c.after))
		if got := term.Snapshot(0).Approximate; got != c.want {
			t.Errorf("%s: approximate is %t", name, got)
		}
	}
}

// TestSkimLeavesNoHistory checks that lines that did not follow each other are not shown one below the other.
func TestSkimLeavesNoHistory(t *testing.T) {
	term := NewTerminal(10, 2, 10)
	term.Write([]byte("old 1\r\nold 2\r\nold 3\r\n"))
	term.Skim([]byte("between\r\n"))
	term.Write([]byte("\x1b[2J\x1b[Hnew 1\r\nnew 2\r\nnew 3"))
	s := term.Snapshot(10)
	if len(s.History) != 1 || s.History[0].Text() != "new 1" {
		t.Errorf("%d lines of history, the first %q", len(s.History), s.History[0].Text())
	}
}

// TestLostAssumesAScreen checks that the next switch corrects an assumption about the shown screen.
func TestLostAssumesAScreen(t *testing.T) {
	term := NewTerminal(20, 3, 10)
	term.Lost(Modes{AlternateScreen: true}) // the present state
	term.Write([]byte("1\r\n2\r\n$ vim\x1b[?1049h\x1b[H\x1b[2J~ vim"))
	if got := screenText(term); got != "~ vim▮" {
		t.Errorf("the program's screen is %q", got)
	}
	term.Write([]byte("\x1b[?1049l done"))
	if got := screenText(term); got != "1|2|$ vim done▮" {
		t.Errorf("behind it stands %q", got)
	}
	term = NewTerminal(20, 3, 10)
	term.Lost(Modes{})
	term.Write([]byte("\x1b[Ha program\x1b[?1049l\x1b[2;1Hdone"))
	if got := screenText(term); got != "|done▮" {
		t.Errorf("the program has left %q", got)
	}
}
