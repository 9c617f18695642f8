package direct

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

// A run is a real job of a test, with its output and its input.
type run struct {
	*Job
	t   *testing.T
	out *bufio.Reader
	in  *os.File
}

// sh starts a script on pipes.
func sh(t *testing.T, script string) *run {
	t.Helper()
	pool := NewPool(nil)
	t.Cleanup(pool.Close)
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = outR.Close(), inW.Close() })
	j, err := pool.Start(keeper.Command{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: os.Environ(), Stdin: inR, Stdout: outW, Stderr: outW})
	_, _ = outW.Close(), inR.Close()
	if err != nil {
		t.Fatal(err)
	}
	// A test that fails must not leave it behind.
	t.Cleanup(func() { _ = j.Kill(keeper.KillOptions{}); <-j.gone })
	return &run{j, t, bufio.NewReader(outR), inW}
}

// line reads a line of the job's output.
func (r *run) line() string {
	r.t.Helper()
	line, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatalf("the job's output ended with %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

func (r *run) pidLine() int {
	r.t.Helper()
	pid, err := strconv.Atoi(r.line())
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

func lives(pid int) bool {
	_, ok, _ := readStat(pid)
	return ok
}

func TestExit(t *testing.T) {
	r := sh(t, "exit 3")
	all := over(t, r.Job)
	if e := event(t, all, keeper.Exited); e.Code != 3 || e.Signal != 0 || len(e.Background) > 0 {
		t.Errorf("%+v", e)
	}
	if err := r.Kill(keeper.KillOptions{}); err != keeper.ErrGone {
		t.Errorf("a kill afterwards: %v", err)
	}
	if err := r.Signal(keeper.Leader, syscall.SIGTERM); err != keeper.ErrGone {
		t.Errorf("a signal afterwards: %v", err)
	}
}

func TestExitBySignal(t *testing.T) {
	all := over(t, sh(t, "kill -SEGV $$").Job)
	if e := event(t, all, keeper.Exited); e.Code != -1 || e.Signal != syscall.SIGSEGV {
		t.Errorf("%+v", e)
	}
}

// Empty comes when the last process that the command has left behind has ended, even one that is not our child and in a
// session of its own, if it was seen while it had a parent.
func TestBackground(t *testing.T) {
	r := sh(t, "{ setsid sh -c 'echo $$; read x <&3' & } 3<&0; wait")
	pid := r.pidLine()
	if err := r.Signal(keeper.Tree, 0); err != nil { // This scans.
		t.Fatal(err)
	}
	if err := r.Signal(keeper.Leader, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := next(t, r.Job, keeper.Exited); len(e.Background) != 1 || e.Background[0].PID != pid {
		t.Fatalf("background %+v, want process %d", e.Background, pid)
	}
	_ = r.in.Close() // That ends it.
	next(t, r.Job, keeper.Empty)
	if lives(pid) {
		t.Errorf("Empty came, and process %d lives", pid)
	}
}

func TestBackgroundIsTold(t *testing.T) {
	r := sh(t, "sleep 1000 & echo $!; exit 0")
	pid := r.pidLine()
	e := next(t, r.Job, keeper.Exited)
	if len(e.Background) != 1 || e.Background[0].PID != pid || e.Background[0].Command == "" {
		t.Fatalf("background %+v, want process %d", e.Background, pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	next(t, r.Job, keeper.Empty) // reported by the system alone
}

// A kill reaches children, other groups, other sessions, orphans of the session and
// stopped processes.
func TestKillReaches(t *testing.T) {
	for _, test := range []struct{ name, script string }{
		{"children", "sleep 1000 & echo $!; sleep 1000 & echo $!; echo .; wait"},
		{"a group", "exec 2>/dev/null; set -m; sleep 1000 & echo $!; echo .; wait"},
		{"a session", "setsid sh -c 'echo $$; exec sleep 1000' & read x"},
		{"an orphan of the session", "(sleep 1000 & echo $!); echo .; read x"},
		{"stopped", "sleep 1000 & echo $!; kill -STOP $!; echo .; read x"},
		{"deaf", "sh -c 'trap \"\" TERM HUP INT; echo $$; echo .; while :; do sleep 0.01; done' & wait"},
		{"what is left", "sleep 1000 & echo $!; echo .; exit 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := sh(t, test.script)
			var pids []int
			for line := r.line(); line != "."; line = r.line() {
				pid, err := strconv.Atoi(line)
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
				if test.name == "a session" {
					break
				}
			}
			if err := r.Kill(keeper.KillOptions{Grace: 20 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			all := over(t, r.Job)
			report := event(t, all, keeper.Killed).Report
			if len(report.Survivors) > 0 || len(report.Signals) < 2 || report.Signals[0].Name != "TERM" {
				t.Errorf("report %+v", report)
			}
			for _, pid := range pids {
				if lives(pid) {
					t.Errorf("process %d lives", pid)
				}
			}
		})
	}
}

// The documented gap: a daemon that has left before the first scan no longer belongs to the job.
func TestDaemonIsNotReached(t *testing.T) {
	r := sh(t, "(setsid sh -c 'echo $$; exec sleep 1000' >&1 & exit 0); read x; exit 0")
	pid := r.pidLine()
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	if err := r.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	over(t, r.Job)
	if !lives(pid) {
		t.Error("the daemon was ended: then the documentation is wrong")
	}
}

func TestKillGently(t *testing.T) {
	r := sh(t, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done")
	r.line()
	if err := r.Kill(keeper.KillOptions{Grace: watchdog}); err != nil {
		t.Fatal(err)
	}
	all := over(t, r.Job)
	if e := event(t, all, keeper.Exited); e.Code != 7 {
		t.Errorf("%+v", e)
	}
	for _, k := range event(t, all, keeper.Killed).Report.Killed {
		if k.PID == r.PID() && k.How != keeper.HowSelf {
			t.Errorf("the command ended by %s", k.How)
		}
	}
}

func TestKillWithoutForce(t *testing.T) {
	r := sh(t, "trap '' TERM; echo ready; while :; do sleep 0.01; done")
	r.line()
	if err := r.Kill(keeper.KillOptions{Grace: 10 * time.Millisecond, NoForce: true}); err != nil {
		t.Fatal(err)
	}
	e := next(t, r.Job, keeper.Killed)
	if len(e.Report.Survivors) == 0 || !strings.Contains(e.Report.Survivors[0].Why, "grace") {
		t.Errorf("report %+v", e.Report)
	}
	if err := r.Kill(keeper.KillOptions{}); err != nil { // a later one is separate
		t.Fatal(err)
	}
	if report := event(t, over(t, r.Job), keeper.Killed).Report; len(report.Survivors) > 0 || len(report.Killed) == 0 {
		t.Errorf("report %+v", report)
	}
}

// A kill that joins another has its own deadline.
func TestKillJoins(t *testing.T) {
	r := sh(t, "trap '' TERM; echo ready; while :; do sleep 0.01; done")
	r.line()
	for _, o := range []keeper.KillOptions{{Grace: time.Hour, NoForce: true}, {Grace: time.Hour}, {}} {
		if err := r.Kill(o); err != nil {
			t.Fatal(err)
		}
	}
	if report := event(t, over(t, r.Job), keeper.Killed).Report; len(report.Survivors) > 0 {
		t.Errorf("report %+v", report)
	}
}

func TestStops(t *testing.T) {
	r := sh(t, "echo ready; read x")
	r.line()
	if err := r.Signal(keeper.Leader, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if e := next(t, r.Job, keeper.Stopped); e.Signal != syscall.SIGSTOP {
		t.Errorf("%+v", e)
	}
	if err := r.Signal(keeper.Leader, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	next(t, r.Job, keeper.Continued)
	_ = r.in.Close()
	over(t, r.Job)
}

func TestSignalTargets(t *testing.T) {
	// Neither forks when it is signalled: dash's vfork shares its handlers' memory with the child.
	r := sh(t, "trap 'echo leader' USR1; sh -c 'trap \"echo child\" USR1; sleep 60 & echo ready; while :; do wait; done' & while :; do wait; done")
	r.line()
	if err := r.Signal(keeper.Leader, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if got := r.line(); got != "leader" {
		t.Errorf("the leader alone: %q", got)
	}
	for _, target := range []keeper.Target{keeper.LeaderGroup, keeper.Foreground} {
		if err := r.Signal(target, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if got := []string{r.line(), r.line()}; got[0] == got[1] {
			t.Errorf("%v: %q", target, got)
		}
	}
}

func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pool := NewPool(nil)
	defer pool.Close()
	for _, test := range []struct {
		path, dir, stage, interpreter string
		errno                         syscall.Errno
	}{
		{path: dir + "/none", stage: keeper.StageExec, errno: syscall.ENOENT},
		{path: "/bin/sh", dir: dir + "/none", stage: keeper.StageChdir, errno: syscall.ENOENT},
		{path: "/bin/sh", dir: write("file", "", 0o644), stage: keeper.StageChdir, errno: syscall.ENOTDIR},
		{path: write("plain", "text", 0o644), stage: keeper.StageExec, errno: syscall.EACCES},
		{path: write("junk", "\x01\x02", 0o755), stage: keeper.StageExec, errno: syscall.ENOEXEC},
		{path: write("script", "#!/no/such/thing -x\n", 0o755), stage: keeper.StageExec, errno: syscall.ENOENT, interpreter: "/no/such/thing"},
		{path: dir, stage: keeper.StageExec, errno: syscall.EACCES},
	} {
		_, err := pool.Start(keeper.Command{Path: test.path, Dir: test.dir})
		var e *keeper.StartError
		if !errors.As(err, &e) || e.Stage != test.stage || e.Errno != test.errno || e.MissingInterpreter != test.interpreter {
			t.Errorf("%s in %q: %+v, want %+v", test.path, test.dir, err, test)
		}
	}
	pool.Close()
	if _, err := pool.Start(keeper.Command{Path: "/bin/sh"}); err != keeper.ErrClosed {
		t.Errorf("a start after Close: %v", err)
	}
}

// On a terminal the command leads the session, is the foreground, and has only its three descriptors open.
func TestTerminal(t *testing.T) {
	term, slave, err := proc.OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = term.Close() }()
	pool := NewPool(nil)
	defer pool.Close()
	// Inherited from the parent: without close-on-exec.
	stray, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(stray) }()
	closeOnExec()
	j, err := pool.Start(keeper.Command{Path: "/bin/sh", Argv: []string{"sh", "-c", "trap 'exit 5' INT; tty; ls -1 /proc/self/fd | tr '\\n' ' '; echo; echo ready; while :; do sleep 0.01; done"},
		Env: os.Environ(), Terminal: slave})
	_ = slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	var text string
	buf := make([]byte, 4096)
	for !strings.Contains(text, "ready") {
		n, err := term.Source().Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		text += string(buf[:n])
	}
	term.Source().Stored()
	if !strings.Contains(text, "/dev/") || !strings.Contains(text, "\n0 1 2 3 \r\n") { // 3 is the directory that ls reads
		t.Errorf("the command prints %q", text)
	}
	if group, err := term.ForegroundGroup(); err != nil || group != j.PID() {
		t.Errorf("foreground group %d, %v, want %d", group, err, j.PID())
	}
	if err := j.Signal(keeper.Foreground, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if e := event(t, over(t, j), keeper.Exited); e.Code != 5 {
		t.Errorf("%+v", e)
	}
}

// Many jobs at once all end, however SIGCHLD is merged.
func TestMany(t *testing.T) {
	pool := NewPool(nil)
	defer pool.Close()
	var jobs []*Job
	for range 40 {
		j, err := pool.Start(keeper.Command{Path: "/bin/sh", Argv: []string{"sh", "-c", "exit 2"}})
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	for _, j := range jobs {
		if e := event(t, over(t, j), keeper.Exited); e.Code != 2 {
			t.Errorf("%+v", e)
		}
	}
}
