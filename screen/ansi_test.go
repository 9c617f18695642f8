package screen

import (
	"fmt"
	"strings"
	"testing"
)

// TestAppendANSI plays the ANSI form of a snapshot to a fresh terminal: it shows the same, and continues in the same
// way.
func TestAppendANSI(t *testing.T) {
	for name, stream := range map[string]string{
		"plain":                            "hello\r\nworld",
		"wrapped":                          strings.Repeat("0123456789", 5) + "\r\nend",
		"full":                             strings.Repeat("line\r\n", 30) + "last",
		"styles":                           "\x1b[1;31mred\x1b[0;48;2;1;2;3mrgb\x1b[4:3;58:5:9mcurly\x1b[m plain \x1b[7;38;5;200mx\x1b[27;53m",
		"background":                       "\x1b[41m\x1b[2J\x1b[3;3Hx\x1b[K",
		"wide":                             "世界\x1b[1;20H世e\u0301",
		"pending":                          strings.Repeat("x", 20),
		"pending at the end of the screen": "\x1b[10;20Hx",
		"wide and pending":                 "\x1b[10;19H世",
		"alternate":                        "normal\x1b[?1049h\x1b[5;5Halternate\x1b[1m",
		"margins":                          "\x1b[3;6rabc\x1b[?6h\x1b[2;2H",
		"sides":                            "\x1b[?69h\x1b[3;9sabc",
		"modes":                            "\x1b[?1h\x1b=\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?25l\x1b[5 q\x1b[4h\x1b[20h\x1b[?7l",
		"line drawing":                     "\x1b(0lqk\x1b)0\x0e",
		"saved":                            "\x1b[3;4H\x1b[32m\x1b7\x1b[H\x1b[m",
		"title":                            "\x1b]2;a title\x07",
		"link":                             "\x1b]8;id=1;http://example.com/\x1b\\link\x1b]8;;\x1b\\ none",
		"palette":                          "\x1b]4;1;rgb:12/34/56\x07\x1b]11;#ffffff\x07",
		"tabs":                             "\x1b[3g\x1b[5G\x1bH\r",
		"protected":                        "\x1b[1\"qab\x1b[0\"qcd",
		"reverse":                          "\x1b[?5habc",
		"a colour that wraps":              "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n10\x1b[5;1H\x1b[41mxxxxxxxxxxxxxxxxxxxxyy" + strings.Repeat("\r\n", 9),
		"titles":                           "\x1b]2;one\x07\x1b[22;0t\x1b]2;two\x07",
		"protected as ISO does":            "\x1bVab\x1bWcd",
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, stream) })
	}
}

// goingOn makes most of a terminal's hidden state visible.
const goingOn = "A世\tB\x1b[2CC\x1b8D\r\n\r\n\x1b[?2JE\x1b[?6l\x1b[?1049lF\x1b8G\x1b[4;7HH\x1b[KI"

func roundTrip(t *testing.T, stream string) {
	t.Helper()
	one := NewTerminal(20, 10, 100)
	one.Write([]byte(stream))
	ansi := one.Snapshot(100).AppendANSI(nil, true)
	two := NewTerminal(20, 10, 100)
	two.Write(ansi)
	compare := func(when string) {
		if a, b := allShown(one), allShown(two); a != b {
			t.Fatalf("%s: %q\n%s\nas %q\n%s", when, stream, a, ansi, b)
		}
	}
	compare("drawn again")
	one.Write([]byte(goingOn))
	two.Write([]byte(goingOn))
	compare("gone on")
}

// allShown returns all visible state of a terminal.
func allShown(t *Terminal) string {
	s := t.Snapshot(100)
	var b strings.Builder
	fmt.Fprintf(&b, "%+v %q %+v %v\n", s.Cursor, s.Title, s.Modes, s.reverse)
	fmt.Fprintf(&b, "%v %v\n", *s.Palette == *standardPalette(), s.Palette.Background)
	for _, l := range s.History {
		fmt.Fprintf(&b, "h %q %v\n", l.Text(), l.Runs())
	}
	for _, l := range s.Lines {
		fmt.Fprintf(&b, "%v %v\n", l.Wrapped, l.Runs())
	}
	return b.String()
}

