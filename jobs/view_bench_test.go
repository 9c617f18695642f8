package jobs

import (
	"bytes"
	"log/slog"
	"testing"

	"shelld/jobs/internal/spool"
	"shelld/screen"
)

// BenchmarkScreenBehind is how long who asks for a screen waits, where so much has come since
// anybody looked.
func BenchmarkScreenBehind(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64KiB", 64 << 10}, {"1MiB", viewLag}, {"16MiB", 16 << 20}} {
		b.Run(size.name, func(b *testing.B) {
			line := []byte("\x1b[32mok\x1b[0m  some/package/that/has/tests\t0.123s\r\n")
			s := spool.New(32 << 20)
			s.Append(bytes.Repeat(line, size.bytes/len(line)))
			j := &Job{log: slog.New(slog.DiscardHandler), display: &display{scanner: screen.NewScanner("")}}
			j.streams = []*stream{{name: PTY, spool: s}}
			j.sizes.note(0, 80, 24)
			for b.Loop() {
				j.view = nil
				j.theView().show(s.End(), 0)
			}
		})
	}
}
