package screen

import (
	"fmt"
	"strings"
	"testing"
)

// TestWorkOfASequence checks that no single byte, and no sequence that ends with one, is more work than some screens
// full, on screens of any shape and after any settings.
func TestWorkOfASequence(t *testing.T) {
	for _, size := range [][2]int{{512, 512}, {1000, 262}, {262, 1000}, {80, 24}, {1, 1000}, {1000, 1}, {2, 2}} {
		if testing.Short() && size[0]*size[1] > 10_000 {
			continue // its cost is proportional to the size
		}
		most := int64(5*size[0]*size[1] + 8*maxSide*lineWork + 1<<19)
		for _, h := range hostile {
			terminal := NewTerminal(size[0], size[1], 1000)
			terminal.Write([]byte(h.before))
			text := []byte(strings.Repeat(h.again, max(1, 200/len(h.again))))
			for len(text) > 0 {
				before := terminal.Work()
				n := terminal.WriteSome(text, 1)
				if did := terminal.Work() - before; did > most {
					t.Errorf("%v %s: %d work in %q, at most %d", size, h.name, did, text[:n], most)
					break
				}
				text = text[n:]
			}
		}
	}
}

// TestWorkIsCounted checks that slow output counts as much work.
func TestWorkIsCounted(t *testing.T) {
	const cols, rows = 100, 50
	for _, c := range []struct {
		name, before, text string
		least, most        int64
	}{
		{"nothing", "", "", 0, 0},
		{"text", "", "hello", 5, 100},
		{"a line that scrolls", "\x1b[999H", strings.Repeat("x", cols) + "\n", cols, 20 * cols},
		{"an empty screen", "", "\x1b[2J", rows, 20 * rows},
		{"a full one", strings.Repeat("x", cols*rows), "\x1b[2J", cols * rows, 2 * cols * rows},
		{"a coloured one", "\x1b[41m", "\x1b[2J", cols * rows, 2 * cols * rows},
		{"the same again", "\x1b[41m\x1b[2J", "\x1b[2J", rows, 20 * rows},
		{"another colour", "\x1b[41m\x1b[2J\x1b[42m", "\x1b[2J", cols * rows, 2 * cols * rows},
		{"changed in between", "\x1b[41m\x1b[2J\x1b[H\x1b[99@", "\x1b[2J", cols, 20 * rows},
		{"what scrolls between margins", "\x1b[?69h\x1b[2;99s\x1b[999;9H", "\n", cols * rows / 4, 2 * cols * rows},
		{"repeated", "x", "\x1b[65535b", cols * rows, 4 * cols * rows},
		{"repeated in insert mode", "\x1b[4hx", "\x1b[65535b", cols * rows, 6 * cols * rows},
		{"repeated between margins", "\x1b[?69h\x1b[2;3s\x1b[999;2Hx", "\x1b[65535b", 4 * rows, 80 * rows},
		{"modes", "\x1b[41m\x1b[?40h", "\x1b[?3" + strings.Repeat(";3", 29) + "h", cols * rows, 4 * cols * rows},
		{"reset", strings.Repeat("x", cols*rows), "\x1bc", cols * rows, 3 * cols * rows},
		{"colours", "", "\x1b]104\a", paletteWork, 10 * paletteWork},
	} {
		terminal := NewTerminal(cols, rows, 0)
		terminal.Write([]byte(c.before))
		before := terminal.Work()
		terminal.Write([]byte(c.text))
		if did := terminal.Work() - before; did < c.least || did > c.most {
			t.Errorf("%s: %d work, and should be %d to %d", c.name, did, c.least, c.most)
		}
		before = terminal.Work()
		terminal.Resize(cols+1, rows)
		if did := terminal.Work() - before; did < 2*cols*rows {
			t.Errorf("%s: %d work for another size", c.name, did)
		}
	}
}

// TestWorkSkimmed checks that skimmed output is no work, except for its bytes and its settings.
func TestWorkSkimmed(t *testing.T) {
	for _, h := range hostile {
		terminal := NewTerminal(512, 512, 1000)
		terminal.Skim([]byte(h.before))
		text := []byte(strings.Repeat(h.again, max(1, 4<<10/len(h.again))))
		begin := terminal.Work()
		for rest := text; len(rest) > 0; {
			before := terminal.Work()
			n := terminal.SkimSome(rest, 10_000)
			if did := terminal.Work() - before; did > 200_000+int64(n)*byteWork {
				t.Errorf("%s: %d work in %q", h.name, did, rest[:n])
			}
			rest = rest[n:]
		}
		t.Logf("%s: %d work a byte", h.name, (terminal.Work()-begin)/int64(len(text)))
	}
}

// TestManyClusters checks that the number of characters with marks is bounded, and so is the work of finding out which
// of them are still needed.
func TestManyClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine computes: the race detector sees nothing here, and takes ten times as long")
	}
	terminal := NewTerminal(512, 512, 1000)
	var b strings.Builder
	for i := range 4 * maxClusters {
		fmt.Fprintf(&b, "%c%c%c", 'a'+i%26, 0x300+i/26%64, 0x300+i/26/64)
	}
	for text := []byte(b.String()); len(text) > 0; {
		before := terminal.Work()
		n := terminal.WriteSome(text, 1)
		if did := terminal.Work() - before; did > 8<<20 {
			t.Fatalf("%d work in one step", did)
		}
		text = text[n:]
	}
	if n := len(terminal.tables.clusters); n < maxClusters/2 || n > maxClusters {
		t.Errorf("%d clusters", n)
	}
	if terminal.Work() > int64(20*b.Len()*byteWork) {
		t.Errorf("%d work for %d bytes", terminal.Work(), b.Len())
	}
	terminal.Write([]byte("\x1bc" + strings.Repeat("\r\n", 2000)))
	terminal.Write([]byte(strings.Repeat("e\u0301\u0302\u0303", maxClusters) + "\x1b[He\u0307\u0308"))
	if got := terminal.Snapshot(0).Lines[0].Cell(0).Text; got != "e\u0307\u0308" {
		t.Errorf("when they are gone, %+q", got)
	}
}
