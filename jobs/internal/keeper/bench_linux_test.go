package keeper_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/proc"
)

// BenchmarkStart runs /bin/true: bare, and under a keeper. Beside the mean it
// tells the median and the 99th percentile of start to started and to Empty.
func BenchmarkStart(b *testing.B) {
	b.Run("bare fork and exec", func(b *testing.B) {
		measure(b, func(started, ended func()) {
			pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{})
			if err != nil {
				b.Fatal(err)
			}
			started()
			_, _ = syscall.Wait4(pid, nil, 0, nil)
			ended()
		})
	})
	for _, terminal := range []bool{false, true} {
		name := "pipe"
		if terminal {
			name = "terminal"
		}
		b.Run("cold "+name, func(b *testing.B) {
			measure(b, func(started, ended func()) {
				pool := keeper.NewPool(keeper.PoolOptions{})
				runTrue(b, pool, terminal, started, ended)
				pool.Close()
			})
		})
		b.Run("back to back "+name, func(b *testing.B) {
			pool := newPool(b)
			measure(b, func(started, ended func()) { runTrue(b, pool, terminal, started, ended) })
		})
		b.Run("warm "+name, func(b *testing.B) {
			pool := newPool(b)
			runTrue(b, pool, terminal, func() {}, func() {})
			measureAfter(b, func() { keeper.AwaitSpare(pool) }, func(started, ended func()) { runTrue(b, pool, terminal, started, ended) })
		})
	}
}

func runTrue(b *testing.B, pool *keeper.Pool, terminal bool, started, ended func()) {
	cmd := keeper.Command{Path: "/bin/true", Argv: []string{"true"}}
	var files []interface{ Close() error }
	if terminal {
		term, slave, err := proc.OpenTerminal(80, 24)
		if err != nil {
			b.Fatal(err)
		}
		files, cmd.Terminal = append(files, term, slave), slave
	} else {
		ours, theirs, err := proc.OutputPipe()
		if err != nil {
			b.Fatal(err)
		}
		files, cmd.Stdout = append(files, ours, theirs), theirs
	}
	k, err := pool.Start(cmd)
	if err != nil {
		b.Fatal(err)
	}
	started()
	for e := range k.Events() {
		if e.Kind == keeper.Empty {
			break
		}
	}
	ended()
	<-k.Done()
	for _, f := range files {
		_ = f.Close()
	}
}

// measure runs and reports one way to start.
func measure(b *testing.B, run func(started, ended func())) { measureAfter(b, func() {}, run) }

// measureAfter does so, and leaves out what it prepares.
func measureAfter(b *testing.B, prepare func(), run func(started, ended func())) {
	var starts, ends []time.Duration
	for b.Loop() {
		prepare()
		begun := time.Now()
		run(func() { starts = append(starts, time.Since(begun)) }, func() { ends = append(ends, time.Since(begun)) })
	}
	for _, list := range [][]time.Duration{starts, ends} {
		slices.Sort(list)
	}
	at := func(list []time.Duration, q int) float64 { return float64(list[len(list)*q/100].Microseconds()) }
	b.ReportMetric(at(starts, 50), "µs-start-p50")
	b.ReportMetric(at(starts, 99), "µs-start-p99")
	b.ReportMetric(at(ends, 50), "µs-empty-p50")
	b.ReportMetric(at(ends, 99), "µs-empty-p99")
}
