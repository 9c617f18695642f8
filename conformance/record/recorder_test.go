package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWriteNew checks that existing sessions are kept.
func TestWriteNew(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.txtar")
	for _, want := range []string{"s.txtar", "s-2.txtar", "s-3.txtar"} {
		got, err := writeNew(name, []byte(want))
		if err != nil || filepath.Base(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	}
	if first, err := os.ReadFile(name); err != nil || string(first) != "s.txtar" {
		t.Errorf("%s, %v", first, err)
	}
}

// TestRecordOverflow checks that a recording is limited, however many bytes are sent.
func TestRecordOverflow(t *testing.T) {
	tp := newTape()
	for range mostTaped>>20 + 10 {
		tp.fromClient(append(bytes.Repeat([]byte("["), 1<<20), '\n'))
	}
	tp.note(tapeExit, "0")
	entries, framing := tp.done()
	n := len(entries)
	if n > mostTaped>>20+2 || entries[n-2].kind != tapeOverflow || entries[n-1].kind != tapeExit || framing != "line" {
		t.Errorf("%d entries, %v", n, framing)
	}
}
