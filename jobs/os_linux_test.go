package jobs

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests run real processes under real keepers.

// startReal returns a manager that is shut down and closed at the end of the test.
func startReal(t *testing.T, o Options) *Manager {
	t.Helper()
	o.Limits.ShutdownGrace = 200 * time.Millisecond
	m, err := NewManager(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Shutdown()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func mustStart(t *testing.T, m *Manager, s Spec) *Job {
	t.Helper()
	j, p, err := m.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	must(t, p)
	return j
}

func sh(command string) Spec { return Spec{Command: &command, Shell: "sh"} }

func untilClosed() *WaitSpec {
	return &WaitSpec{Until: []Condition{{Kind: UntilClosed}}, Timeout: time.Minute, MaxBytes: 1 << 20, From: Origin{Kind: FromStart}}
}

func awaitClosed(t *testing.T, j *Job) Outcome {
	t.Helper()
	p, err := j.Wait(untilClosed())
	if err != nil {
		t.Fatal(err)
	}
	return must(t, p)
}

// A command may end before its start is complete. Once, its exit was consumed by the call that undoes the stop which a
// start can cause.
func TestEveryExitIsHeard(t *testing.T) {
	m := startReal(t, Options{})
	n := 300
	if *long {
		n = 10000
	}
	for i := range n {
		mode := []Mode{ModePTY, ModePipe}[i%2]
		j := mustStart(t, m, Spec{Argv: []string{"true"}, Mode: mode})
		o := awaitClosed(t, j)
		if o.State.Exit == nil || o.State.Exit.Code == nil || *o.State.Exit.Code != 0 {
			t.Fatalf("run %d, %s: %+v", i, mode, o.State.Exit)
		}
	}
}

func TestNothingIsLost(t *testing.T) {
	m := startReal(t, Options{})
	for _, mode := range []Mode{ModePTY, ModePipe} {
		for _, size := range []int{0, 1, 3000, 70000, 1 << 20} {
			s := Spec{Argv: []string{"head", "-c", fmt.Sprint(size), "/dev/zero"}, Mode: mode}
			j := mustStart(t, m, s)
			awaitClosed(t, j)
			info := must(t, j.Info())
			data, gaps := j.Range(info.Streams[0].Name, Range{From: 0, To: info.Streams[0].NextOffset})
			if len(data) != size || gaps != nil || bytes.Count(data, []byte{0}) != size {
				t.Errorf("%s: %d bytes of %d, gaps %v", mode, len(data), size, gaps)
			}
		}
	}
}

// The leader's end is reported at once, even if another process floods the output.
func TestExitBesideABackgroundFlood(t *testing.T) {
	m := startReal(t, Options{})
	for _, mode := range []Mode{ModePTY, ModePipe} {
		s := sh("yes & exit 3")
		s.Mode = mode
		sink := &recorder{}
		s.Sink = sink
		j := mustStart(t, m, s)
		p, _ := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilExit}}, Timeout: time.Minute, MaxBytes: 10})
		o := must(t, p)
		if o.State.Status != StatusExited || deref(t, o.State.Exit.Code) != 3 {
			t.Fatalf("%s: %+v", mode, o.State)
		}
		info := must(t, j.Info())
		if len(info.Background) != 1 {
			t.Fatalf("%s: background %v", mode, info.Background)
		}
		// Its command is the shell's until it executes yes, and is empty during the execve.
		if c := info.Background[0].Command; !strings.Contains(c, "yes") && c != "[sh]" && c != "[yes]" {
			t.Fatalf("%s: background %v", mode, info.Background)
		}
		r := must(t, j.Kill(KillOptions{}))
		if len(r.Killed) != 1 || r.Killed[0].PID != info.Background[0].PID || r.State.Exit.Reason != ReasonExited {
			t.Errorf("%s: kill %+v", mode, r)
		}
	}
}

