package keeper_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// ulimits is a command that prints its limits: descriptors, data, seconds; soft and hard.
const ulimits = `echo $(ulimit -Sn) $(ulimit -Hn) $(ulimit -Sd) $(ulimit -Hd) $(ulimit -St) $(ulimit -Ht)`

// told runs a command under limits, and returns its first line of output.
func told(t *testing.T, pool *keeper.Pool, l keeper.Limits, command string) string {
	t.Helper()
	out, w := pipe(t)
	cmd := shell(command)
	cmd.Stdout, cmd.Stderr, cmd.Limits = w, w, l
	k := start(t, pool, cmd)
	_ = w.Close()
	text := line(t, out)
	expect(t, k, keeper.Exited)
	finish(t, k)
	return text
}

// Each limit applies to the program, and the others keep their usual values; so do all limits of the next job of the
// same keeper.
func TestLimits(t *testing.T) {
	pool := newPool(t)
	free := told(t, pool, keeper.Limits{}, ulimits)
	f := strings.Fields(free)
	if len(f) != 6 {
		t.Fatalf("without limits: %q", free)
	}
	for _, test := range []struct {
		limits keeper.Limits
		want   string
	}{
		{keeper.Limits{OpenFiles: 20}, fmt.Sprintf("20 20 %s %s %s %s", f[2], f[3], f[4], f[5])},
		{keeper.Limits{Memory: 64 << 20}, fmt.Sprintf("%s %s 65536 65536 %s %s", f[0], f[1], f[4], f[5])},
		{keeper.Limits{CPU: 3 * time.Second}, fmt.Sprintf("%s %s %s %s 3 4", f[0], f[1], f[2], f[3])},
		{keeper.Limits{OpenFiles: 30, Memory: 1 << 30, CPU: time.Hour}, "30 30 1048576 1048576 3600 3601"},
		{keeper.Limits{Processes: 100}, free},
		{keeper.Limits{}, free},
	} {
		if got := told(t, pool, test.limits, ulimits); got != test.want {
			t.Errorf("%+v: %q, want %q", test.limits, got, test.want)
		}
	}
}

// The limiter reports the errors of a start as well.
func TestLimitedStartErrors(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#! /no/such/interpreter -x\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		cmd   keeper.Command
		stage string
		errno syscall.Errno
	}{
		{keeper.Command{Path: filepath.Join(dir, "missing")}, keeper.StageExec, unix.ENOENT},
		{keeper.Command{Path: script}, keeper.StageExec, unix.ENOENT},
		{keeper.Command{Path: dir}, keeper.StageExec, unix.EACCES},
		{keeper.Command{Path: "/bin/true", Dir: script}, keeper.StageChdir, unix.ENOTDIR},
		{keeper.Command{Path: "/bin/true", Argv: []string{strings.Repeat("x", 200_000)}}, keeper.StageExec, unix.E2BIG},
	} {
		pool := newPool(t)
		test.cmd.Limits = keeper.Limits{OpenFiles: 30, Memory: 1 << 30}
		k, err := pool.Start(test.cmd)
		got, ok := err.(*keeper.StartError)
		if k != nil || !ok || got.Stage != test.stage || got.Errno != test.errno {
			t.Errorf("%s: %v, %v; want %s, %v", test.cmd.Path, k, err, test.stage, test.errno)
		}
	}
}

// A command with limits gets its directory, its long environment and its terminal. It is the terminal's foreground, and
// inherits no descriptor of the limiter.
func TestLimitedCommand(t *testing.T) {
	pool := newPool(t)
	dir := t.TempDir()
	out, w := pipe(t)
	cmd := shell(`pwd; echo ${#BIG} $1; ls /proc/self/fd | wc -l; trap | wc -l; grep Sig[BI] /proc/$$/status | cut -f2 | sort -u | tr '\\n' ' '; echo`, "zero", "one")
	cmd.Env = append(cmd.Env, "PATH=/usr/bin:/bin", "BIG="+strings.Repeat("y", 100_000))
	cmd.Dir, cmd.Stdout, cmd.Limits = dir, w, keeper.Limits{OpenFiles: 100}
	k := start(t, pool, cmd)
	_ = w.Close()
	for _, want := range []string{dir, "100000 one", "4", "0", "0000000000000000"} {
		if got := line(t, out); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if e := expect(t, k, keeper.Exited); e.Code != 0 || e.Limit != "" {
		t.Errorf("exit %+v", e)
	}
	finish(t, k)

	cmd = shell(`read x; echo "read $x"`)
	cmd.Limits = keeper.Limits{CPU: time.Minute}
	j := startTerminal(t, pool, cmd)
	j.write(t, "this\n")
	j.await(t, "read this")
	expect(t, j.Keeper, keeper.Exited)
	j.end(t)
}

// The kernel ends a process that has used up its processor time, and that is reported; the same signal from another
// process is reported as a signal.
func TestCPULimit(t *testing.T) {
	pool := newPool(t)
	cmd := shell("while :; do :; done")
	cmd.Limits = keeper.Limits{CPU: time.Second}
	k := start(t, pool, cmd)
	if e := expect(t, k, keeper.Exited); e.Signal != unix.SIGXCPU || e.Limit != keeper.LimitCPU {
		t.Errorf("exit %+v", e)
	}
	finish(t, k)
	// The time of its children is not counted for the command.
	for _, test := range []struct {
		limit  time.Duration
		script string
	}{{0, "kill -XCPU $$"}, {time.Hour, "kill -XCPU $$"}, {time.Second, `sh -c "while :; do :; done"; kill -XCPU $$`}} {
		cmd = shell(test.script)
		cmd.Limits = keeper.Limits{CPU: test.limit}
		k = start(t, pool, cmd)
		if e := expect(t, k, keeper.Exited); e.Signal != unix.SIGXCPU || e.Limit != "" {
			t.Errorf("exit %+v", e)
		}
		finish(t, k)
	}
}

// The kernel counts in ticks: a command that shares its processor with many short naps has actually run for far less
// than it is charged for. The limit applies to the charged time.
func TestCPULimitBesideNaps(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds, since the command gets an eleventh of the processors")
	}
	const naps = `for n in 1 2 3 4 5 6 7 8 9 10; do
	while :; do i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; sleep 0.0005; done &
done
`
	cmd := shell(naps + "while :; do :; done")
	cmd.Limits = keeper.Limits{CPU: time.Second}
	k := start(t, newPool(t), cmd)
	select {
	case e := <-k.Events():
		if e.Kind != keeper.Exited || e.Signal != unix.SIGXCPU || e.Limit != keeper.LimitCPU {
			t.Errorf("%+v", e)
		}
	case <-time.After(5 * time.Minute): // ten seconds if nothing else runs
		t.Error("it goes on")
	}
	kill(t, k)
}

