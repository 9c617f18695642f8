package screen

import (
	"cmp"
	"strings"
	"testing"
)

// screenText returns the screen without blank lines at its end, with ▮ before the character at the cursor.
func screenText(t *Terminal) string {
	s := t.Snapshot(0)
	var all []string
	for i, l := range s.Lines {
		var text strings.Builder
		for col := range l.Len() {
			if i == s.Cursor.Row && col == s.Cursor.Col {
				text.WriteString("▮")
			}
			if c := l.Cell(col); c.Width > 0 {
				text.WriteString(cmp.Or(c.Text, " "))
			}
		}
		all = append(all, strings.TrimRight(text.String(), " "))
	}
	return strings.TrimRight(strings.Join(all, "|"), "|")
}

// TestResize changes sizes like a person dragging the edge of a window.
func TestResize(t *testing.T) {
	type size struct{ cols, rows int }
	for name, c := range map[string]struct {
		write string
		sizes []size
		want  string
	}{
		"narrower wraps":              {"abcdefgh\r\nx", []size{{4, 5}}, "abcd|efgh|x▮"},
		"wider joins":                 {"abcdefghijklmno\r\nx", []size{{20, 5}}, "abcdefghijklmno|x▮"},
		"there and back":              {"abcdefghijklmno\r\nx", []size{{4, 5}, {10, 5}}, "abcdefghij|klmno|x▮"},
		"lines that were ended":       {"ab\r\ncd\r\n", []size{{20, 5}}, "ab|cd|▮"},
		"a wide character at an edge": {"abc世def", []size{{4, 5}}, "abc|世de|f▮"},
		"and back":                    {"abc世def", []size{{4, 5}, {10, 5}}, "abc世def▮"},
		"lower drops blank rows":      {"a\r\nb", []size{{10, 2}}, "a|b▮"},
		"lower scrolls":               {"1\r\n2\r\n3\r\n4\r\n5", []size{{10, 2}}, "4|5▮"},
		"higher brings back":          {"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7", []size{{10, 2}, {10, 6}}, "2|3|4|5|6|7▮"},
		"not onto a cleared screen":   {"1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[H\x1b[2Jx", []size{{10, 8}}, "x▮"},
		"the cursor stays in sight":   {"1\r\n2\r\n3\r\n4\r\n5\x1b[2;1H", []size{{10, 2}}, "▮2|3"},
		"the cursor on its character": {"abcdefgh\x1b[1;7H", []size{{4, 5}}, "abcd|ef▮gh"},
		"behind what was written":     {"abcdefghij", []size{{12, 5}}, "abcdefghij▮"},
		"one cell":                    {"abc", []size{{1, 1}}, "▮c"},
		"the alternate screen is cut": {"\x1b[?1049habcdefghij\x1b[3;1Hx", []size{{4, 3}}, "abcd||x▮"},
		"and not joined again":        {"\x1b[?1049habcdefghij\x1b[3;1Hx", []size{{4, 3}, {10, 5}}, "abcd||x▮"},
		"a line that was erased":      {"abcdefghijklm\x1b[2;1H\x1b[2Kother", []size{{20, 5}}, "abcdefghij|other▮"},
		"a screen that was cleared":   {"1\r\n2\r\n3\r\n4\r\naaaaaaaaaaAA\x1b[H\x1b[2J$ ls\r\nx", []size{{20, 5}}, "$ ls|x▮"},
		"a row of one colour":         {"\x1b[44mprompt\x1b[K\x1b[m\r\nnext", []size{{7, 5}}, "prompt|next▮"},
		"behind another screen":       {"1\r\n2\r\n3\r\n4\r\n5\x1b[?1047h", []size{{10, 3}, {10, 5}}, "z47"},
		"the normal one behind it":    {"abcdefgh\r\nx\x1b[?1049hy", []size{{4, 5}}, "z"},
	} {
		t.Run(name, func(t *testing.T) {
			term := NewTerminal(10, 5, 100)
			term.Write([]byte(c.write))
			for _, s := range c.sizes {
				term.Resize(s.cols, s.rows)
			}
			if c.want == "z47" {
				term.Write([]byte("\x1b[?1047l"))
				c.want = "1|2|3▮|4|5"
			}
			if c.want == "z" {
				term.Write([]byte("\x1b[?1049l"))
				c.want = "abcd|efgh|x▮"
			}
			if got := screenText(term); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestResizeLeavesMargins checks that a resize resets the margins, which count rows.
func TestResizeLeavesMargins(t *testing.T) {
	term := NewTerminal(10, 5, 0)
	term.Write([]byte("\x1b[2;3r"))
	term.Resize(10, 8)
	term.Write([]byte("\x1b[8;1Hlast\r\nnext"))
	if got := term.Snapshot(0).Lines[6].Text(); got != "last" {
		t.Errorf("row 6 is %q", got)
	}
}