func TestPatternsOverRealOutput(t *testing.T) {
	m := startReal(t, Options{})
	s := sh(`printf '\033[1mready on \033[32mport 80'; printf '80\033[0m\r\n'; read x; echo "got $x"; exit 4`)
	s.Wait = &WaitSpec{Until: []Condition{pattern("never"), pattern(`port (?<n>\d+)`)}, Timeout: time.Minute, MaxBytes: 1000, Plain: true}
	sink := &recorder{}
	s.Sink = sink
	s.Watches = []WatchSpec{{Pattern: "got (.*)\r"}, {Pattern: "port", Once: true}}
	j, p, err := m.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	o := must(t, p).Outcome
	if o.Index != 1 || o.Match.Text != "port 8080" || deref(t, o.Match.Named["n"]) != "8080" || o.MatchStream != PTY {
		t.Fatalf("%+v %+v", o, o.Match)
	}
	w, _ := j.Write(Input{Text: "it", AppendNewline: true, Wait: &WaitSpec{Until: []Condition{pattern("got it")}, Timeout: time.Minute}})
	if r := must(t, w); r.Outcome.Reason != "pattern" || r.BytesWritten != 3 {
		t.Fatalf("%+v", r.Outcome)
	}
	awaitClosed(t, j)
	if got := strings.Join(sink.names(), " "); got != "matched matched exited closed" {
		t.Errorf("events %s", got)
	}
	for _, e := range sink.events {
		if e.Matched != nil && e.After[PTY] != e.Matched.Match.End {
			t.Errorf("the match at %d waits for %v", e.Matched.Match.End, e.After)
		}
	}
	// The output of an ended job is searched as well.
	after, _ := j.Wait(&WaitSpec{Until: []Condition{pattern("ready")}, From: Origin{Kind: FromStart}, Timeout: time.Minute})
	if o := must(t, after); o.Reason != "pattern" || o.Index != 0 {
		t.Errorf("a pattern on an ended job: %+v", o)
	}
}

// A match that more output could change counts after a quiet time, and at the job's end.
func TestLeaningPattern(t *testing.T) {
	m := startReal(t, Options{})
	s := sh("printf 'n=42'; read x")
	s.Wait = &WaitSpec{Until: []Condition{pattern(`n=(\d+)`)}, Timeout: time.Minute}
	j, p, _ := m.Start(s)
	if o := must(t, p).Outcome; o.Match == nil || deref(t, o.Match.Groups[0]) != "42" {
		t.Errorf("after the quiet time: %+v", o)
	}
	must(t, j.Kill(KillOptions{}))
	s = sh("printf 'n=42'")
	s.Wait = &WaitSpec{Until: []Condition{pattern(`n=(\d+)`)}, Timeout: time.Minute}
	_, p, _ = m.Start(s)
	if o := must(t, p).Outcome; o.Match == nil || o.Reason != "pattern" {
		t.Errorf("at the end: %+v", o)
	}
}

