package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

var tortureRounds = flag.Int("torture", 0, "rounds of the torture set, if not one, or two with -long")

const (
	// tortureGrace is the grace time of programs that ignore signals; most end long before.
	tortureGrace = 300 * time.Millisecond
	// torturePatience is for machines on which the whole set takes seconds to start.
	torturePatience = 2 * time.Minute
	nobody          = 65534
)

// A tortureWay is a way in which jobs end.
type tortureWay struct {
	name    string
	end     func(*testing.T, *tortureServer)
	session *schema.SessionParams // the server is the host of such a session; nil: it is a client's own
}

var tortureWays = []tortureWay{
	{"job kill", endByKill, nil},
	{"job run timeout", endByTimeout, nil},
	{"killAfterMs", endByKillAfter, nil},
	{"end of stdin", endByEOF, nil},
	{"SIGKILL of the server", endBySIGKILL, nil},
}

// TestTorture runs the torture set in each of the ways that end a job, as root and as an unprivileged user, and checks
// for survivors. docs/ending.md describes how to run it for longer.
func TestTorture(t *testing.T) {
	t.Parallel()
	tortureAll(t, tortureWays)
}

// tortureAll runs the set for the users in question.
func tortureAll(t *testing.T, ways []tortureWay) {
	needJobs(t)
	bin := buildTorture(t)
	rounds := roundsOfTorture()
	for _, uid := range []int{os.Getuid(), nobody} {
		if uid == nobody && os.Getuid() != 0 {
			t.Log("the user without privileges is who runs the tests; the set was not run as root")
			continue
		}
		if uid == nobody && testing.Short() {
			continue // The server does the same, and only gets EPERM.
		}
		if uid == 0 && !testing.Short() && !*inCI && !*long && *tortureRounds == 0 {
			continue // It is the same set with a more privileged server: one of the two finds most bugs.
		}
		for i, way := range ways {
			t.Run(fmt.Sprintf("uid %d, %s", uid, way.name), func(t *testing.T) {
				for round := range rounds {
					s := startTortureServer(t, bin, uid, i+round, together, way.session) // The ways serve as rounds of each other.
					way.end(t, s)
					s.stop()
				}
			})
		}
	}
}

func roundsOfTorture() int {
	if *tortureRounds != 0 {
		return *tortureRounds
	}
	return scaled(2, 1, 1)
}

