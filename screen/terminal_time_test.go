package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// hostile are short sequences that cause much work. Each is written as often as fits into 4 KiB, after its preparation.
var hostile = []struct{ name, before, again string }{
	{"erase", "\x1b[41m", "\x1b[2J"},
	{"erase to here", "\x1b[41m\x1b[999;999H", "\x1b[1J"},
	{"erase selectively", "\x1b[1\"q" + strings.Repeat("x", 4<<10), "\x1b[?2J"},
	{"align", "", "\x1b#8"},
	{"reset", strings.Repeat("\x1b[41mx\r\n", 99), "\x1bc"},
	{"soft reset", "", "\x1b[!p"},
	{"repeat", "", "x\x1b[65535b"},
	{"repeat wide", "", "世\x1b[99999b"},
	{"scroll up", "\x1b[41m", "\x1b[999S"},
	{"scroll down", "\x1b[41m", "\x1b[999T"},
	{"scroll between margins", "\x1b[?69h\x1b[2;900s\x1b[41m", "\x1b[9T\x1b[9S"},
	{"index", "\x1b[41m\x1b[999;1H", "\n"},
	{"reverse index", "\x1b[41m", "\x1bM"},
	{"insert lines", "\x1b[41m", "\x1b[9L"},
	{"delete lines", "\x1b[41m", "\x1b[9M"},
	{"insert characters", "\x1b[41m", "\x1b[9@"},
	{"insert columns", "\x1b[41m", "\x1b[9'}"},
	{"delete columns", "\x1b[41m", "\x1b[9'~"},
	{"shift left", "\x1b[41m", "\x1b[9 @"},
	{"back index", "\x1b[41m", "\x1b6"},
	{"insert mode", "\x1b[4h", "\x1b[Hx"},
	{"repeat in insert mode", "\x1b[4h", "x\x1b[65535b"},
	{"repeat wide in insert mode", "\x1b[4h", "世\x1b[65535b"},
	{"repeat between margins", "\x1b[?69h\x1b[2;3s\x1b[999;2H", "x\x1b[65535b"},
	{"repeat wide between margins", "\x1b[?69h\x1b[2;900s\x1b[999;2H", "世\x1b[65535b"},
	{"repeat in one place", "\x1b[?7l\x1b[1;999H", "x\x1b[65535b"},
	{"text between margins", "\x1b[?69h\x1b[2;3s\x1b[999;2H", "x"},
	{"lines between margins", "\x1b[?69h\x1b[2;900s\x1b[999;2H", "\n"},
	{"text in other sets", "\x1b(0\x1b[?69h\x1b[2;3s\x1b[999;2H", "x"},
	{"erase in two colours", "", "\x1b[41m\x1b[2J\x1b[42m\x1b[2J"},
	{"switch and clear at once", "\x1b[41m", "\x1b[?1049" + strings.Repeat(";1049", 29) + "h"},
	{"columns at once", "\x1b[?40h\x1b[41m", "\x1b[?3" + strings.Repeat(";3", 29) + "h"},
	{"restore modes", "\x1b[?40h\x1b[41m\x1b[?3s", "\x1b[?3h\x1b[?3r"},
	{"tabs", "\x1b[3g", "\r\t"},
	{"fill", "", "\x1b[65$x"},
	{"erase a rectangle", "\x1b[41m", "\x1b[$z"},
	{"copy a rectangle", "", "\x1b[1;1;999;999;1;2;2;1$v"},
	{"change attributes", "", "\x1b[;;;;1$r"},
	{"reverse attributes", "", "\x1b[;;;;1$t"},
	{"checksum", "", "\x1b[*y"},
	{"switch screens", "", "\x1b[?1049h\x1b[?1049l"},
	{"switch and clear", "\x1b[41m", "\x1b[?1047h\x1b[?1047l"},
	{"columns", "\x1b[?40h\x1b[41m", "\x1b[?3h\x1b[?3l"},
	{"reverse the screen", "", "\x1b[?5h\x1b[?5l"},
	{"tab", "\x1b[3g", "\x1b[65535I"},
	{"tab back", "\x1b[3g\x1b[1;999H", "\x1b[65535Z"},
	{"clear tabs", "", "\x1b[3g\x1b[?5W"},
	{"back over many lines", "\x1b[?1045h\x1b[?69h\x1b[2;3s", "\x1b[65535D"},
	{"back over lines", "\x1b[?45h\x1b[?7h\x1b[999;999H", "\b"},
	{"marks", "x", "\u0301"},
	{"other marks", "", "x\u0301y\u0302z\u0303"},
	{"wide at the edge", "", "世"},
	{"styles", "", "\x1b[38:2::1:2:3;4:3mx\x1b[58:2::3:2:1mx"},
	{"links", "", "\x1b]8;id=1;http://a\x07x\x1b]8;;\x07"},
	{"palette", "", "\x1b]104\x07"},
	{"colours", "", "\x1b]4" + strings.Repeat(";1;?", 1000) + "\x07"},
	{"setting", "", "\x1bP$qm\x1b\\"},
	{"capabilities", "", "\x1bP+q" + strings.Repeat("544e;", 700) + "\x1b\\"},
	{"title", "\x1b]2;" + strings.Repeat("t", 4000) + "\x07", "\x1b[21t"},
	{"titles", "\x1b]2;" + strings.Repeat("t", 4000) + "\x07", "\x1b[22t"},
	{"save modes", "", "\x1b[?1;2;3;4;5;6;7s"},
	{"save the cursor", "", "\x1b7\x1b8"},
	{"attributes", "", "\x1b[c"},
	{"parameters", "", "\x1b[" + strings.Repeat("1;", 1000) + "m"},
	{"no end", "\x1b]0;", "t"},
	{"bad UTF-8", "", "\xe4\xb8"},
}

