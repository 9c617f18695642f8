package keeper_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
)

func TestExitStatus(t *testing.T) {
	pool := newPool(t)
	for _, code := range []int{0, 1, 2, 77, 126, 127, 128, 130, 137, 254, 255} {
		k := start(t, pool, shell(fmt.Sprintf("exit %d", code)))
		e := expect(t, k, keeper.Exited)
		if e.Code != code || e.Signal != 0 || e.Core || len(e.Background) > 0 {
			t.Errorf("exit %d gave %+v", code, e)
		}
		finish(t, k)
	}
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGKILL, unix.SIGPIPE, unix.SIGTERM, unix.SIGUSR1, 40} {
		k := start(t, pool, shell(fmt.Sprintf("kill -%d $$", int(sig))))
		e := expect(t, k, keeper.Exited)
		if e.Code != -1 || e.Signal != sig || e.Core {
			t.Errorf("signal %d gave %+v", int(sig), e)
		}
		finish(t, k)
	}
}

func TestCommandGetsWhatWasGiven(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 100_000)
	out, w := pipe(t)
	pool := newPool(t)
	cmd := shell(`pwd; echo "$A"; echo ${#B}; echo "$0 ${#1}"; env | wc -l; cat`, "zero", long)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "A=one two", "B=" + long, "BIG=" + strings.Repeat("y", 120_000)}
	cmd.Dir, cmd.Stdout = dir, w
	k := start(t, pool, cmd)
	_ = w.Close()
	for _, want := range []string{dir, "one two", "100000", "zero 100000"} {
		if got := line(t, out); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	line(t, out)
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("cat of /dev/null gave %q, %v", rest, err)
	}
	if e := expect(t, k, keeper.Exited); e.Code != 0 {
		t.Errorf("exit %+v", e)
	}
	finish(t, k)
}