// buildTorture compiles the programs, and puts them and a copy of the server into a directory in which every user may
// run them.
func buildTorture(t *testing.T) (dir string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("SHELLD_CI") != "" {
			t.Fatal("the torture set needs a C compiler: install gcc")
		}
		t.Skip("the torture set needs a C compiler; install gcc")
	}
	if dir, err = os.MkdirTemp("", "shelld-torture-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // Remaining files do no harm.
	program := filepath.Join(dir, "torture")
	if out, err := exec.Command(cc, "-O1", "-pthread", "-o", program, "testdata/torture/torture.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := exec.LookPath("shelld")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		mode     os.FileMode
	}{{server, "shelld", 0o755}, {program, "torture", 0o755}, {program, "torture-setuid", 0o755 | os.ModeSetuid}} {
		if c.from != filepath.Join(dir, c.to) {
			image, err := os.ReadFile(c.from)
			if err == nil {
				err = writeProgram(filepath.Join(dir, c.to), image)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Join(dir, c.to), c.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A tortureServer is a server with jobs of the torture set.
type tortureServer struct {
	bin    string
	uid    int
	round  int
	with   func(torture) bool // the programs that are jobs of this server
	mark   uint64             // of the server and its keepers
	cmd    *exec.Cmd
	host   *os.Process // of the session; nil: cmd is the server
	stdin  *os.File
	client *client.Conn
	log    *os.File // stderr of the server; not a pipe, because the keepers would hold it open
	once   sync.Once

	mu   sync.Mutex
	jobs []*tortured
}

func startTortureServer(t *testing.T, bin string, uid, round int, with func(torture) bool, session *schema.SessionParams) *tortureServer {
	t.Helper()
	command, hosts := []string{"serve"}, ""
	if session != nil {
		hosts = hostsOfTorture(t, bin, uid)
		command = []string{"connect", "-session", tortureSession, "-dir", hosts}
	}
	s := &tortureServer{bin: bin, uid: uid, round: round, with: with, mark: newTortureMark()}
	s.cmd = exec.Command(filepath.Join(bin, "torture"), append([]string{strconv.FormatUint(s.mark, 10), "run", filepath.Join(bin, "shelld")}, command...)...)
	s.cmd.Dir, s.cmd.Env = "/", append(os.Environ(), "HOME=/")
	var err error
	if s.log, err = os.CreateTemp(bin, "log-"); err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if uid != os.Getuid() {
		s.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdin, s.cmd.Stdin = ours, theirs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	s.client = client.NewConn(out, s.stdin, func(client.Event) {}, nil)
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			text, _ := os.ReadFile(s.log.Name())
			t.Logf("the server's log:\n%s", text)
		}
		_ = s.log.Close() // Nothing was written to it here.
	})
	s.call(t, "initialize", schema.InitializeParams{Session: session, Options: &schema.Options{
		Events: []string{}, Persist: &schema.PersistOptions{Mode: ptr(schema.PersistModeMemory)},
		Limits: &schema.LimitOptions{ShutdownGraceMs: ptr(tortureGrace.Milliseconds())},
	}}, nil)
	if session != nil {
		s.host = hostOfTorture(t, hosts)
	}
	return s
}

// stop ends the server and, if the test has failed, its survivors.
func (s *tortureServer) stop() {
	s.once.Do(func() {
		_ = s.cmd.Process.Kill() // This is best effort: most tests have ended it.
		<-s.client.Done()
		_ = s.cmd.Wait() // The test checks the status.
		_ = s.stdin.Close()
		for _, p := range s.left(true) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
}

// server returns the process that has the jobs.
func (s *tortureServer) server() *os.Process {
	if s.host != nil {
		return s.host
	}
	return s.cmd.Process
}

func (s *tortureServer) call(t *testing.T, method string, params, result any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), torturePatience)
	defer cancel()
	if err := s.client.Call(ctx, method, params, result); err != nil {
		t.Errorf("%s: %v", method, err)
	}
}

// A tortured is one job.
type tortured struct {
	torture
	mark    uint64
	handle  int64
	told    []process // the processes that it has reported
	skipped bool
}

// mayOutlive reports whether a process of the job is one that the server may not signal.
func (j *tortured) mayOutlive(s *tortureServer) bool { return j.outlives && s.uid != 0 && !j.skipped }

// add returns a job to be started. Half of the jobs have a terminal; in the next way or round, the other half has.
func (s *tortureServer) add(i int) (j *tortured, params map[string]any) {
	j = &tortured{torture: tortures[i], mark: newTortureMark()}
	s.mu.Lock()
	s.jobs = append(s.jobs, j)
	s.mu.Unlock()
	mode := schema.ModePipe
	if j.terminal || (i+s.round)%2 == 0 {
		mode = schema.ModePty
	}
	return j, map[string]any{
		"argv": []string{filepath.Join(s.bin, "torture"), strconv.FormatUint(j.mark, 10), j.mode, filepath.Join(s.bin, "torture-setuid")},
		"mode": mode, "cwd": "/",
	}
}

// each calls do for every wanted torture of this server, concurrently.
func (s *tortureServer) each(wanted func(torture) bool, do func(i int)) {
	var all sync.WaitGroup
	for i := range tortures {
		if s.with(tortures[i]) && wanted(tortures[i]) {
			all.Go(func() { do(i) })
		}
	}
	all.Wait()
}

func every(torture) bool { return true }

// together reports whether a program can share its server with others.
func together(j torture) bool { return !j.lonely }

// startAll starts the wanted jobs, with more added to their params, and returns when they are ready.
func (s *tortureServer) startAll(t *testing.T, wanted func(torture) bool, more map[string]any) {
	t.Helper()
	s.each(wanted, func(i int) {
		j, params := s.add(i)
		for name, value := range more {
			params[name] = value
		}
		params["wait"] = map[string]any{
			"until": []any{map[string]any{"pattern": `(?:ready|skip)[^\n]*\n`}}, "timeoutMs": torturePatience.Milliseconds(),
		}
		var r schema.JobStartResult
		if j.ends && s.endedBeforeItRan(t, "job/start", params, &r) {
			j.skipped = true
			return
		}
		if !j.ends {
			s.call(t, "job/start", params, &r)
		}
		j.handle = r.Job.Handle
		switch {
		case r.Outcome != nil && r.Outcome.Match != nil && r.Outcome.Match.Text != nil:
			j.hear(t, *r.Outcome.Match.Text)
		case more == nil:
			t.Errorf("%s was not ready: %+v", j.mode, r.Outcome)
		}
	})
}

// endedBeforeItRan starts a job that kills its keeper, and reports whether it did so before the keeper could report
// that the job runs: how far the job has come is then unknown, and the start fails. The test checks for its survivors
// as for those of other jobs.
func (s *tortureServer) endedBeforeItRan(t *testing.T, method string, params, result any) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), torturePatience)
	defer cancel()
	err := s.client.Call(ctx, method, params, result)
	var refused *client.Error
	if errors.As(err, &refused) && strings.Contains(refused.Message, "was killed while starting") {
		t.Log(err)
		return true
	}
	if err != nil {
		t.Errorf("%s: %v", method, err)
	}
	return false
}

