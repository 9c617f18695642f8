package view

import (
	"bytes"
	"strings"
	"testing"
)

// BenchmarkScreenBehind measures a call by how far the view is behind.
func BenchmarkScreenBehind(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64KiB", 64 << 10}, {"1MiB", lagBytes}, {"16MiB", 16 << 20}} {
		b.Run(size.name, func(b *testing.B) {
			line := []byte("\x1b[32mok\x1b[0m  some/package/that/has/tests\t0.123s\r\n")
			v, end := viewOf(80, 24, bytes.Repeat(line, size.bytes/len(line)))
			for b.Loop() {
				New(v.src).Show(end, 0, nil)
			}
		})
	}
}

// BenchmarkScreenHostile measures the same with output that takes as much work as possible, on the largest terminal.
func BenchmarkScreenHostile(b *testing.B) {
	for name, output := range hostile {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				v, end := viewOf(largest, largest, []byte(output))
				b.StartTimer()
				v.Show(end, 0, nil)
			}
		})
	}
}

// BenchmarkScreenClosed compares two costs of a closed terminal's screen: the time to redraw it for each request
// (redraw), and the memory of its last snapshot, which would be kept as long as the job is known (snapshot).
func BenchmarkScreenClosed(b *testing.B) {
	for _, c := range []struct {
		name             string
		cols, rows, line int
		bytes            int
	}{
		{"80x24/16KiB", 80, 24, 40, 16 << 10}, {"80x24/64KiB", 80, 24, 40, 64 << 10}, {"80x24/1MiB", 80, 24, 40, lagBytes}, {"80x24/8MiB", 80, 24, 40, redrawBytes},
		{"200x50/64KiB", 200, 50, 120, 64 << 10}, {"200x50/1MiB", 200, 50, 120, lagBytes}, {"200x50/8MiB", 200, 50, 120, redrawBytes},
		{"512x512/8MiB", largest, largest, largest - 2, redrawBytes},
	} {
		line := strings.Repeat("x", c.line) + "\r\n"
		v, end := viewOf(c.cols, c.rows, nil)
		for range c.bytes / len(line) {
			v.src.Spool.Append([]byte(line))
			end += int64(len(line))
			if end-v.next > lagBytes/2 {
				v.Show(end, 0, nil)
			}
		}
		b.Run(c.name+"/snapshot", func(b *testing.B) {
			b.ReportAllocs()
			v.Show(end, 0, nil)
			for b.Loop() {
				v.term.Snapshot(History)
			}
		})
		ended := make(chan struct{})
		close(ended)
		v.src.Ended = ended
		v.Release(end)
		if v.final != nil {
			b.Fatalf("%s is not drawn once more", c.name)
		}
		b.Run(c.name+"/redraw", func(b *testing.B) {
			for b.Loop() {
				v.Show(end, 0, nil)
			}
		})
	}
}
