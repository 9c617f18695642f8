package jobs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkSecrets measures the cost of the search for 20 secret values: a file of ordinary words goes through a pipe
// or a terminal into the store, alternately with and without secrets. ratio is the speed with secrets divided by that
// without. All three results are medians of the repetitions, since other work of the machine disturbs some of them.
func BenchmarkSecrets(b *testing.B) {
	file := filepath.Join(b.TempDir(), "text")
	text := words(8 << 20)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.Fatal(err)
	}
	for _, mode := range []Mode{ModePipe, ModePTY} {
		for _, length := range []int{32, 6} {
			for _, store := range []string{"memory", "files"} {
				b.Run(fmt.Sprintf("%s/length=%d/%s", mode, length, store), func(b *testing.B) {
					var m [2]*Manager
					for i := range m {
						o := Options{}
						if store == "files" {
							o.Persist = persistIn(b.TempDir())
						}
						var done func()
						m[i], done = benchManager(b, o)
						defer done()
					}
					r := rand.New(rand.NewPCG(1, 2))
					for i := range 20 {
						value := make([]byte, length)
						for k := range value {
							value[k] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(62)]
						}
						if err := m[1].SetSecret(fmt.Sprint(i), string(value)); err != nil {
							b.Fatal(err)
						}
					}
					s := sh("stty -opost 2>/dev/null; for i in 1 2 3 4; do cat '" + file + "'; done")
					s.Mode = mode
					var speeds [2][]float64
					var ratios []float64
					for n := 0; b.Loop(); n++ {
						var speed [2]float64
						for i := range 2 {
							which := (i + n) % 2
							took := throughput(b, m[which], s, int64(4*len(text)))
							speed[which] = float64(4*len(text)) / took.Seconds() / 1e6
							speeds[which] = append(speeds[which], speed[which])
						}
						ratios = append(ratios, speed[1]/speed[0])
					}
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(middle(speeds[0]), "MB/s-without")
					b.ReportMetric(middle(speeds[1]), "MB/s-with")
					b.ReportMetric(middle(ratios), "ratio")
				})
			}
		}
	}
}

// middle returns the median.
func middle(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

func benchManager(b *testing.B, o Options) (m *Manager, done func()) {
	b.Helper()
	m, err := NewManager(o)
	if err != nil {
		b.Fatal(err)
	}
	return m, func() {
		m.Shutdown()
		if err := m.Close(); err != nil {
			b.Error(err)
		}
	}
}

// throughput returns the time until a command is closed. It checks that the command writes size bytes.
func throughput(b *testing.B, m *Manager, s Spec, size int64) time.Duration {
	b.Helper()
	s.Wait = untilClosed()
	began := time.Now()
	_, p, refused := m.Start(s)
	if refused != nil {
		b.Fatal(refused)
	}
	r := <-p.C
	took := time.Since(began)
	if r.Err != nil {
		b.Fatal(r.Err)
	}
	if end := r.Value.Outcome.State.Streams[0].NextOffset; end != size {
		b.Fatalf("%d bytes came, want %d", end, size)
	}
	return took
}

// words returns text of ordinary words.
func words(size int) []byte {
	all := strings.Fields("the server of each job passes output on and never stores what must not be seen by whoever reads the terminal because some of these programs print passwords again into logs")
	r := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for n := 0; b.Len() < size; n++ {
		b.WriteString(all[r.IntN(len(all))])
		b.WriteByte(" \n"[max(n%12-10, 0)])
	}
	return b.Bytes()[:size]
}