// TestAppendANSIGrammar does the same with streams from the grammar.
func TestAppendANSIGrammar(t *testing.T) {
	for i := 0; i < *sequences/60 && !t.Failed(); i++ {
		stream := newGrammar(*seed, uint64(i)).stream(20)
		if resumed(stream) != "" {
			small := minimized(stream, resumed)
			t.Errorf("stream %d: %s\n\t%q", i, resumed(small), small)
		}
	}
}

// resumed describes how a redrawn terminal differs from the first; "" if it does not.
func resumed(stream string) string {
	one := newPlayer()
	for _, s := range stepsOf(stream) {
		one.feed(s, len(s.text))
	}
	s := one.Snapshot(0)
	for i, l := range one.grid.lines {
		last := l.cells[len(l.cells)-1]
		if l.wrapped && last.char == 0 && last.flags&wideTail == 0 && (i+1 == len(s.Lines) || !one.grid.lines[i+1].startsWide()) {
			return "" // a change of size has made it; no output wraps from an empty place
		}
	}
	for _, c := range []cursor{s.resume.cursor, s.resume.saved[0], s.resume.saved[1]} {
		if c.pending {
			return "" // the character may have been erased: a blank stands for it
		}
	}
	two := &player{Terminal: NewTerminal(s.Cols, s.Rows, 0)}
	two.feed(terminalStep{text: string(s.AppendANSI(nil, false))}, 1<<20)
	if d := difference(s, two.Snapshot(0)); d != "" {
		return "drawn again: " + d
	}
	two.replies.Reset()
	one.replies.Reset()
	for _, p := range []*player{one, two} {
		p.feed(terminalStep{text: "\x1b[?6n\x1bP$qr\x1b\\\x1bP$qs\x1b\\\x1bP$qm\x1b\\\x1b[?6$p\x1b[?7$p\x1b[?69$p\x1b[4$p" +
			"x\ty\r\n\tq\x0eq\x0fq\x1b8z\x1bM"}, 1<<20)
	}
	if a, b := one.replies.String(), two.replies.String(); a != b {
		return fmt.Sprintf("it replies %q in place of %q", b, a)
	}
	if d := difference(one.Snapshot(0), two.Snapshot(0)); d != "" {
		return "gone on: " + d
	}
	return ""
}

// TestAppendANSIWithin checks that a terminal continues an unfinished character or sequence.
func TestAppendANSIWithin(t *testing.T) {
	for _, stream := range []string{
		"ab\x1b[3|1mX", "ab\x1b[|1;3H!", "ab\x1b|[31mX", "ab\x1b]2;ti|tle\x07X", "ab\x1b]2;title\x1b|\\X", "ab\xe4\xb8|\x96X",
		"\x1b(|0q", "\x1b[?20|04h", "\x1b[38:2:|1:2:3mX", "\x1bP$|qm\x1b\\X", "\x1b_none|\x1b\\X", "\x1b[1 |qX", "\x1b[0<|1mX", "\x1b[;;|5mX",
		"\x1b]2;" + strings.Repeat("t", 20000) + "|t\x07X",
	} {
		before, after, _ := strings.Cut(stream, "|")
		one := NewTerminal(20, 5, 0)
		one.Write([]byte(before))
		two := NewTerminal(20, 5, 0)
		two.Write(one.Snapshot(0).AppendANSI(nil, false))
		for _, term := range []*Terminal{one, two} {
			term.Write([]byte(after))
		}
		if a, b := allShown(one), allShown(two); a != b {
			t.Errorf("%.40q:\n%s\nand\n%s", stream, a, b)
		}
	}
}

// TestRunsOfWideCharacters checks that a row's last character has its full width.
func TestRunsOfWideCharacters(t *testing.T) {
	term := NewTerminal(20, 5, 0)
	term.Write([]byte("ab日本"))
	if runs := term.Snapshot(0).Lines[0].Runs(); len(runs) != 1 || runs[0].Width != 6 || runs[0].Text != "ab日本" {
		t.Errorf("%+v", runs)
	}
}
