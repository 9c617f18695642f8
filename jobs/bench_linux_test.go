package jobs

import (
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkTerminalFlood measures output through a terminal, as fast as the kernel delivers it.
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

// BenchmarkTrue runs the shortest possible command: without the server, and as a job until its exited and closed
// events, with output in memory and in files.
func BenchmarkTrue(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, store := range []string{"memory", "files"} {
		for _, until := range []ConditionKind{UntilExit, UntilClosed} {
			b.Run(store+"/"+string(until), func(b *testing.B) {
				o := Options{}
				if store == "files" {
					o.Persist = persistIn(b.TempDir())
				}
				benchTrue(b, o, until)
			})
		}
	}
}

func benchTrue(b *testing.B, o Options, until ConditionKind) {
	m, err := NewManager(o)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		m.Shutdown()
		if err := m.Close(); err != nil {
			b.Error(err)
		}
	}()
	for b.Loop() {
		_, p, err := m.Start(Spec{Argv: []string{"/bin/true"}, Mode: ModePipe, Wait: &WaitSpec{
			Until: []Condition{{Kind: until}}, Timeout: time.Minute,
		}})
		if err != nil {
			b.Fatal(err)
		}
		if r := <-p.C; r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}