func TestFailedStarts(t *testing.T) {
	m := startReal(t, Options{Limits: Limits{MaxJobs: 2}})
	dir := t.TempDir()
	file := dir + "/plain"
	if err := os.WriteFile(file, []byte("#!/no/such/interpreter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := dir + "/script"
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		spec Spec
		code Code
		path string
	}{
		{"no command", Spec{Argv: []string{"no-such-command-at-all"}}, CodeCommandNotFound, ""},
		{"no x bit", Spec{Argv: []string{file}}, CodePermissionDenied, file},
		{"a directory", Spec{Argv: []string{dir}}, CodePermissionDenied, dir},
		{"no interpreter", Spec{Argv: []string{script}}, CodeCommandNotFound, script},
		{"no directory", Spec{Argv: []string{"true"}, Cwd: dir + "/none"}, CodeBadWorkingDirectory, dir + "/none"},
		{"a file as directory", Spec{Argv: []string{"true"}, Cwd: file}, CodeBadWorkingDirectory, file},
		{"no shell", Spec{Shell: "no-such-shell"}, CodeCommandNotFound, ""},
	} {
		for _, mode := range []Mode{ModePTY, ModePipe} {
			c.spec.Mode, c.spec.Name = mode, "name"
			_, p, err := m.Start(c.spec)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if e := refused(t, p, c.code); e.Path != c.path || e.Message == "" {
				t.Errorf("%s, %s: path %q, want %q: %s", c.name, mode, e.Path, c.path, e.Message)
			}
		}
	}
	if _, err := m.Lookup(Ref{Name: "name"}); err == nil {
		t.Error("a failed start has kept its name")
	}
	// A request that refers to the job meanwhile is answered.
	j, p, err := m.Start(Spec{Argv: []string{"no-such-command-at-all"}})
	if err != nil {
		t.Fatal(err)
	}
	info := j.Info()
	refused(t, p, CodeCommandNotFound)
	refused(t, info, CodeJobNotFound)
}

func TestNamesAndLimits(t *testing.T) {
	m := startReal(t, Options{Limits: Limits{MaxJobs: 2}})
	s := sh("read x")
	s.Name = "a"
	a := mustStart(t, m, s)
	if _, _, err := m.Start(s); err == nil || err.Code != CodeNameInUse || err.Handle != a.ID() {
		t.Errorf("the name twice: %v", err)
	}
	mustStart(t, m, sh("read x"))
	if _, _, err := m.Start(sh("true")); err == nil || err.Code != CodeLimitExceeded || err.Max != 2 {
		t.Errorf("one job too many: %v", err)
	}
	must(t, a.Kill(KillOptions{}))
	if j, err := m.Lookup(Ref{Name: "a"}); err != nil || j != a {
		t.Errorf("an ended job by its name: %v", err)
	}
	again := mustStart(t, m, s)
	if j, err := m.Lookup(Ref{Name: "a"}); err != nil || j != again {
		t.Errorf("the name started last: %v", err)
	}
	_, err := m.Lookup(Ref{Handle: 99})
	if err == nil || len(err.Live) != 2 {
		t.Errorf("an unknown handle: %+v", err)
	}
}

func TestRetention(t *testing.T) {
	m := startReal(t, Options{Limits: Limits{KeepJobs: 3}})
	var last *Job
	for range 5 {
		last = mustStart(t, m, Spec{Argv: []string{"true"}})
		awaitClosed(t, last)
	}
	if all := m.All(); len(all) != 3 || all[2] != last {
		t.Errorf("%d jobs are kept", len(all))
	}
	if _, err := m.Lookup(Ref{Handle: 1}); err == nil {
		t.Error("the oldest is still known")
	}
}

func TestCanonicalLineLimit(t *testing.T) {
	m := startReal(t, Options{})
	s := sh("echo ready; head -c 4096 | wc -c")
	s.Wait = &WaitSpec{Until: []Condition{pattern("ready")}, Timeout: time.Minute}
	j, p, _ := m.Start(s)
	must(t, p)
	half, _ := j.Write(Input{Text: strings.Repeat("x", 4000)})
	must(t, half)
	over, _ := j.Write(Input{Text: strings.Repeat("x", 96), AppendNewline: true})
	if e := refused(t, over, CodeLineTooLong); e.Max != 4095 {
		t.Errorf("%+v", e)
	}
	fits, _ := j.Write(Input{Text: strings.Repeat("x", 95), AppendNewline: true, Wait: &WaitSpec{Until: []Condition{pattern("4096")}, Timeout: time.Minute}})
	if r := must(t, fits); r.Outcome.Reason != "pattern" {
		t.Errorf("the whole line: %+v", r.Outcome)
	}
}

func TestAllowedDirectories(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, base+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(base+"/in", 0o755); err != nil {
		t.Fatal(err)
	}
	m := startReal(t, Options{Root: base, AllowedDirs: []string{base}})
	mustStart(t, m, Spec{Argv: []string{"true"}, Cwd: "in"})
	for _, cwd := range []string{"link", "..", outside, "/", base + "x"} {
		_, p, err := m.Start(Spec{Argv: []string{"true"}, Cwd: cwd})
		if err != nil {
			t.Fatal(err)
		}
		r := <-p.C
		e, _ := r.Err.(*Error)
		if e == nil || e.Code != CodeDirectoryNotAllowed && e.Code != CodeBadWorkingDirectory {
			t.Errorf("cwd %s: %+v %v", cwd, r.Value, r.Err)
		}
	}
}

// Many jobs at once each get their own answer. This is mainly a test for the race detector.
func TestManyAtOnce(t *testing.T) {
	m := startReal(t, Options{})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			s := sh(fmt.Sprintf("read x; echo %d-$x", i))
			j, p, err := m.Start(s)
			if err != nil {
				t.Error(err)
				return
			}
			if r := <-p.C; r.Err != nil {
				t.Error(r.Err)
				return
			}
			want := fmt.Sprintf("%d-hello", i)
			w, _ := j.Write(Input{Text: "hello", AppendNewline: true, Wait: &WaitSpec{Until: []Condition{pattern(want)}, Timeout: time.Minute}})
			if r := <-w.C; r.Err != nil || r.Value.Outcome.Reason != "pattern" {
				t.Errorf("job %d: %+v %v", i, r.Value.Outcome, r.Err)
			}
		})
	}
	wg.Wait()
}

