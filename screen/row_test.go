package screen

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
)

func TestAppendRow(t *testing.T) {
	for _, test := range []struct {
		output string
		cols   int
		want   string
	}{
		{"plain", 20, "plain"},
		{"a\x1b[1;31mred\x1b[m b", 20, "a\x1b[0;1;31mred\x1b[0m b"},
		{"\x1b[44m x", 20, "\x1b[0;44m x\x1b[m"},
		{"a\x1b[5Gb", 20, "a   b"},
		{"cut here", 3, "cut"},
		{"a漢字", 3, "a漢"},
		{"a漢字", 4, "a漢 "},
		{"\x1b]8;;http://evil\x07link\x1b]8;;\x07", 20, "link"},
		{"\x1b]4;1;#123456\x07\x1b[31mx", 20, "\x1b[0;31mx\x1b[m"},
		{"\x1b[1\"qx\x1b[0\"q", 20, "x"},
		{"a\u202eb\u2066c e\u0301", 20, "abc e\u0301"},
		{"\U0001f469\u200d\U0001f680", 20, "\U0001f469\u200d\U0001f680"},
		{"", 20, ""},
	} {
		term := NewTerminal(20, 3, 0)
		term.WriteSome([]byte(test.output), 1<<40)
		if got := string(term.Snapshot(0).AppendRow(nil, 0, test.cols)); got != test.want {
			t.Errorf("%q in %d columns: %q, want %q", test.output, test.cols, got, test.want)
		}
	}
}

var styleSequence = regexp.MustCompile(`\x1b\[[0-9:;]*m`)

// FuzzAppendRow checks that a row consists of characters and styles, whatever a program has printed.
func FuzzAppendRow(f *testing.F) {
	for _, seed := range []string{"a\x1b[31mb", "\x1b]0;t\x07", "\u009b1m", "e\u0301\u202e\u2066", "\x1b(0qqq\x0f\x7f\x85", "\x1bP$qm\x1b\\", "\x1b#8"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		term := NewTerminal(10, 3, 0)
		term.WriteSome(output, 1<<24)
		s := term.Snapshot(0)
		for row := range s.Lines {
			text := styleSequence.ReplaceAllString(string(s.AppendRow(nil, row, 10)), "")
			if i := strings.IndexFunc(text, func(r rune) bool { return r != joiner && unicode.In(r, unicode.Cc, unicode.Cf) }); i >= 0 {
				t.Fatalf("%q: row %d has %q", output, row, text)
			}
		}
	})
}
