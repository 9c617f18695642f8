package jobs

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
)

// BenchmarkTidy is a look through what a hundred jobs of ten servers have left, all of which is
// kept: what each server does beside its other work when it is initialized.
func BenchmarkTidy(b *testing.B) {
	for _, state := range []string{"closed", "running"} {
		b.Run(state, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				d := stateDir{b, b.TempDir()}
				for id := range 100 {
					d.put(named(id%10), id+1, "info.json", fmt.Sprint(id+1, " ", state))
					d.put(named(id%10), id+1, "stdout.txt", "text")
				}
				p, err := OpenPast(d.dir, textReader{}, slog.New(slog.NewTextHandler(io.Discard, nil)))
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := p.Tidy(b.Context(), &DefaultRetention, false); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := p.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