// hear handles a torture's report about itself.
func (j *tortured) hear(t *testing.T, said string) {
	t.Helper()
	word, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
	switch word {
	case "ready":
		for _, field := range strings.Fields(rest) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Errorf("%s said %q", j.mode, said)
			}
			if p, ok := processOf(pid); ok {
				j.told = append(j.told, p)
			}
		}
	case "skip":
		j.skipped = true
		t.Logf("%s: %s", j.mode, rest)
	default:
		t.Errorf("%s said %q", j.mode, said)
	}
}

// endByKill kills each job, and compares the answer with the job's own report. Nothing is alive after the answer.
func endByKill(t *testing.T, s *tortureServer) {
	s.startAll(t, every, nil)
	var all sync.WaitGroup
	for _, j := range s.jobs {
		if j.handle == 0 {
			continue // It never became a job.
		}
		all.Go(func() {
			var r schema.JobKillResult
			s.call(t, "job/kill", map[string]any{"handle": j.handle, "graceMs": tortureGrace.Milliseconds()}, &r)
			j.checkReport(t, s, &r)
		})
	}
	all.Wait()
	s.endSurvivors(t)
	s.expectNone(t)
}

func (j *tortured) checkReport(t *testing.T, s *tortureServer, r *schema.JobKillResult) {
	var survivors []int64
	for _, p := range r.Survivors {
		survivors = append(survivors, p.PID)
		if !j.mayOutlive(s) || p.Why == "" {
			t.Errorf("%s: survivor %+v", j.mode, p)
		}
	}
	if j.mayOutlive(s) {
		if len(survivors) != 1 || !slices.ContainsFunc(j.told, func(p process) bool { return int64(p.pid) == survivors[0] }) {
			t.Errorf("%s: survivors %+v, of %v", j.mode, r.Survivors, j.told)
		}
	} else if r.Job == nil || r.Job.Status != schema.StatusClosed && r.Job.Status != schema.StatusExited {
		// The job is still exited if its output takes longer to be processed.
		t.Errorf("%s: the job is %+v after its kill", j.mode, r.Job)
	}
	if lost := r.Job != nil && r.Job.Exit != nil && r.Job.Exit.Reason == schema.ExitReasonLost; lost && !j.ends && j.alone == "" {
		t.Errorf("%s: its keeper was lost", j.mode)
	}
	if j.ends || j.alone != "" || j.skipped { // The observations of a lost keeper are lost with it.
		return
	}
	for _, p := range j.told {
		named := slices.ContainsFunc(r.Killed, func(k schema.KilledProcess) bool { return int(k.PID) == p.pid && k.How != "" })
		if !named && !slices.Contains(survivors, int64(p.pid)) {
			t.Errorf("%s: process %d is not in the report: %+v", j.mode, p.pid, r.Killed)
		}
	}
}

