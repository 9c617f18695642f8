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
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// tortures are jobs that are hard to end. Each prints "ready" when all its processes run; $0 is its tag.
var tortures = []struct{ name, script string }{
	{"plain", `sleep $0 & echo ready; wait`},
	{"leader exits", `sleep $0 & echo ready`},
	{"own groups", `set -m; sleep $0 & sleep $0 & sleep $0 & echo ready; wait`},
	{"daemon", `(setsid sh -c 'sleep $0 & exec sleep $0' $0 &); echo ready; exec sleep $0`},
	{"daemon, clean env, closed files", `(env -i setsid sh -c 'exec sleep $0 0<&- 1<&- 2<&-' $0 &) ; echo ready`},
	{"deaf", `trap '' TERM HUP INT QUIT; sleep $0 & echo ready; sleep $0; sleep $0`},
	{"deaf daemons", `trap '' TERM HUP; setsid sleep $0 & setsid sleep $0 & echo ready; sleep $0`},
	{"stopped", `sleep $0 & kill -STOP $!; setsid sh -c 'kill -STOP $$' $0 & echo ready; kill -STOP $$`},
	{"hopper", `f() { f & exit; }; echo ready; f`},
	{"hopper daemon", `trap '' TERM; (setsid sh -c 'f() { f & exit; }; f' $0 &); echo ready; exec sleep $0`},
	{"respawn by the parent", `trap '' TERM; echo ready; while :; do setsid sleep $0; done`},
	{"bomb", `b() { [ $1 -gt 0 ] && { b $(($1-1)) & b $(($1-1)) & }; wait; exec sleep $0; }; b 6 & echo ready; wait`},
	{"stops its keeper for ever", `trap '' TERM; setsid sleep $0 & echo ready; while kill -STOP $PPID; do sleep 0.001; done; exec sleep $0`},
	{"stops its keeper", `trap '' TERM; setsid sleep $0 & kill -STOP $PPID; echo ready; exec sleep $0`},
}

// startTorture starts one and returns when it is ready.
func startTorture(t *testing.T, pool *keeper.Pool, script, tag string) *keeper.Keeper {
	t.Helper()
	out, w := pipe(t)
	cmd := shell(script, tag)
	cmd.Stdout = w
	k := start(t, pool, cmd)
	_ = w.Close()
	if got := line(t, out); got != "ready" {
		t.Fatalf("got %q", got)
	}
	return k
}

// untilEmpty receives all events, and returns them by kind.
func untilEmpty(t *testing.T, k *keeper.Keeper) map[keeper.Kind][]keeper.Event {
	t.Helper()
	events := untilOver(t, k)
	expectEnd(t, k)
	return events
}

// untilOver is untilEmpty for a keeper that may have its next job by now.
func untilOver(t *testing.T, k *keeper.Keeper) map[keeper.Kind][]keeper.Event {
	t.Helper()
	events := make(map[keeper.Kind][]keeper.Event)
	for {
		e := next(t, k)
		events[e.Kind] = append(events[e.Kind], e)
		if e.Kind == keeper.Empty || e.Kind == keeper.Lost {
			return events
		}
	}
}

func TestKillLeavesNothing(t *testing.T) {
	for _, grace := range []time.Duration{0, 20 * time.Millisecond} {
		for _, test := range tortures {
			t.Run(fmt.Sprint(test.name, " ", grace), func(t *testing.T) {
				tag := newTag()
				k := startTorture(t, newPool(t), test.script, tag)
				if err := k.Kill(keeper.KillOptions{Grace: grace, Hangup: true}); err != nil {
					t.Fatal(err)
				}
				events := untilEmpty(t, k)
				expectNone(t, tag)
				if len(events[keeper.Exited]) != 1 || len(events[keeper.Killed]) > 1 {
					t.Fatalf("events %+v", events)
				}
				for _, e := range events[keeper.Killed] {
					checkReport(t, e.Report)
				}
			})
		}
	}
}

