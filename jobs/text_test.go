package jobs

import (
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"log", "one\r\ntwo\n", "one\ntwo\n"},
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
	} {
		if got := Plain([]byte(c.in)); got != c.want {
			t.Errorf("%s: Plain(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		name, in string
		max      int
		want     string
		trunc    *Truncated
	}{
		{"fits", "abc", 3, "abc", nil},
		{"lines", "l1\nl2\nl3\nl4\nl5\nl6\n", 12, "l1\nl2\nl6\n", &Truncated{6, 3, 9, 3}},
		{"one long line", "abcdefghij", 4, "abij", &Truncated{2, 2, 6, 0}},
		{"characters whole", "ääääää", 6, "ää", &Truncated{2, 2, 8, 0}},
		{"nothing", "abc", 0, "", &Truncated{0, 0, 3, 0}},
	} {
		got, trunc := Clip([]byte(c.in), c.max)
		if string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if (trunc == nil) != (c.trunc == nil) || trunc != nil && *trunc != *c.trunc {
			t.Errorf("%s: %+v, want %+v", c.name, trunc, c.trunc)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("a\r\x1b[2Kb\x1b[3A\x1b[@\x1b]x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := Plain(b)
		if strings.ContainsAny(got, "\x1b\r\b") {
			t.Fatalf("Plain(%q) = %q has controls left", b, got)
		}
	})
}