// endByTimeout has job/run end each job.
func endByTimeout(t *testing.T, s *tortureServer) {
	s.each(func(j torture) bool { return !j.leaves && (!j.ends || j.lonely) }, func(i int) {
		j, params := s.add(i)
		params["timeoutMs"] = 1000
		var r schema.JobRunResult
		if j.ends {
			s.endedBeforeItRan(t, "job/run", params, &r)
			return
		}
		s.call(t, "job/run", params, &r)
		said := r.Stdout
		if said == nil {
			said = r.Output
		}
		if said != nil && strings.HasPrefix(*said, "skip") {
			j.skipped = true
		} else if !r.TimedOut || r.Exit == nil && !j.mayOutlive(s) {
			t.Errorf("%s: timedOut %v, exit %+v", j.mode, r.TimedOut, r.Exit)
		}
	})
	s.awaitNone(t, time.Now())
}

// endByKillAfter starts jobs that the server ends after a fixed time.
func endByKillAfter(t *testing.T, s *tortureServer) {
	s.startAll(t, func(j torture) bool { return !j.ends || j.lonely }, map[string]any{"killAfterMs": 1500})
	s.awaitNone(t, time.Now())
}

// endByEOF closes the server's stdin. Nothing is alive after the server has ended.
func endByEOF(t *testing.T, s *tortureServer) {
	s.startAll(t, every, nil)
	began := time.Now()
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	err := s.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("the server ended with %v", err)
	}
	// If the server has given up on a busy machine, its keepers end the rest.
	s.awaitNone(t, began)
}

// endBySIGKILL kills the server. The keepers end the jobs, and then themselves.
func endBySIGKILL(t *testing.T, s *tortureServer) {
	s.startAll(t, func(j torture) bool { return j.alone == "" }, nil)
	for _, j := range s.jobs {
		// A job that kills its keeper after the server has ended survives both.
		if j.ends && j.handle != 0 {
			s.call(t, "job/wait", map[string]any{"handle": j.handle, "until": []any{map[string]any{"closed": true}}, "timeoutMs": torturePatience.Milliseconds()}, nil)
		}
	}
	began := time.Now()
	if err := s.server().Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // The status is known.
	s.awaitNone(t, began)
}

// expectNone fails if a process of the jobs is alive now, except those that the server may not signal.
func (s *tortureServer) expectNone(t *testing.T) {
	t.Helper()
	for _, p := range s.left(false) {
		t.Errorf("alive: %v", p)
	}
}

// awaitNone waits until no process of the jobs is alive and, if the server has ended, none of its keepers. In a session,
// that the front has ended stands for it: the session is one that ends then.
func (s *tortureServer) awaitNone(t *testing.T, began time.Time) {
	t.Helper()
	s.endSurvivors(t)
	for {
		left := s.left(s.cmd.ProcessState != nil)
		took := time.Since(began)
		if len(left) == 0 {
			t.Logf("none after %v", took.Round(time.Millisecond))
			return
		}
		if took > watchdog {
			t.Fatalf("alive after %v: %v", took, left)
		}
		awaitExit(left[0].String(), watchdog-took)
	}
}

// endSurvivors kills the processes that the server may not signal.
func (s *tortureServer) endSurvivors(t *testing.T) {
	t.Helper()
	for _, j := range s.jobs {
		if !j.mayOutlive(s) {
			continue
		}
		for _, p := range s.left(false) {
			if p.mark == j.mark {
				_ = syscall.Kill(p.pid, syscall.SIGKILL) // It may have ended.
				awaitExit(p.String(), watchdog)
			}
		}
	}
}