// TestTerminalTime checks that no program can keep a terminal busy, or make it answer without end: with -writetime
// 50ms, any 4 KiB must be drawn within that time.
func TestTerminalTime(t *testing.T) {
	for _, h := range hostile {
		text := []byte(strings.Repeat(h.again, max(1, 4<<10/len(h.again))))
		hangs := time.AfterFunc(hangTime, func() { panic(h.name + " hangs") })
		best := time.Hour
		for range 4 { // The machine may be busy with other things.
			terminal := NewTerminal(maxCols, maxRows/2, 1000)
			terminal.Write([]byte(h.before))
			begin := time.Now()
			terminal.Write(text)
			best = min(best, time.Since(begin))
			if n := len(terminal.Replies()); n > maxReply {
				t.Errorf("%s: %d bytes of reply", h.name, n)
			}
			if *writeTime == 0 || best < *writeTime {
				break
			}
		}
		hangs.Stop()
		if *writeTime > 0 && best > *writeTime {
			t.Errorf("%s: %v", h.name, best)
		}
	}
}

// TestTerminalRepliesUnread checks that unread answers do not grow for ever.
func TestTerminalRepliesUnread(t *testing.T) {
	terminal := NewTerminal(80, 24, 0)
	for range 1000 {
		terminal.Write([]byte(strings.Repeat("\x1b[c\x1b[6n\x1bP$qm\x1b\\", 100)))
	}
	if n := len(terminal.Replies()); n == 0 || n > 1<<20 {
		t.Errorf("%d bytes of reply", n)
	}
}

// TestTerminalSizes changes the size to possible and impossible ones.
func TestTerminalSizes(t *testing.T) {
	terminal := NewTerminal(0, -1, maxHistory)
	for _, size := range [][2]int{{1, 1}, {0, 0}, {-1, -1}, {2000, 1}, {1, 2000}, {2000, 50}, {50, 2000}, {2000, 2000}, {80, 24}} {
		terminal.Resize(size[0], size[1])
		terminal.Write([]byte(fmt.Sprintf("\x1b[?1049h%v世\x1b[?1049l%v世\r\n\x1b[999;999H世x", size, size)))
		s := terminal.Snapshot(maxHistory)
		if bad := unsound(s); bad != "" {
			t.Errorf("%v: %s", size, bad)
		}
		if cols, rows := FitSize(size[0], size[1]); s.Cols != cols || s.Rows != rows {
			t.Errorf("%v: %d×%d", size, s.Cols, s.Rows)
		}
	}
}

// TestFitSize checks that a possible size is kept, and how others are replaced.
func TestFitSize(t *testing.T) {
	for _, c := range [][4]int{
		{80, 24, 80, 24}, {1000, 100, 1000, 100}, {512, 512, 512, 512},
		{0, -5, 1, 1}, {65535, 1, 1000, 1}, {1, 65535, 1, 1000}, {65535, 65535, 1000, 262},
	} {
		if cols, rows := FitSize(c[0], c[1]); cols != c[2] || rows != c[3] {
			t.Errorf("%d×%d becomes %d×%d", c[0], c[1], cols, rows)
		}
	}
}
