package keeper_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

// A sight is the environment that a command finds.
type sight struct {
	PID, PPID, Group, Session int
	Foreground                int // the terminal's foreground group, or -1
	Terminal                  string
	Dir                       string
	Env                       []string
	Files                     map[string]string
	Signals                   []string // of /proc/thread-self/status
	Limit                     unix.Rlimit
	Mask                      int
}

// childLook writes a sight, in one line, and does what its arguments say.
func childLook(args []string) int {
	s := sight{
		PID: os.Getpid(), PPID: os.Getppid(), Group: unix.Getpgrp(), Foreground: -1,
		Env: os.Environ(), Files: openFiles(), Mask: unix.Umask(0o22),
	}
	s.Session, _ = unix.Getsid(0)
	s.Dir, _ = os.Getwd()
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		s.Foreground, _ = unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
		s.Terminal, _ = os.Readlink("/proc/self/fd/0")
		_ = tty.Close()
	}
	// This thread's own signals: another thread may have all signals blocked while it starts a third.
	status, _ := os.ReadFile("/proc/thread-self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigIgn") || strings.HasPrefix(line, "SigBlk") || strings.HasPrefix(line, "SigPnd") || strings.HasPrefix(line, "ShdPnd") {
			s.Signals = append(s.Signals, strings.TrimSpace(line))
		}
	}
	_ = unix.Getrlimit(unix.RLIMIT_CORE, &s.Limit)
	text, err := json.Marshal(s)
	if err != nil {
		return 1
	}
	if err := os.WriteFile(args[0], text, 0o600); err != nil {
		return 1
	}
	misbehave(args[1])
	unix.Exit(0) // At once: the race detector makes os.Exit take a second.
	return 0
}

// misbehave leaves behind the state that one process can change.
func misbehave(how string) {
	switch how {
	case "chdir":
		_ = os.Chdir("/tmp")
		unix.Umask(0o777)
	case "limit":
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	case "ignore":
		signal.Ignore(unix.SIGHUP, unix.SIGTERM)
	case "signal":
		_ = unix.Kill(0, unix.SIGCONT)
		for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGCONT, unix.SIGUSR1} {
			_ = unix.Kill(os.Getppid(), sig)
		}
	case "foreground": // This is how a careless shell leaves the terminal.
		signal.Ignore(unix.SIGTTOU)
		if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
			_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, os.Getppid())
		}
	case "killed":
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
}

var misdeeds = []string{"nothing", "chdir", "limit", "ignore", "signal", "foreground", "killed"}

// One keeper serves jobs of all kinds, and each job finds what it was given, and nothing of an earlier one.
func TestReusedKeeperLeaksNothing(t *testing.T) {
	pool := newPool(t)
	keepers := make(map[int]int)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	jobs := many(2000)
	for i := range jobs {
		look := lookJob{number: i, terminal: i%2 == 0, deed: misdeeds[i/2%len(misdeeds)], file: filepath.Join(t.TempDir(), "sight")}
		got, k := look.run(t, pool)
		look.check(t, got, k, limit)
		keepers[k.Process()]++
		if t.Failed() {
			t.FailNow()
		}
	}
	if most := jobs/20 + 4; len(keepers) > most {
		t.Errorf("%d keepers for %d jobs, want at most %d: they are not used again", len(keepers), jobs, most)
	}
}

type lookJob struct {
	number   int
	terminal bool
	deed     string
	file     string
	link     string // name of its terminal or pipe
}

func (l *lookJob) env() []string { return []string{fmt.Sprintf("JOB=%d", l.number)} }
func (l *lookJob) dir() string   { return filepath.Dir(l.file) }

