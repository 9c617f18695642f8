package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkRecording measures the cost of recording a flood: 32 MiB of ordinary words go through a pipe or a terminal
// into files, alternately with and without a recording, until the job is closed and its files are complete. ratio is
// the speed with a recording divided by that without.
func BenchmarkRecording(b *testing.B) {
	file := filepath.Join(b.TempDir(), "text")
	text := words(8 << 20)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.Fatal(err)
	}
	for _, mode := range []Mode{ModePipe, ModePTY} {
		b.Run(string(mode), func(b *testing.B) {
			m, done := benchManager(b, Options{Persist: persistIn(b.TempDir()), Limits: Limits{KeepJobs: 4}})
			defer done()
			s := sh(fmt.Sprintf("stty -opost 2>/dev/null; for i in 1 2 3 4; do cat '%s'; done", file))
			s.Mode = mode
			var took [2]time.Duration
			n := 0
			for b.Loop() {
				for i := range 2 {
					which := (i + n) % 2
					s.Record = which == 1
					took[which] += throughput(b, m, s, int64(4*len(text)))
				}
				n++
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(n*4*len(text))/took[0].Seconds()/1e6, "MB/s-without")
			b.ReportMetric(float64(n*4*len(text))/took[1].Seconds()/1e6, "MB/s-with")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "ratio")
		})
	}
}
