package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// limited returns the spec of an sh command in pipe mode with limits.
func limited(command string, l JobLimits) Spec {
	s := sh(command)
	s.Mode, s.Limits = ModePipe, l
	return s
}

func exitOf(t *testing.T, j *Job) Exit {
	t.Helper()
	e := must(t, j.Info()).Exit
	if e == nil {
		t.Fatal("it has not ended")
	}
	return *e
}

// However fast and on however many streams a job writes, exactly the allowed number of bytes is kept, and the job ends,
// even if a handler of TERM goes on to write.
func TestOutputLimit(t *testing.T) {
	m := startReal(t, Options{})
	for _, command := range []string{
		"yes", "yes & yes >&2", "trap '' TERM; yes; yes", "while :; do printf x; done",
		`trap 'yes | head -c 1000000; exit 5' TERM; yes & wait`,
	} {
		j := mustStart(t, m, limited(command, JobLimits{OutputBytes: 100_001}))
		awaitClosed(t, j)
		if e := exitOf(t, j); e.Reason != ReasonLimit || e.Limit != LimitOutputBytes {
			t.Errorf("%s: exit %+v", command, e)
		}
		if n := j.End(Stdout) + j.End(Stderr); n != 100_001 {
			t.Errorf("%s: %d bytes are kept", command, n)
		}
	}
	// The same on a terminal; and a job that writes exactly as much as it may.
	s := sh("printf 0123456789; exec sleep 1000")
	s.Limits.OutputBytes = 9
	j := mustStart(t, m, s)
	awaitClosed(t, j)
	if e := exitOf(t, j); e.Limit != LimitOutputBytes || j.End(PTY) != 9 {
		t.Errorf("exit %+v, %d bytes", e, j.End(PTY))
	}
	j = mustStart(t, m, limited("printf 0123456789", JobLimits{OutputBytes: 10}))
	awaitClosed(t, j)
	if e := exitOf(t, j); e.Reason != ReasonExited || j.End(Stdout) != 10 {
		t.Errorf("exit %+v, %d bytes", e, j.End(Stdout))
	}
}

// A fork bomb whose processes ignore TERM is ended soon, even if the grace is long.
func TestProcessLimitAgainstABomb(t *testing.T) {
	m := startReal(t, Options{})
	m.settings.limits.ShutdownGrace = time.Hour
	j := mustStart(t, m, limited(`trap '' TERM; i=0; while [ $i -lt 200 ]; do sh -c "trap '' TERM; sleep 1000; :" & i=$((i+1)); done; wait`, JobLimits{Processes: 10}))
	awaitClosed(t, j)
	if e := exitOf(t, j); e.Reason != ReasonLimit || e.Limit != LimitProcesses || e.Signal != "SIGKILL" {
		t.Errorf("exit %+v", e)
	}
}

// All processes of a job are ended when its time is over, even if they are stopped, or if the client does not read the
// output.
func TestKillAfter(t *testing.T) {
	t.Parallel()
	m := startReal(t, Options{Limits: Limits{JobTimeout: time.Hour}})
	for _, command := range []string{"exec sleep 1000", "kill -STOP $$", "setsid sleep 1000 & trap '' TERM; while :; do sleep 1; done", "yes"} {
		s := limited(command, JobLimits{})
		s.KillAfter, s.Window = 200*time.Millisecond, 1000
		j := mustStart(t, m, s)
		awaitClosed(t, j)
		info := must(t, j.Info())
		if e := exitOf(t, j); e.Reason != ReasonTimeout || e.Limit != "" || info.Duration() < s.KillAfter || info.KillAfter != s.KillAfter {
			t.Errorf("%s: exit %+v after %v", command, e, info.Duration())
		}
	}
	// A job that ends earlier is not affected.
	s := limited("exit 3", JobLimits{})
	s.KillAfter = time.Minute
	j := mustStart(t, m, s)
	awaitClosed(t, j)
	if e := exitOf(t, j); e.Reason != ReasonExited || deref(t, e.Code) != 3 {
		t.Errorf("exit %+v", e)
	}
}

