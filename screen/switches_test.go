package screen

import "testing"

// TestLeaveAlternate: where the cursor is when a program says that it leaves the alternate screen.
// ?1049 brings back what was saved in any case, as in xterm: dialog leaves it at once and says so
// again at its end, behind what it has drawn on the normal screen.
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
