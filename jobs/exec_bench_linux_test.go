package jobs

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkExec compares a command through Exec with the same command typed into a shell without integration: from the
// request to a pattern in its output, and to its end. It reports medians in addition to the mean.
func BenchmarkExec(b *testing.B) {
	const command = "echo x$((1))y"
	for _, name := range execShells {
		line := command
		if name == "fish" {
			line = "echo x(math 1)y"
		}
		until := Condition{Kind: UntilPattern, Watch: WatchSpec{Pattern: "x1y"}}
		b.Run(name+"/typed", func(b *testing.B) {
			j := benchShell(b, name, true)
			bench(b, func() {
				p, err := j.Write(Input{Text: line, AppendNewline: true, Wait: execWait(time.Minute, until)})
				mustReason(b, err, func() string { r := <-p.C; return r.Value.Outcome.Reason }, "pattern")
			}, func() {
				p, err := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilInput, Input: InputCondition{MinConfidence: "exact"}}}, Timeout: time.Minute})
				mustReason(b, err, func() string { r := <-p.C; return r.Value.Reason }, "input")
			})
		})
		b.Run(name+"/exec", func(b *testing.B) {
			j := benchShell(b, name, false)
			bench(b, func() {
				p, err := j.Exec(ExecOptions{Command: line, Wait: execWait(time.Minute, until)})
				mustReason(b, err, func() string { r := <-p.C; return r.Value.Outcome.Reason }, "pattern")
			}, func() {
				p, err := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilInput, Input: InputCondition{MinConfidence: "exact"}}}, Timeout: time.Minute})
				mustReason(b, err, func() string { r := <-p.C; return r.Value.Reason }, "input")
			})
		})
		// Without integration, a client sees the command's end from the shell's next wait for input.
		b.Run(name+"/typed-to-end", func(b *testing.B) {
			j := benchShell(b, name, true)
			bench(b, func() {
				p, err := j.Write(Input{Text: line, AppendNewline: true, Wait: execWait(time.Minute, Condition{Kind: UntilInput, Input: InputCondition{MinConfidence: "exact"}})})
				mustReason(b, err, func() string { r := <-p.C; return r.Value.Outcome.Reason }, "input")
			}, func() {})
		})
		b.Run(name+"/exec-to-end", func(b *testing.B) {
			j := benchShell(b, name, false)
			bench(b, func() {
				p, err := j.Exec(ExecOptions{Command: line, Wait: execWait(time.Minute)})
				mustReason(b, err, func() string { r := <-p.C; return r.Value.Outcome.Reason }, "command")
			}, func() {})
		})
	}
}

func mustReason(b *testing.B, err *Error, reason func() string, want string) {
	if err != nil {
		b.Fatal(err)
	}
	if got := reason(); got != want {
		b.Fatalf("it ended by %q, not %q", got, want)
	}
}

// bench measures do. It calls rest after each do, without measuring it.
func bench(b *testing.B, do, rest func()) {
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		do()
		took = append(took, time.Since(begin))
		b.StopTimer()
		rest()
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e6, "ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e6, "ms-p99")
}

func benchShell(b *testing.B, name string, plain bool) *Job {
	b.Helper()
	m, err := NewManager(Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		m.Shutdown()
		if err := m.Close(); err != nil {
			b.Error(err)
		}
	})
	argv := map[string][]string{"bash": {"bash", "--norc"}, "zsh": {"zsh", "-f"}, "fish": {"fish", "--no-config"}}[name]
	j, p, refused := m.Start(Spec{Argv: argv, Plain: plain, Cols: 200})
	if refused != nil {
		b.Skip(refused)
	}
	if r := <-p.C; r.Err != nil {
		b.Skip(r.Err)
	}
	w, refused := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilInput, Input: InputCondition{MinConfidence: "exact"}}}, Timeout: time.Minute, From: Origin{Kind: FromStart}})
	mustReason(b, refused, func() string { r := <-w.C; return r.Value.Reason }, "input")
	return j
}
