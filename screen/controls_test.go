package screen

import (
	"testing"
	"unicode"
)

// Every control character of Unicode is one, and of the others only those that reorder text.
func TestIsControl(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) && r != '\u061c' && r != '\u200e' && r != '\u200f'
		if got := IsControl(r); got != want {
			t.Errorf("%U: %v", r, got)
		}
	}
	if got := WithoutControls("a\tb\nc\u009bd\u202ee\x7f\u200d\xff", "\n"); got != "ab\ncde\u200d\ufffd" {
		t.Errorf("%q", got)
	}
}

// Neither the screen nor the title contains a control character, and none takes a place.
func TestScreensHaveNoControls(t *testing.T) {
	term := NewTerminal(20, 2, 0)
	term.Write([]byte("\x1b]0;a\u202eb\u009b\x7fc\u2066\u200d\a" + "x\u202ey\u2066\u2069z\u200dm\x7f\u009b1mbold\u009c\u0085"))
	s := term.Snapshot(0)
	if s.Title != "abc\u200d" {
		t.Errorf("title %q", s.Title)
	}
	if got := s.Lines[0].Text(); got != "xyz\u200dmbold" {
		t.Errorf("line %q", got)
	}
	scanner := NewScanner("")
	scanner.Scan([]byte("\x1b]0;a\u202eb\u009b\x7fc\u2066\u200d\a"))
	if got := scanner.Told().Title; got != s.Title {
		t.Errorf("the scanner's title %q", got)
	}
}
