package plain

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"shelld.dev/shelld/screen"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"log", "one\r\ntwo\n", "one\ntwo\n"},
		{"Latin-1: each byte for itself", "\xe9\xe9 caf\xe9\n", "\ufffd\ufffd caf\ufffd\n"},
		{"the same, redrawn", "x\r\xe9\xe9 caf\xe9\n", "\ufffd\ufffd caf\ufffd\n"},
		{"colour", "\x1b[1;31mred\x1b[0m\r\n", "red\n"},
		{"progress", "10%\r50%\r100%\r\n", "100%\n"},
		{"shorter redraw keeps the rest", "abcdef\rxy\r\n", "xycdef\n"},
		{"erase to end", "Downloading\r\x1b[KDone\r\n", "Done\n"},
		{"erase line", "Downloading\r\x1b[2KDone", "Done"},
		{"backspace", "passwr\bord", "password"},
		{"spinner", "|\b/\b-\b\\\bok", "ok"},
		{"lines redrawn upwards", "a 1\r\nb 1\r\n\x1b[2Aa 2\r\nb 2\r\n", "a 2\nb 2\n"},
		{"erase below", "x\r\ny\r\nz\x1b[2A\r\x1b[Jdone", "done"},
		{"delete and insert", "abcd\x1b[3D\x1b[1P\x1b[2@-", "a- cd"},
		{"title", "\x1b]0;a title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "textlink"},
		{"charset", "\x1b(Btext\x1b=\x1b>", "text"},
		{"private mode", "\x1b[?2004h$ ", "$ "},
		{"invalid", "a\xffb", "a\uFFFDb"},
		{"unfinished sequence", "text\x1b[3", "text"},
		{"lone escape", "text\x1b", "text"},
		{"up beyond the top", "\x1b[99Ax", "x"},
		{"hostile column", "\x1b[999999999Cx", strings.Repeat(" ", maxColumn) + "x"},
		{"bell and nul", "a\x07\x00b", "ab"},
		{"tab stays", "a\tb\r\n", "a\tb\n"},
		{"DEL", "a\x7fb\n", "ab\n"},
		{"C1 controls", "a\u009b31mb\u0090c\u009dd\u009c\u0080e\u009f\n", "a31mbcde\n"},
		{"C1 controls as single bytes", "a\x9bb\x90", "a\uFFFDb\uFFFD"},
		{"C1 controls in what is redrawn", "10%\r\u009b50%\x7f\r\n", "50%\n"},
		{"what reorders text", "a\u202eb\u202a\u202b\u202c\u202dc\u2066\u2067\u2068\u2069d", "abcd"},
		{"what belongs to text", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469 \u2764\ufe0f a\u200eb\u200fc\u061c d\u200be\ufefff\u00a0g\u00ad",
			"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469 \u2764\ufe0f a\u200eb\u200fc\u061c d\u200be\ufefff\u00a0g\u00ad"},
		{"neighbours", "\u00a0\u2029\u202f\u2065\u206a\r.\n", ".\u2029\u202f\u2065\u206a\n"},
	} {
		if got := Text([]byte(c.in)); got != c.want {
			t.Errorf("%s: Text(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// hasControl finds every control character that package screen knows, between other bytes.
func TestHasControl(t *testing.T) {
	for r := rune(0x20); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && hasControl([]byte("\xc2\xa0"+string(r)+"\xe2")) != screen.IsControl(r) {
			t.Errorf("%U: %v", r, !screen.IsControl(r))
		}
	}
}

// A few bytes of output cannot produce a long text.
func TestTextIsBounded(t *testing.T) {
	for name, unit := range map[string]string{
		"columns":    "\x1b[4096Cx\n",
		"insertions": "a\x1b[D\x1b[4096@",
		"deletions":  "\x1b[4096C\x1b[G\x1b[1P",
		"erasures":   "x\x1b[1K",
	} {
		in := []byte(strings.Repeat(unit, 20000))
		if got := Text(in); len(got) > 4*(len(in)+spareCells) {
			t.Errorf("%s: %d bytes of %d", name, len(got), len(in))
		}
	}
	// Ordinary use of the same sequences has its effect.
	if got := Text([]byte("abc\x1b[2D\x1b[3@X\r\x1b[10Cend")); got != "aX  bc    end" {
		t.Errorf("%q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\r\x1b[2Kb\x1b[3A\x1b[@\x1b]x"))
	f.Add([]byte("a\u009bb\u202ec\x7f\xe2\x80\xc2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := Text(b)
		if got != screen.WithoutControls(got, "\n\t") {
			t.Fatalf("Text(%q) = %q has controls left", b, got)
		}
		if utf8.Valid(b) && !needsFolding(b) {
			p := pager{lines: [][]rune{nil}, cells: len(b) + spareCells, work: 64 * (len(b) + spareCells)}
			for rest := bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")); len(rest) > 0; {
				rest = rest[p.next(rest):]
			}
			if folded := p.String(); folded != got {
				t.Fatalf("Text(%q) = %q, folded %q", b, got, folded)
			}
		}
	})
}
