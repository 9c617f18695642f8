package stored_test

import (
	"fmt"
	"io"
	"log/slog"
	"testing"

	"shelld.dev/shelld/jobs/internal/storedtest"
	"shelld.dev/shelld/jobs/stored"
)

// BenchmarkTidy tidies a hundred jobs of ten servers, all of which are kept, as each server does when it is initialized.
func BenchmarkTidy(b *testing.B) {
	for _, state := range []string{"closed", "running"} {
		b.Run(state, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				d := storedtest.Dir{TB: b, Path: b.TempDir()}
				for id := range 100 {
					d.Put(storedtest.Session(id%10), id+1, "info.json", fmt.Sprint(id+1, " ", state))
					d.Put(storedtest.Session(id%10), id+1, "stdout.txt", "text")
				}
				p, err := stored.Open(d.Path, storedtest.Reader{}, slog.New(slog.NewTextHandler(io.Discard, nil)))
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := p.Tidy(b.Context(), &stored.DefaultRetention, false); err != nil {
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
