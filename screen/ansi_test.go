package screen

import (
	"fmt"
	"strings"
	"testing"
)

// TestAppendANSI plays what a snapshot is as a stream to a fresh terminal: it shows
// the same, and goes on in the same way.
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
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, stream) })
	}
}

// goingOn shows most of what a terminal can have in mind.
const goingOn = "A世\tB\x1b[2CC\x1b8D\r\n\r\n\x1b[?2JE\x1b[?6l\x1b[?1049lF\x1b8G\x1b[4;7HH\x1b[KI"

func roundTrip(t *testing.T, stream string) {
	t.Helper()
	one := NewTerminal(20, 10, 100)
	one.Write([]byte(stream))
	ansi := one.Snapshot(100).AppendANSI(nil, true)
	two := NewTerminal(20, 10, 100)
	two.Write(ansi)
	compare := func(when string) {
		if a, b := drawn(one), drawn(two); a != b {
			t.Fatalf("%s: %q\n%s\nas %q\n%s", when, stream, a, ansi, b)
		}
	}
	compare("drawn again")
	one.Write([]byte(goingOn))
	two.Write([]byte(goingOn))
	compare("gone on")
}

// drawn is all that there is to see of a terminal.
func drawn(t *Terminal) string {
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
