package keeper_test

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

// BenchmarkStart runs /bin/true: bare, and under a keeper. Besides the mean it reports the median and the 99th
// percentile of the times from start to started, to Exited and to Empty. Opening the terminal is included.
func BenchmarkStart(b *testing.B) {
	b.Run("bare pipe", func(b *testing.B) { measure(b, func(l *laps) { runBare(b, false, l) }) })
	b.Run("bare terminal", func(b *testing.B) { measure(b, func(l *laps) { runBare(b, true, l) }) })
	for _, terminal := range []bool{false, true} {
		name := "pipe"
		if terminal {
			name = "terminal"
		}
		b.Run("cold "+name, func(b *testing.B) {
			measure(b, func(l *laps) {
				pool := keeper.NewPool(keeper.PoolOptions{})
				runTrue(b, pool, terminal, l)
				pool.Close()
			})
		})
		b.Run("back to back "+name, func(b *testing.B) {
			pool := newPool(b)
			measure(b, func(l *laps) { runTrue(b, pool, terminal, l) })
		})
		b.Run("warm "+name, func(b *testing.B) {
			pool := newPool(b)
			runTrue(b, pool, terminal, new(laps))
			measureAfter(b, func() { keeper.AwaitSpare(pool) }, func(l *laps) { runTrue(b, pool, terminal, l) })
		})
	}
}

// openOutput creates the output of a job.
func openOutput(b *testing.B, terminal bool) (ours interface{ Close() error }, theirs *os.File) {
	var err error
	if terminal {
		ours, theirs, err = proc.OpenTerminal(80, 24)
	} else {
		ours, theirs, err = proc.OutputPipe()
	}
	if err != nil {
		b.Fatal(err)
	}
	return ours, theirs
}

func runBare(b *testing.B, terminal bool, l *laps) {
	ours, theirs := openOutput(b, terminal)
	attr := &syscall.ProcAttr{Files: []uintptr{theirs.Fd(), theirs.Fd(), theirs.Fd()}}
	if terminal {
		attr.Sys = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, attr)
	if err != nil {
		b.Fatal(err)
	}
	l.started()
	_, _ = syscall.Wait4(pid, nil, 0, nil)
	l.exited()
	l.ended()
	_, _ = ours.Close(), theirs.Close()
}

func runTrue(b *testing.B, pool *keeper.Pool, terminal bool, l *laps) {
	cmd := keeper.Command{Path: "/bin/true", Argv: []string{"true"}}
	ours, theirs := openOutput(b, terminal)
	if terminal {
		cmd.Terminal = theirs
	} else {
		cmd.Stdout = theirs
	}
	k, err := pool.Start(cmd)
	if err != nil {
		b.Fatal(err)
	}
	l.started()
	for e := range k.Events() {
		switch e.Kind {
		case keeper.Exited:
			l.exited()
		case keeper.Empty:
			l.ended()
		}
	}
	<-k.Done()
	_, _ = ours.Close(), theirs.Close()
}

// laps are the times of all runs, by the event that ends them.
type laps struct {
	begun               time.Time
	starts, exits, ends []time.Duration
}

func (l *laps) started() { l.starts = append(l.starts, time.Since(l.begun)) }
func (l *laps) exited()  { l.exits = append(l.exits, time.Since(l.begun)) }
func (l *laps) ended()   { l.ends = append(l.ends, time.Since(l.begun)) }

// measure runs and reports one way to start.
func measure(b *testing.B, run func(*laps)) { measureAfter(b, func() {}, run) }

// measureAfter does the same, without the time of prepare.
func measureAfter(b *testing.B, prepare func(), run func(*laps)) {
	var l laps
	for b.Loop() {
		prepare()
		l.begun = time.Now()
		run(&l)
	}
	at := func(list []time.Duration, q int) float64 { return float64(list[len(list)*q/100].Microseconds()) }
	for name, list := range map[string][]time.Duration{"start": l.starts, "exit": l.exits, "empty": l.ends} {
		slices.Sort(list)
		b.ReportMetric(at(list, 50), "µs-"+name+"-p50")
		b.ReportMetric(at(list, 99), "µs-"+name+"-p99")
	}
}