func checkReport(t *testing.T, r keeper.Report) {
	t.Helper()
	if len(r.Survivors) > 0 {
		t.Errorf("survivors %+v", r.Survivors)
	}
	for _, p := range r.Killed {
		if p.PID == 0 || p.Comm == "" || p.Command == "" || p.How == "" {
			t.Errorf("killed %+v", p)
		}
		if err := unix.Kill(p.PID, 0); err != unix.ESRCH {
			t.Errorf("killed %+v is there: %v", p, err)
		}
	}
	for i, s := range r.Signals {
		if s.Name == "" || i > 0 && s.After < r.Signals[i-1].After {
			t.Errorf("signals %+v", r.Signals)
		}
	}
}

func signalNames(r keeper.Report) (names []string) {
	for _, s := range r.Signals {
		names = append(names, s.Name)
	}
	return names
}

func TestKillReport(t *testing.T) {
	pool := newPool(t)
	for _, test := range []struct {
		name, script string
		options      keeper.KillOptions
		signals      string
		how          string // of all processes named sleep
		code         int
		signal       unix.Signal
	}{
		{"politely", `echo ready; exec sleep $0`, keeper.KillOptions{Grace: time.Minute}, "TERM CONT", "TERM", -1, unix.SIGTERM},
		{"by hangup", `trap '' TERM; echo ready; exec sleep $0`, keeper.KillOptions{Grace: time.Minute, Hangup: true}, "TERM HUP CONT", "HUP", -1, unix.SIGHUP},
		{"by force", `trap '' TERM; echo ready; exec sleep $0`, keeper.KillOptions{Grace: time.Millisecond}, "TERM CONT KILL", "KILL", -1, unix.SIGKILL},
		{"at once", `echo ready; exec sleep $0`, keeper.KillOptions{}, "KILL", "KILL", -1, unix.SIGKILL},
		{"by itself", `trap 'exit 9' TERM; echo ready; while :; do sleep 0.001; done`, keeper.KillOptions{Grace: time.Minute}, "TERM CONT", "TERM gone self", 9, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			tag := newTag()
			k := startTorture(t, pool, test.script, tag)
			if err := k.Kill(test.options); err != nil {
				t.Fatal(err)
			}
			events := untilEmpty(t, k)
			if len(events[keeper.Exited]) != 1 || len(events[keeper.Killed]) != 1 {
				t.Fatalf("events %+v", events)
			}
			if e := events[keeper.Exited][0]; e.Code != test.code || e.Signal != test.signal {
				t.Errorf("exit %+v", e)
			}
			r := events[keeper.Killed][0].Report
			checkReport(t, r)
			if got := strings.Join(signalNames(r), " "); got != test.signals {
				t.Errorf("signals %q, want %q", got, test.signals)
			}
			for _, p := range r.Killed {
				if p.Comm == "sleep" && !slices.Contains(strings.Fields(test.how), p.How) {
					t.Errorf("%+v, want %s", p, test.how)
				}
			}
		})
	}
}

func TestKillWithoutForce(t *testing.T) {
	tag := newTag()
	k := startTorture(t, newPool(t), `trap '' TERM; sleep $0 & echo ready; wait`, tag)
	for range 2 {
		if err := k.Kill(keeper.KillOptions{Grace: 10 * time.Millisecond, NoForce: true}); err != nil {
			t.Fatal(err)
		}
		r := expect(t, k, keeper.Killed).Report
		if got := strings.Join(signalNames(r), " "); got != "TERM CONT" || len(r.Killed) != 0 || len(r.Survivors) != 2 {
			t.Errorf("report %+v, want two survivors", r)
		}
		for _, p := range r.Survivors {
			if p.Why == "" || !strings.Contains(p.Command, tag) {
				t.Errorf("survivor %+v", p)
			}
		}
	}
	if err := k.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	checkReport(t, untilEmpty(t, k)[keeper.Killed][0].Report)
	expectNone(t, tag)
}

// A process that has survived a kill without force ends by itself afterwards.
func TestKillWithoutForceIsOver(t *testing.T) {
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w := pipe(t)
	cmd := shell("trap '' TERM; echo ready; read x; exit 3")
	cmd.Stdin, cmd.Stdout = in, w
	k := start(t, newPool(t), cmd)
	_, _ = in.Close(), w.Close()
	if got := line(t, out); got != "ready" {
		t.Fatalf("got %q", got)
	}
	if err := k.Kill(keeper.KillOptions{Grace: 100 * time.Millisecond, NoForce: true}); err != nil {
		t.Fatal(err)
	}
	r := expect(t, k, keeper.Killed).Report
	_ = stdin.Close()
	if e := expect(t, k, keeper.Exited); len(r.Survivors) != 1 || e.Code != 3 || !e.ByItself {
		t.Errorf("survivors %+v, exit %+v", r.Survivors, e)
	}
	finish(t, k)
}