func (l *lookJob) run(t *testing.T, pool *keeper.Pool) (sight, *keeper.Keeper) {
	t.Helper()
	cmd := keeper.Command{
		Path: "/proc/self/exe", Argv: []string{childName, "look", l.file, l.deed}, Env: l.env(), Dir: l.dir(),
	}
	cmd.Path, _ = os.Executable()
	var ours io.Closer
	var theirs *os.File
	var err error
	if l.terminal {
		ours, theirs, err = proc.OpenTerminal(80, 24)
		cmd.Terminal = theirs
	} else {
		ours, theirs, err = proc.OutputPipe()
		cmd.Stdout = theirs
	}
	if err != nil {
		t.Fatal(err)
	}
	l.link, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", theirs.Fd()))
	k := start(t, pool, cmd)
	_ = theirs.Close()
	if e := expect(t, k, keeper.Exited); e.Code != 0 && l.deed != "killed" || len(e.Background) > 0 {
		t.Errorf("job %d (%s): %+v", l.number, l.deed, e)
	}
	if l.number%3 == 0 {
		_ = ours.Close() // The hang-up comes while the keeper forgets the job.
	}
	finish(t, k)
	_ = ours.Close()
	var got sight
	text, err := os.ReadFile(l.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got, k
}

func (l *lookJob) check(t *testing.T, got sight, k *keeper.Keeper, limit unix.Rlimit) {
	t.Helper()
	bad := func(what string, got, want any) {
		t.Helper()
		t.Errorf("job %d (terminal %t, after %s): %s %v, want %v", l.number, l.terminal,
			misdeeds[max(l.number-1, 0)/2%len(misdeeds)], what, got, want)
	}
	foreground, terminal, stdio := -1, "", [3]string{"/dev/null", l.link, "/dev/null"}
	if l.terminal {
		foreground, terminal, stdio = k.PID(), l.link, [3]string{l.link, l.link, l.link}
	}
	if got.PID != k.PID() || got.Group != k.PID() || got.PPID != k.Process() || got.Session != k.Process() {
		bad("ids", []int{got.PID, got.Group, got.PPID, got.Session}, []int{k.PID(), k.PID(), k.Process(), k.Process()})
	}
	// The keeper's own group is accepted too, for a command that reads this before it has the foreground.
	if got.Terminal != terminal || got.Foreground != foreground && (!l.terminal || got.Foreground != k.Process()) {
		bad("terminal", []any{got.Terminal, got.Foreground}, []any{terminal, foreground})
	}
	if got.Dir != l.dir() || !slices.Equal(got.Env, l.env()) || got.Mask != 0o22 || got.Limit != limit {
		bad("surroundings", fmt.Sprint(got.Dir, got.Env, got.Mask, got.Limit), fmt.Sprint(l.dir(), l.env(), 0o22, limit))
	}
	for fd, link := range got.Files {
		n := int(fd[0] - '0')
		switch {
		case len(fd) == 1 && n < 3 && link == stdio[n]:
		case !ofRuntime(link) && !strings.HasPrefix(link, "/proc/"): // the directory that is being read
			bad("descriptor "+fd, link, "none")
		}
	}
	for _, line := range got.Signals {
		_, mask, _ := strings.Cut(line, "\t")
		// Go's runtime sends itself SIGURG.
		if bits, err := strconv.ParseUint(mask, 16, 64); err != nil || bits&^(1<<(unix.SIGURG-1)) != 0 {
			bad("signals", line, "none")
		}
	}
}

// again starts a job on the keeper that has just served its first.
func again(t *testing.T, pool *keeper.Pool, process int, cmd keeper.Command) *keeper.Keeper {
	t.Helper()
	k := start(t, pool, cmd)
	if k.Process() != process {
		t.Fatalf("keeper %d was taken, not %d again", k.Process(), process)
	}
	return k
}

// Requests for a job that is over reach no process, least of all one of the keeper's present job.
func TestLateCommandsReachNoOtherJob(t *testing.T) {
	pool := newPool(t)
	other := 0
	for i := range runs(200) {
		old := start(t, pool, shell(":"))
		expect(t, old, keeper.Exited)
		finish(t, old)
		out, w := pipe(t)
		cmd := shell("echo ready; exec cat")
		in, stdin, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin, cmd.Stdout = in, w
		k := start(t, pool, cmd)
		_, _ = w.Close(), in.Close()
		line(t, out)
		if k.Process() == old.Process() {
			keeper.SendLate(old) // As if these were on their way when the job ended.
		} else {
			other++ // The old one had too much garbage, and has ended.
		}
		if err := old.Kill(keeper.KillOptions{}); !errors.Is(err, keeper.ErrGone) {
			t.Errorf("late kill: %v", err)
		}
		if err := old.Signal(keeper.Tree, unix.SIGKILL); !errors.Is(err, keeper.ErrGone) {
			t.Errorf("late signal: %v", err)
		}
		if err := k.Signal(keeper.Leader, 0); err != nil { // answered after all of these
			t.Fatalf("run %d: the next job was hit: %v", i, err)
		}
		_ = stdin.Close()
		if e := expect(t, k, keeper.Exited); e.Code != 0 || e.Signal != 0 {
			t.Fatalf("run %d: the next job was hit: %+v", i, e)
		}
		finish(t, k)
	}
	if other > runs(200)/5 {
		t.Errorf("another keeper was taken %d times", other)
	}
}

// A kill that waits out its grace ends with its job.
func TestGraceEndsWithTheJob(t *testing.T) {
	pool := newPool(t)
	out, w := pipe(t)
	cmd := shell(`trap 'echo term; read x; exit 3' TERM; echo ready; while :; do read x; done`)
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout = in, w
	k := start(t, pool, cmd)
	_, _ = w.Close(), in.Close()
	line(t, out)
	if err := k.Kill(keeper.KillOptions{Grace: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	_, _ = stdin.WriteString("\n\n\n\n")
	_ = stdin.Close()
	for e := range k.Events() {
		if e.Kind == keeper.Killed && len(e.Report.Survivors) > 0 {
			t.Errorf("%+v", e)
		}
	}
	next := again(t, pool, k.Process(), shell("sleep 0.5; exit 5"))
	if e := expect(t, next, keeper.Exited); e.Code != 5 {
		t.Errorf("the next job ended with %+v", e)
	}
	finish(t, next)
}

// A keeper that a job has tampered with serves no other job.
func TestMeddledKeeperIsNotReused(t *testing.T) {
	for name, script := range map[string]string{
		"limit":    "prlimit --pid $PPID --core=0:0",
		"nice":     "renice -n 5 -p $PPID",
		"affinity": "taskset -p -c 0 $PPID",
		"oom":      "echo 500 >/proc/$PPID/oom_score_adj",
	} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t)
			var old int
			for _, script := range []string{"{ " + script + "; } >/dev/null", ":"} {
				k := start(t, pool, shell(script))
				if e := expect(t, k, keeper.Exited); e.Code != 0 {
					t.Skipf("%s: %+v", script, e)
				}
				finish(t, k)
				if k.Process() == old {
					t.Error("it was used again")
				}
				old = k.Process()
			}
		})
	}
}

