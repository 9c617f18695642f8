package stored

import (
	"fmt"
	"math"

	"shelld.dev/shelld/screen"
)

// drawnBytes is the number of bytes at the end of the output that are drawn. Earlier output is only read for modes and
// similar state.
const drawnBytes = 4 << 20

// Screen returns the screen of a terminal of the given size after the stored output of a job.
func (d *Directory) Screen(j Job, cols, rows int) (*screen.Snapshot, error) {
	t := screen.NewTerminal(cols, rows, 0)
	out, err := d.Output(j, StdoutFile)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	b := make([]byte, outputRead)
	for off := int64(0); ; {
		n, at, err := out.Read(b, off)
		switch {
		case err != nil:
			return nil, fmt.Errorf("at offset %d: %w", off, err)
		case n == 0:
			return t.Snapshot(0), nil
		case at > off:
			t.Lost(t.Snapshot(0).Modes)
		}
		if at+int64(n) < out.NextOffset-drawnBytes {
			t.Skim(b[:n])
		} else {
			t.WriteSome(b[:n], math.MaxInt64)
		}
		t.Replies() // The replies are discarded.
		off = at + int64(n)
	}
}
