package screen

import "testing"

// TestEraseLineAtEdge checks which cells are erased if the cursor is behind the last column.
func TestEraseLineAtEdge(t *testing.T) {
	for name, c := range map[string]struct{ write, want string }{
		"nothing to the right":      {"abcdefghij\x1b[Kk", "abcdefghij|k▮"},
		"in another colour":         {"abcdefghi\x1b[41mj\x1b[m\x1b[K\r\nk", "abcdefghij|k▮"},
		"a wide character":          {"abcdefgh世\x1b[Kk", "abcdefgh世|k▮"},
		"with characters protected": {"abcdefghij\x1b[?Kk", "abcdefghij|k▮"},
		"on the last column":        {"abcdefghij\x1b[10G\x1b[Kk", "abcdefghi▮k"},
		"to the left":               {"abcdefghij\x1b[1Kk", "         ▮k"},
		"all of it":                 {"abcdefghij\x1b[2Kk", "         ▮k"},
		"to the end of the screen":  {"abcdefghij\x1b[Jk", "abcdefghij|k▮"},
	} {
		t.Run(name, func(t *testing.T) {
			term := NewTerminal(10, 5, 0)
			term.Write([]byte(c.write))
			if got := screenText(term); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