// A job has only the standard three descriptors, under a cold keeper or a spare, even if the server has inherited one
// that is not close-on-exec.
func TestDescriptors(t *testing.T) {
	leaked, err := unix.Dup(int(os.Stdout.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(leaked) }()
	pool := newPool(t)
	for _, mode := range []string{"cold", "spare"} {
		out, w := pipe(t)
		cmd := keeper.Command{Path: "/bin/ls", Argv: []string{"ls", "/proc/self/fd"}, Stdout: w}
		k := start(t, pool, cmd)
		_ = w.Close()
		text, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(string(text)); !slices.Equal(got, []string{"0", "1", "2", "3"}) { // 3 is ls's own
			t.Errorf("%s: descriptors %v", mode, got)
		}
		expect(t, k, keeper.Exited)
		finish(t, k)
	}
}

// A keeper holds its three descriptors, its socket and the job's terminal, and its name shows that it is a keeper.
func TestKeeperProcess(t *testing.T) {
	cmd := shell("echo ready; read x")
	cmd.Dir = t.TempDir()
	j := startTerminal(t, newPool(t), cmd)
	j.await(t, "ready")
	proc := fmt.Sprintf("/proc/%d", j.Process())
	entries, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	for _, e := range entries {
		link, _ := os.Readlink(proc + "/fd/" + e.Name())
		kinds[strings.TrimRight(link, "0123456789:[]")]++
	}
	if len(entries) > 8 || kinds["/dev/pts/"] != 1 || kinds["socket"] != 1 || kinds["pipe"] > 1 {
		t.Errorf("descriptors %v", kinds)
	}
	for name, want := range map[string]string{"comm": "shelld-keeper\n", "cmdline": "shelld-keeper\x00"} {
		if text, err := os.ReadFile(proc + "/" + name); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	if cwd, err := os.Readlink(proc + "/cwd"); cwd != "/" {
		t.Errorf("its directory is %s, %v", cwd, err)
	}
	j.end(t)
}

// TestSignalsAreReset starts the server itself with all possible signals ignored and blocked, and inspects its job.
func TestSignalsAreReset(t *testing.T) {
	out, w := pipe(t)
	p, err := os.StartProcess("/proc/self/exe", []string{childName, "ignoring"}, &os.ProcAttr{Files: []*os.File{nil, w, w}})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	status := make(map[string]string)
	keeperPID := 0
	for status["SigCgt"] == "" || keeperPID == 0 {
		text := line(t, out)
		if _, err := fmt.Sscanf(text, "keeper %d", &keeperPID); err == nil {
			continue
		}
		name, value, _ := strings.Cut(text, ":")
		status[name] = strings.TrimSpace(value)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = p.Wait()
	_, _ = unix.Wait4(keeperPID, nil, 0, nil) // our child if the server died first
	for _, name := range []string{"SigBlk", "SigIgn", "SigCgt"} {
		if status[name] != "0000000000000000" {
			t.Errorf("the job's %s is %s", name, status[name])
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "hello", 0o644)
	junk := file("junk", "\x00\x01\x02", 0o755)
	script := file("script", "#! /no/such/interpreter -x\n", 0o755)
	missing := filepath.Join(dir, "missing")
	for _, test := range []struct {
		name string
		cmd  keeper.Command
		want keeper.StartError
	}{
		{"missing file", keeper.Command{Path: missing}, keeper.StartError{Stage: "exec", Errno: unix.ENOENT, Path: missing}},
		{"not executable", keeper.Command{Path: plain}, keeper.StartError{Stage: "exec", Errno: unix.EACCES, Path: plain}},
		{"directory", keeper.Command{Path: dir}, keeper.StartError{Stage: "exec", Errno: unix.EACCES, Path: dir}},
		{"junk", keeper.Command{Path: junk}, keeper.StartError{Stage: "exec", Errno: unix.ENOEXEC, Path: junk}},
		{"through a file", keeper.Command{Path: plain + "/x"}, keeper.StartError{Stage: "exec", Errno: unix.ENOTDIR, Path: plain + "/x"}},
		{"interpreter", keeper.Command{Path: script}, keeper.StartError{
			Stage: "exec", Errno: unix.ENOENT, Path: script, MissingInterpreter: "/no/such/interpreter"}},
		{"relative to dir", keeper.Command{Path: "./script", Dir: dir}, keeper.StartError{
			Stage: "exec", Errno: unix.ENOENT, Path: "./script", MissingInterpreter: "/no/such/interpreter"}},
		{"missing cwd", keeper.Command{Path: "/bin/true", Dir: missing}, keeper.StartError{Stage: "chdir", Errno: unix.ENOENT, Path: missing}},
		{"file as cwd", keeper.Command{Path: "/bin/true", Dir: plain}, keeper.StartError{Stage: "chdir", Errno: unix.ENOTDIR, Path: plain}},
		{"NUL in argv", keeper.Command{Path: "/bin/true", Argv: []string{"a\x00b"}}, keeper.StartError{Stage: "exec", Errno: unix.EINVAL, Path: "/bin/true"}},
		{"huge argument", keeper.Command{Path: "/bin/true", Argv: []string{strings.Repeat("x", 200_000)}}, keeper.StartError{Stage: "exec", Errno: unix.E2BIG, Path: "/bin/true"}},
		{"no terminal", keeper.Command{Path: "/bin/true", Terminal: os.Stdin}, keeper.StartError{Stage: "terminal", Errno: unix.ENOTTY, Path: "/bin/true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := newPool(t)
			k, err := pool.Start(test.cmd)
			var got *keeper.StartError
			if k != nil || !errors.As(err, &got) || *got != test.want {
				t.Fatalf("got %v, %+v, want %+v", k, err, test.want)
			}
			if !errors.Is(err, test.want.Errno) || !strings.Contains(err.Error(), filepath.Base(test.want.Path)) {
				t.Errorf("the error is not told well: %v", err)
			}
		})
	}
}

func TestClosedPool(t *testing.T) {
	pool := keeper.NewPool(keeper.PoolOptions{})
	pool.Warm()
	pool.Close()
	pool.Close()
	if _, err := pool.Start(keeper.Command{Path: "/bin/true"}); !errors.Is(err, keeper.ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
	pool.Warm()
	pool.Close()
}

// A job continues when its pool is closed.
func TestJobOutlivesPool(t *testing.T) {
	pool := keeper.NewPool(keeper.PoolOptions{})
	k := start(t, pool, keeper.Command{Path: "/bin/sleep", Argv: []string{"sleep", "1000"}})
	pool.Close()
	if err := k.Signal(keeper.Leader, unix.SIGTERM); err != nil {
		t.Errorf("signal after Close: %v", err)
	}
	if e := expect(t, k, keeper.Exited); e.Signal != unix.SIGTERM {
		t.Errorf("exit %+v", e)
	}
	finish(t, k)
}

// A spare that was killed while it waited is replaced without an error.
func TestDeadSpare(t *testing.T) {
	pool := newPool(t)
	first := start(t, pool, shell("exit 0"))
	expect(t, first, keeper.Exited)
	finish(t, first)
	for range 3 {
		for _, pid := range spares(t) {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			// The pool may reap it instead.
			if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil && err != unix.ECHILD {
				t.Fatal(err)
			}
		}
		k := start(t, pool, shell("exit 3"))
		if e := expect(t, k, keeper.Exited); e.Code != 3 {
			t.Errorf("exit %+v", e)
		}
		finish(t, k)
	}
}

// spares lists the keepers among the children of this process.
func spares(t *testing.T) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Skip("the kernel does not list children")
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(text)) {
			cmdline, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if strings.HasPrefix(string(cmdline), "shelld-keeper") {
				var pid int
				_, _ = fmt.Sscan(field, &pid)
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func TestBackgroundOutlivesCommand(t *testing.T) {
	pool := newPool(t)
	tag := newTag()
	out, w := pipe(t)
	cmd := shell("sleep "+tag+" & sleep "+tag+" >/dev/null & echo $!", tag)
	cmd.Stdout = w
	k := start(t, pool, cmd)
	_ = w.Close()
	var last int
	if _, err := fmt.Sscan(line(t, out), &last); err != nil {
		t.Fatal(err)
	}
	e := expect(t, k, keeper.Exited)
	if e.Code != 0 || len(e.Background) != 2 {
		t.Fatalf("exit %+v, want two in the background", e)
	}
	for _, p := range e.Background {
		if p.Comm != "sleep" && p.Comm != "sh" || p.PPID != k.Process() || p.PGID != k.PID() || p.SID != k.Process() {
			t.Errorf("background process %+v of keeper %d", p, k.Process())
		}
		if p.PID == last == p.HoldsTerminal && p.Comm == "sleep" {
			t.Errorf("%+v: HoldsTerminal is wrong", p)
		}
	}
	if err := k.Signal(keeper.Leader, unix.SIGTERM); !errors.Is(err, unix.ESRCH) {
		t.Errorf("signal the leader after its end: %v", err)
	}
	if err := k.Signal(keeper.LeaderGroup, unix.SIGTERM); err != nil {
		t.Errorf("signal the group after its leader: %v", err)
	}
	finish(t, k)
	expectNone(t, tag)
}

func TestStopAndContinue(t *testing.T) {
	pool := newPool(t)
	stdin, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := shell("kill -STOP $$; read x; exit 5")
	cmd.Stdin = stdin
	k := start(t, pool, cmd)
	_ = stdin.Close()
	if e := expect(t, k, keeper.Stopped); e.Signal != unix.SIGSTOP {
		t.Errorf("stopped %+v", e)
	}
	if err := k.Signal(keeper.LeaderGroup, unix.SIGCONT); err != nil {
		t.Error(err)
	}
	expect(t, k, keeper.Continued)
	_ = release.Close()
	if e := expect(t, k, keeper.Exited); e.Code != 5 {
		t.Errorf("exit %+v", e)
	}
	finish(t, k)
}

// A process that is being forked while the tree is signalled is ended as well, and no process is left that holds the
// output open.
func TestKillSignalOfATreeThatForks(t *testing.T) {
	pool := newPool(t)
	for range 20 {
		out, w := pipe(t)
		cmd := shell("echo ready; i=0; while [ $i -lt 200 ]; do i=$((i+1)); sleep 60 & done; wait")
		cmd.Stdout = w
		k := start(t, pool, cmd)
		_ = w.Close()
		line(t, out)
		if err := k.Signal(keeper.Tree, unix.SIGKILL); err != nil {
			t.Error(err)
		}
		expect(t, k, keeper.Exited)
		finish(t, k)
	}
}

func TestSignal(t *testing.T) {
	pool := newPool(t)
	out, w := pipe(t)
	cmd := shell("trap 'echo usr1' USR1; echo ready; while :; do sleep 0.01; done")
	cmd.Stdout = w
	k := start(t, pool, cmd)
	_ = w.Close()
	line(t, out)
	for _, target := range []keeper.Target{keeper.Leader} {
		if err := k.Signal(target, unix.SIGUSR1); err != nil {
			t.Errorf("%v: %v", target, err)
		}
		if got := line(t, out); got != "usr1" {
			t.Errorf("%v: %q", target, got)
		}
	}
	if err := k.Signal(keeper.Leader, 0); err != nil {
		t.Errorf("probe: %v", err)
	}
	if err := k.Signal(keeper.Leader, 99); !errors.Is(err, unix.EINVAL) {
		t.Errorf("signal 99: %v", err)
	}
	if err := k.Signal(9, unix.SIGTERM); !errors.Is(err, unix.EINVAL) {
		t.Errorf("target 9: %v", err)
	}
	if err := k.Signal(keeper.Tree, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	expect(t, k, keeper.Exited)
	finish(t, k)
	if err := k.Signal(keeper.Tree, unix.SIGKILL); !errors.Is(err, keeper.ErrGone) {
		t.Errorf("signal after the end: %v", err)
	}
	if err := k.Kill(keeper.KillOptions{}); !errors.Is(err, keeper.ErrGone) {
		t.Errorf("kill after the end: %v", err)
	}
}