func TestAFailedStartGivesTheNameBack(t *testing.T) {
	m := startReal(t, Options{})
	first := mustStart(t, m, Spec{Argv: []string{"true"}, Name: "build"})
	awaitClosed(t, first)
	_, p, err := m.Start(Spec{Argv: []string{"no-such-command-at-all"}, Name: "build"})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, p, CodeCommandNotFound)
	if j, err := m.Lookup(Ref{Name: "build"}); err != nil || j != first {
		t.Errorf("the name stands for %v, %v", j, err)
	}
}

// A pattern counts before a later condition on bytes, although bytes are counted faster than they are matched.
func TestAPatternBeforeBytes(t *testing.T) {
	m := startReal(t, Options{})
	for range 20 {
		s := sh("read x; printf X; read x")
		j := mustStart(t, m, s)
		w, _ := j.Write(Input{AppendNewline: true, Wait: &WaitSpec{
			Until: []Condition{pattern("X"), {Kind: UntilBytes, Bytes: 3}}, Timeout: time.Minute,
		}})
		if r := must(t, w); r.Outcome.Index != 0 {
			t.Fatalf("index %d: %+v", r.Outcome.Index, r.Outcome)
		}
		must(t, j.Kill(KillOptions{}))
	}
}

// An interactive shell ignores TERM. It gets SIGHUP, however it was started.
func TestInteractiveShellsEndAtOnce(t *testing.T) {
	m := startReal(t, Options{})
	for _, argv := range [][]string{{"bash", "--norc"}, {"bash", "--norc", "-i"}, {"sh"}} {
		j := mustStart(t, m, Spec{Argv: argv})
		p, _ := j.Wait(&WaitSpec{Until: []Condition{pattern(`[$#] $`)}, From: Origin{Kind: FromStart}, Timeout: time.Minute})
		must(t, p)
		r := must(t, j.Kill(KillOptions{Grace: time.Hour}))
		if len(r.Signals) < 2 || r.Signals[1].Signal != "SIGHUP" {
			t.Errorf("%v: %v", argv, r.Signals)
		}
	}
	// A command line that handles TERM does not get SIGHUP.
	j := started(t, m, sh(`trap 'exit 5' TERM; echo ready; while :; do sleep 1 & wait; done`), "ready")
	if e := must(t, j.Kill(KillOptions{Grace: time.Hour})).State.Exit; e.Code == nil || *e.Code != 5 {
		t.Errorf("%+v", e)
	}
}

// started starts a job and waits for its first output.
func started(t *testing.T, m *Manager, s Spec, ready string) *Job {
	t.Helper()
	s.Wait = &WaitSpec{Until: []Condition{pattern(ready)}, Timeout: time.Minute}
	j, p, err := m.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	if r := must(t, p); r.Outcome.Reason != "pattern" {
		t.Fatalf("%+v", r.Outcome)
	}
	return j
}