// The limits in JobInfo are those that the program finds.
func TestLimitsInEffect(t *testing.T) {
	m := startReal(t, Options{})
	j := mustStart(t, m, limited("ulimit -n; ulimit -t; ulimit -d", JobLimits{OpenFiles: 50, CPUMs: 1001, MemoryBytes: 1 << 30, Processes: 7, OutputBytes: 1 << 20}))
	var want []string
	for _, l := range must(t, j.Info()).Limits {
		want = append(want, fmt.Sprint(l.Name, " ", l.Max, " ", l.By, " ", l.Per))
	}
	if got := strings.Join(want, ", "); got != "processes 7 server job, memoryBytes 1073741824 rlimit process, cpuMs 2000 rlimit process, openFiles 50 rlimit process, outputBytes 1048576 server job" {
		t.Error(got)
	}
	awaitClosed(t, j)
	data, _ := j.Range(Stdout, Range{From: 0, To: 100})
	if string(data) != "50\n2\n1048576\n" {
		t.Errorf("it found %q", data)
	}
	// If the requested limits exceed the possible ones, the possible ones apply.
	j = mustStart(t, m, limited("ulimit -Hn", JobLimits{OpenFiles: 1 << 50, CPUMs: 1 << 52, MemoryBytes: 1 << 52}))
	awaitClosed(t, j)
	data, _ = j.Range(Stdout, Range{From: 0, To: 100})
	for _, l := range must(t, j.Info()).Limits {
		if l.Name == LimitOpenFiles && fmt.Sprintln(l.Max) != string(data) {
			t.Errorf("told %d, found %q", l.Max, data)
		}
	}
}

// counts writes the files with the number of terminals of a machine.
func counts(t *testing.T, dir string, inUse, most int) {
	t.Helper()
	for name, n := range map[string]int{"nr": inUse, "max": most} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fmt.Sprintln(n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The machine's last terminals are not taken. A start that leaves the mode open gets pipes then.
func TestTerminalBudget(t *testing.T) {
	m := startReal(t, Options{})
	dir := t.TempDir()
	m.system.terminals.counts = dir
	for _, test := range []struct {
		inUse, most int
		refused     bool
	}{{0, 4096, false}, {4063, 4096, false}, {4064, 4096, true}, {4096, 4096, true}, {5000, 4096, true}, {13, 16, false}, {14, 16, true}, {3, 4, false}, {4, 4, true}} {
		counts(t, dir, test.inUse, test.most)
		s := sh("true")
		s.Mode = ModePTY
		_, p, refused := m.Start(s)
		if refused != nil {
			t.Fatal(refused)
		}
		res := <-p.C
		e, _ := res.Err.(*Error)
		if (e != nil) != test.refused {
			t.Errorf("%d of %d: %v", test.inUse, test.most, res.Err)
		}
		if e != nil && (e.Code != CodePTYUnavailable || e.Length != int64(test.inUse) || e.Max != int64(test.most) || !e.Retryable || e.Errno != "" || !strings.Contains(e.Message, `"mode": "pipe"`)) {
			t.Errorf("%d of %d: %+v", test.inUse, test.most, e)
		}
		open := must(t, mustStart(t, m, sh("true")).Info())
		if wantPipe := test.refused; wantPipe != (open.Mode == ModePipe) || wantPipe != (open.ModeReason != "") {
			t.Errorf("%d of %d: mode %s, because %q", test.inUse, test.most, open.Mode, open.ModeReason)
		}
	}
	for _, text := range []string{"", "many", "-"} {
		if err := os.WriteFile(filepath.Join(dir, "max"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := m.spareTerminals(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A job that is killed by a client and by its time limit at the same time has one reason.
func TestKillAfterBesideAKill(t *testing.T) {
	m := startReal(t, Options{})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := limited("exec sleep 1000", JobLimits{})
			s.KillAfter = 20 * time.Millisecond
			j, p, err := m.Start(s)
			if err != nil {
				t.Error(err)
				return
			}
			<-p.C
			if i%2 == 0 {
				<-j.Kill(KillOptions{}).C
			}
			<-j.ended
			info := <-j.Info().C
			if r := info.Value.Exit.Reason; r != ReasonTimeout && (r != ReasonKilled || i%2 != 0) {
				t.Errorf("reason %s", r)
			}
		})
	}
	all.Wait()
}

// The output limit is the reason even if the job has ended by itself before its output is read.
func TestOutputLimitBehindTheEnd(t *testing.T) {
	m := startReal(t, Options{})
	for range 50 {
		j := mustStart(t, m, limited("printf 0123456789; exit 3", JobLimits{OutputBytes: 4}))
		awaitClosed(t, j)
		if e := exitOf(t, j); e.Reason != ReasonLimit || e.Limit != LimitOutputBytes || j.End(Stdout) != 4 {
			t.Fatalf("exit %+v, %d bytes", e, j.End(Stdout))
		}
	}
}
