package jobs

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkTerminalFlood: output through a terminal, as fast as the kernel gives it.
func BenchmarkTerminalFlood(b *testing.B) {
	const size = 32 << 20
	for _, c := range []struct{ name, line string }{
		{"plain", "the quick brown fox jumps over the lazy dog, and on it goes"},
		{"coloured", "\033[32mok\033[0m \033[1;34mINFO\033[0m the quick brown \033[38;5;196mfox\033[0m"},
	} {
		b.Run(c.name, func(b *testing.B) {
			m, err := NewManager(Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				m.Shutdown()
				if err := m.Close(); err != nil {
					b.Error(err)
				}
			}()
			b.SetBytes(size)
			for b.Loop() {
				s := sh(fmt.Sprintf("stty -opost; yes \"$LINE\" | head -c %d", size))
				s.Env = map[string]*string{"LINE": &c.line}
				s.Wait = untilClosed()
				s.Wait.Timeout = 5 * time.Minute
				_, p, refused := m.Start(s)
				if refused != nil {
					b.Fatal(refused)
				}
				if r := <-p.C; r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		})
	}
}
