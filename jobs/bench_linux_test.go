package jobs

import (
	"os/exec"
	"testing"
	"time"
)

// BenchmarkTrue runs the shortest command there is: bare, and as a job until its
// exit and its end are told, with output in memory and in files.
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