// A long command line takes none of a small memory limit from the limiter, which would die of that in the command's
// name.
func TestMemoryLimitAndLongArguments(t *testing.T) {
	if raced {
		t.Skip("the race detector does not run in so little memory")
	}
	pool := newPool(t)
	for range 10 {
		cmd := shell("exit 7", slices.Repeat([]string{strings.Repeat("x", 100_000)}, 15)...)
		cmd.Limits = keeper.Limits{Memory: 1 << 20}
		k := start(t, pool, cmd)
		if e := expect(t, k, keeper.Exited); e.Code != 7 {
			t.Errorf("exit %+v", e)
		}
		finish(t, k)
	}
}

// Too many processes are reported once, and once more if they become still more; as many as allowed are not reported.
func TestProcessLimit(t *testing.T) {
	pool := newPool(t)
	cmd := shell(`for i in 1 2 3; do sleep 1000 & done; wait`)
	cmd.Limits = keeper.Limits{Processes: 3}
	k := start(t, pool, cmd)
	if e := expect(t, k, keeper.Limited); e.Limit != keeper.LimitProcesses {
		t.Errorf("%+v", e)
	}
	kill(t, k)

	cmd = shell(`i=0; while [ $i -lt 30 ]; do sleep 1000 & i=$((i+1)); done; wait`)
	cmd.Limits = keeper.Limits{Processes: 4}
	k = start(t, pool, cmd)
	expect(t, k, keeper.Limited)
	expect(t, k, keeper.Limited)
	kill(t, k)

	// Three for half a second, which is ten counts.
	cmd = shell(`sleep 1000 & sleep 0.5; exit 7`)
	cmd.Limits = keeper.Limits{Processes: 3}
	k = start(t, pool, cmd)
	if e := expect(t, k, keeper.Exited); e.Code != 7 {
		t.Errorf("exit %+v", e)
	}
	kill(t, k)
}

// kill ends a job, and waits for its end.
func kill(t *testing.T, k *keeper.Keeper) {
	t.Helper()
	if err := k.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	untilEmpty(t, k)
}

// childLimited is a server without privileges and with low limits of its own, which runs jobs under limits.
func childLimited([]string) int {
	for resource, n := range map[int]uint64{unix.RLIMIT_NOFILE: 200, unix.RLIMIT_DATA: 1 << 31} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n / 2, Max: n}); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	pool := keeper.NewPool(keeper.PoolOptions{})
	defer pool.Close()
	for _, l := range []keeper.Limits{{}, {OpenFiles: 150}, {OpenFiles: 1000, Memory: 1 << 40, CPU: 1500 * time.Millisecond}, {OpenFiles: 20, Memory: 1 << 24}, {}} {
		k, err := pool.Start(keeper.Command{
			Path: "/bin/sh", Argv: []string{"sh", "-c", "echo $(id -u) $(ulimit -Sn) $(ulimit -Hn) $(ulimit -Hd) $(ulimit -St) $(ulimit -Ht)"},
			Env: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Limits: keeper.Fit(l),
		})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		for range k.Events() {
		}
	}
	return 0
}

// Without privileges limits are set as well, none above the server's own hard ones, and the limits of one job do not
// affect the next.
func TestLimitsWithoutPrivileges(t *testing.T) {
	out, w := pipe(t)
	attr := &os.ProcAttr{Files: []*os.File{nil, w, w}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}
	uid := os.Getuid()
	if uid == 0 {
		uid = 65534
		attr.Sys = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	server, err := os.StartProcess("/proc/self/exe", []string{childName, "limited"}, attr)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	for _, want := range []string{
		"100 200 2097152 unlimited unlimited",
		"150 150 2097152 unlimited unlimited",
		"200 200 2097152 2 3",
		"20 20 16384 unlimited unlimited",
		"100 200 2097152 unlimited unlimited",
	} {
		if got := line(t, out); got != fmt.Sprint(uid, " ", want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if state, err := server.Wait(); err != nil || !state.Success() {
		t.Errorf("the server: %v, %v", state, err)
	}
}