func TestStoppedKeeperIsNotReused(t *testing.T) {
	pool := newPool(t)
	cmd := shell("kill -STOP $PPID; read x")
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = in
	k := start(t, pool, cmd)
	_ = in.Close()
	keeper.AwaitStop(k)
	_ = stdin.Close()
	expect(t, k, keeper.Exited)
	finish(t, k)
	if err := unix.Kill(k.Process(), 0); err != unix.ESRCH {
		t.Errorf("it is there still: %v", err)
	}
}

// A keeper that gets all the signals that it catches while it is stopped must handle them all at once when it
// continues.
func TestManySignalsAtOnce(t *testing.T) {
	pool := newPool(t)
	for range runs(20) {
		k := start(t, pool, shell("kill -STOP $PPID; for n in 1 2 3 10 12 13 14 15 16 20 21 22 24 25 26 29 30; do kill -$n $PPID; done; kill -CONT $PPID; exit 7"))
		if e := expect(t, k, keeper.Exited); e.Code != 7 {
			t.Errorf("exit %+v", e)
		}
		finish(t, k)
	}
}

// Stops, and the foreground, work as for a first job.
func TestJobControlOnReusedKeeper(t *testing.T) {
	pool := newPool(t)
	keepers := make(map[int]bool)
	for i := range runs(50) {
		j := startTerminal(t, pool, shell("echo ready; exec cat </dev/tty"))
		keepers[j.Process()] = true
		j.await(t, "ready")
		j.write(t, "\x1a")
		if e := expect(t, j.Keeper, keeper.Stopped); e.Signal != unix.SIGTSTP {
			t.Errorf("stopped %+v", e)
		}
		if group, err := j.term.ForegroundGroup(); err != nil || group != j.PID() {
			t.Errorf("foreground group %d, %v, want %d", group, err, j.PID())
		}
		if i%2 == 0 { // Half of them end stopped.
			j.end(t)
			continue
		}
		if err := j.Signal(keeper.Foreground, unix.SIGCONT); err != nil {
			t.Error(err)
		}
		expect(t, j.Keeper, keeper.Continued)
		j.write(t, "\x03")
		if e := expect(t, j.Keeper, keeper.Exited); e.Signal != unix.SIGINT {
			t.Errorf("exit %+v", e)
		}
		j.end(t)
	}
	if most := runs(50)/5 + 1; len(keepers) > most {
		t.Errorf("%d keepers, want at most %d: they are not used again", len(keepers), most)
	}
}

// The number of spares is limited, however many jobs ran at a time, and Close ends them.
func TestSparesAreFew(t *testing.T) {
	pool := keeper.NewPool(keeper.PoolOptions{})
	var list []*keeper.Keeper
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for range 24 {
		cmd := shell("read x; exit 0")
		cmd.Stdin = in
		list = append(list, start(t, pool, cmd))
	}
	_, _ = in.Close(), stdin.Close()
	processes := make(map[int]bool)
	for _, k := range list {
		processes[k.Process()] = true
		expect(t, k, keeper.Exited)
		finish(t, k)
	}
	keeper.AwaitSpare(pool)
	if n := keeper.Spares(pool); n < 1 || n > 4 {
		t.Errorf("%d spares", n)
	}
	last := start(t, pool, shell(":"))
	pool.Close()
	expect(t, last, keeper.Exited)
	finish(t, last)
	processes[last.Process()] = true
	for pid := range processes {
		if err := unix.Kill(pid, 0); err != unix.ESRCH {
			t.Errorf("keeper %d is there after Close: %v", pid, err)
		}
	}
}

// A spare that dies is replaced.
func TestDeadSpares(t *testing.T) {
	pool := newPool(t)
	for range runs(50) {
		k := start(t, pool, shell(":"))
		expect(t, k, keeper.Exited)
		finish(t, k)
		keeper.KillHost(k)
	}
}