// A later kill may shorten the grace and add force; there is one report for both.
func TestKillJoins(t *testing.T) {
	for _, first := range []keeper.KillOptions{{Grace: time.Hour}, {Grace: time.Hour, NoForce: true}} {
		tag := newTag()
		k := startTorture(t, newPool(t), `trap '' TERM; echo ready; exec sleep $0`, tag)
		for _, o := range []keeper.KillOptions{first, {Grace: 2 * time.Hour, NoForce: true}, {Grace: time.Millisecond}} {
			if err := k.Kill(o); err != nil {
				t.Fatal(err)
			}
		}
		events := untilEmpty(t, k)
		if n := len(events[keeper.Killed]); n != 1 {
			t.Fatalf("%d reports", n)
		}
		if got := strings.Join(signalNames(events[keeper.Killed][0].Report), " "); got != "TERM CONT KILL" {
			t.Errorf("signals %q", got)
		}
		expectNone(t, tag)
	}
}

func TestRespawners(t *testing.T) {
	tag := newTag()
	out, w := pipe(t)
	k := start(t, newPool(t), keeper.Command{
		Path: "/proc/self/exe", Argv: []string{childName, "respawn", tag}, Stdout: w,
	})
	_ = w.Close()
	// The second is killed, and the first starts it again.
	for range 3 {
		var second int
		if _, err := fmt.Sscan(line(t, out), &second); err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(second, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	line(t, out)
	if err := k.Kill(keeper.KillOptions{Grace: 5 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	untilEmpty(t, k)
	expectNone(t, tag)
}

// A job that kills its keeper is ended by the server.
func TestLostKeeper(t *testing.T) {
	for _, script := range []string{
		`kill -KILL $PPID; exec sleep $0`,
		`trap '' TERM; setsid sleep $0 & setsid sh -c 'sleep $0 & sleep $0 & wait' $0 & sleep $0 & kill -KILL $PPID; exec sleep $0`,
		`b() { [ $1 -gt 0 ] && { b $(($1-1)) & b $(($1-1)) & }; wait; exec sleep $0; }; b 6 & kill -KILL $PPID; wait`,
		`(setsid sh -c 'f() { f & exit; }; f' $0 &); kill -KILL $PPID; exec sleep $0`,
	} {
		tag := newTag()
		pool := newPool(t)
		neighbour := start(t, pool, shell("exec sleep 1000"))
		stdin, release := stdinPipe(t)
		cmd := shell("read x; "+script, tag)
		cmd.Stdin = stdin
		k := start(t, pool, cmd)
		_, _ = stdin.Close(), release.Close()
		events := untilEmpty(t, k)
		if len(events[keeper.Lost]) != 1 || len(events[keeper.Empty]) != 0 {
			t.Errorf("events %+v, want Lost", events)
		}
		expectNone(t, tag)
		endNeighbour(t, neighbour)
	}
}

// stdinPipe returns the stdin of a job, and the end that the test closes to let it continue.
func stdinPipe(t *testing.T) (theirs, ours *os.File) {
	t.Helper()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

// endNeighbour proves that a job is unaffected, and ends it.
func endNeighbour(t *testing.T, k *keeper.Keeper) {
	t.Helper()
	if err := k.Kill(keeper.KillOptions{}); err != nil {
		t.Errorf("the neighbour: %v", err)
	}
	if e := expect(t, k, keeper.Exited); e.Signal != unix.SIGKILL {
		t.Errorf("the neighbour: %+v", e)
	}
	expect(t, k, keeper.Killed)
	finish(t, k)
}

// A job that kills its keeper at once may do so before the start is answered.
func TestLostWhileStarting(t *testing.T) {
	pool := newPool(t)
	for range 10 {
		tag := newTag()
		k, err := pool.Start(shell(`setsid sleep $0 & kill -KILL $PPID; exec sleep $0`, tag))
		var failed *keeper.StartError
		switch {
		case err == nil:
			untilEmpty(t, k)
		case !errors.As(err, &failed) || failed.Stage != keeper.StageKeeper:
			t.Errorf("start: %v", err)
		}
		expectNone(t, tag)
	}
}

// When a keeper is lost, the server's other children are left alone.
func TestLostKeeperSparesOthers(t *testing.T) {
	own, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	stdin, release := stdinPipe(t)
	cmd := shell(`read x; kill -KILL $PPID; sleep 1000`)
	cmd.Stdin = stdin
	k := start(t, newPool(t), cmd)
	_, _ = stdin.Close(), release.Close()
	untilEmpty(t, k)
	if err := own.Signal(unix.SIGTERM); err != nil {
		t.Error(err)
	}
	state, err := own.Wait()
	if err != nil || state.Sys().(interface{ Signal() unix.Signal }).Signal() != unix.SIGTERM {
		t.Errorf("own child: %v, %v", state, err)
	}
}

// SIGKILL of the server ends its job.
func TestServerKilled(t *testing.T) {
	newPool(t) // It makes this process a subreaper; see reap.
	for _, test := range tortures {
		if test.name == "stops its keeper for ever" {
			continue // Only the server can wake a keeper again and again.
		}
		t.Run(test.name, func(t *testing.T) {
			tag := newTag()
			out, w := pipe(t)
			server, err := os.StartProcess("/proc/self/exe", []string{childName, "server", test.script, tag},
				&os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, w, os.Stderr}})
			if err != nil {
				t.Fatal(err)
			}
			_ = w.Close()
			var keeperPID int
			for ready := false; !ready || keeperPID == 0; {
				text := line(t, out)
				ready = ready || text == "ready"
				_, _ = fmt.Sscanf(text, "keeper %d", &keeperPID)
			}
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			_, _ = server.Wait()
			// The processes that have the job's stdout end, and then the keepers, which this process has inherited: the
			// job's and the spare.
			if _, err := io.Copy(io.Discard, out); err != nil {
				t.Fatal(err)
			}
			reap(t, keeperPID)
			reap(t, -1)
			expectNone(t, tag)
		})
	}
}

// A process that may not be signalled is reported, and the keeper does not wait for it when the server has ended.
func TestSurvivor(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a file that changes the user")
	}
	newPool(t) // It makes this process a subreaper; see reap.
	tag, dir := newTag(), t.TempDir()
	copied := filepath.Join(dir, "copy")
	image, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(copied, image, 0o755), os.Chmod(copied, 0o755|os.ModeSetuid), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	out, w := pipe(t)
	server, err := os.StartProcess("/proc/self/exe", []string{childName, "denied", copied, tag}, &os.ProcAttr{
		Files: []*os.File{nil, w, os.Stderr}, Dir: "/",
		Sys: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	var survivor, keeperPID int
	text := line(t, out)
	if _, err := fmt.Sscanf(text, "survivor %d %d", &survivor, &keeperPID); err != nil || !strings.Contains(text, "another user") {
		t.Fatalf("got %q", text)
	}
	if state, err := server.Wait(); err != nil || !state.Success() {
		t.Errorf("the server: %v, %v", state, err)
	}
	reap(t, keeperPID)
	if err := unix.Kill(survivor, unix.SIGKILL); err != nil {
		t.Errorf("the survivor: %v", err)
	}
	reap(t, survivor)
	reap(t, -1) // the server's spare
	expectNone(t, tag)
}

// reap waits for a child of this process, which tests with a Pool have made a subreaper; pid -1 waits for all children.
func reap(t *testing.T, pid int) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		for {
			_, err := unix.Wait4(pid, nil, 0, nil)
			if pid > 0 || err != nil {
				done <- err
				return
			}
		}
	}()
	select {
	case err := <-done:
		if err != nil && (pid > 0 || err != unix.ECHILD) {
			t.Errorf("wait for %d: %v", pid, err)
		}
	case <-time.After(watchdog):
		panic(fmt.Sprintf("child %d lives on", pid))
	}
}
