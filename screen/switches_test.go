package screen

import "testing"

// TestLeaveAlternate checks the place of the cursor when a program leaves the alternate screen. ?1049 restores the
// saved cursor in any case, as in xterm: dialog leaves the screen at once and leaves it again at its end, after drawing
// on the normal screen.
func TestLeaveAlternate(t *testing.T) {
	for name, c := range map[string]struct{ write, want string }{
		"once":               {"ab\r\n\x1b[?1049hxyz\x1b[?1049l", "ab|▮"},
		"again":              {"ab\r\n\x1b[?1049h\x1b[?1049l\x1b[4;2Hc\x1b[?1049l", "ab|▮|| c"},
		"saved by DECSC":     {"ab\x1b7\x1b[4;2Hc\x1b[?1049l", "ab▮||| c"},
		"with nothing saved": {"ab\r\nc\x1b[?1049l", "▮ab|c"},
		"not by 1047":        {"ab\r\n\x1b[?1049h\x1b[?1049l\x1b[4;2Hc\x1b[?1047l", "ab||| c▮"},
		"not by 47":          {"ab\r\n\x1b[?1049h\x1b[?1049l\x1b[4;2Hc\x1b[?47l", "ab||| c▮"},
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
