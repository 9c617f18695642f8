package rpc

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/screen"
)

// TestScreenIsBounded: a screen that does not fit is not encoded as a whole and then refused: the encoded part is about
// as long as an answer may be.
func TestScreenIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine computes: the race detector sees nothing here, and takes ten times as long")
	}
	const cells = 1000 * 300
	term := screen.NewTerminal(1000, 262, 1000)
	var out bytes.Buffer
	for i := range cells {
		fmt.Fprintf(&out, "\x1b[38;2;%d;%d;1mx", i>>8&255, i&255)
	}
	term.Write(out.Bytes())
	coloured := &jobs.Screen{Snapshot: term.Snapshot(1000)}
	out.Reset()
	out.WriteString("\x1b[0m")
	for i := range cells {
		fmt.Fprintf(&out, "\x1b]8;;http://%d/%s\x1b\\x", i&1, strings.Repeat("x", 1500))
	}
	term.Write(out.Bytes())
	linked := &jobs.Screen{Snapshot: term.Snapshot(1000)}
	term.Write([]byte("\x1b[?1049h"))
	hidden := &jobs.Screen{Snapshot: term.Snapshot(1000)} // none of its cells is shown
	for _, c := range []struct {
		name  string
		shown *jobs.Screen
	}{{"styles", coloured}, {"links", linked}, {"hidden links", hidden}} {
		for _, format := range []schema.ScreenFormat{schema.ScreenFormatCells, schema.ScreenFormatAnsi} {
			if c.shown == hidden && format == schema.ScreenFormatCells {
				continue
			}
			r := &request{server: &Server{}, id: []byte("1")}
			r.server.maxMessage.Store(smallLimit)
			lines := int64(1000)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			result, err := r.screenResult(c.shown, &schema.JobScreenParams{Format: &format, Scrollback: &lines})
			if err == nil {
				resultBody(r.id, result)
			}
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
				t.Errorf("%s as %s: %d MB were allocated for an answer of at most 1 MB", c.name, format, took>>20)
			}
			if w, ok := err.(*wireError); !ok || w.kind != schema.KindLimitExceeded || !strings.Contains(w.message, "scrollback") || !strings.Contains(w.message, "format") {
				t.Errorf("%s as %s: %v", c.name, format, err)
			}
		}
	}
}
