package keeper_test

import (
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// graceNotTaken is a grace period that no test waits out.
const graceNotTaken = 20 * time.Second

// graceHalfTaken is a grace period of which half is waited for: it cannot be known whether a process missed TERM that
// its parent has just started, so that it gets TERM then.
const graceHalfTaken = 3 * time.Second

// endPolitely kills a job as soon as it is ready, and returns its end.
func endPolitely(t *testing.T, pool *keeper.Pool, cmd keeper.Command, grace time.Duration) (exit keeper.Event, r keeper.Report, output string) {
	t.Helper()
	return killPolitely(t, pool, cmd, grace)()
}

// killPolitely is the same without the wait; the function that it returns waits for the end.
func killPolitely(t *testing.T, pool *keeper.Pool, cmd keeper.Command, grace time.Duration) func() (keeper.Event, keeper.Report, string) {
	t.Helper()
	out, w := pipe(t)
	cmd.Stdout = w
	k := start(t, pool, cmd)
	_ = w.Close()
	if got := line(t, out); got != "ready" {
		t.Fatalf("got %q", got)
	}
	if err := k.Kill(keeper.KillOptions{Grace: grace}); err != nil {
		t.Fatal(err)
	}
	return func() (keeper.Event, keeper.Report, string) {
		t.Helper()
		events := untilOver(t, k)
		rest, err := io.ReadAll(out)
		if err != nil || len(events[keeper.Exited]) != 1 || len(events[keeper.Killed]) != 1 {
			t.Fatalf("%v, events %+v", err, events)
		}
		return events[keeper.Exited][0], events[keeper.Killed][0].Report, string(rest)
	}
}

// TERM arrived before the process had executed its program, or when its parent was about to start it: the process gets
// TERM when it is found, and the grace period is not waited out.
func TestTermIsGivenToWhatItMissed(t *testing.T) {
	pool := newPool(t)
	for _, test := range []struct {
		name, script string
		grace        time.Duration
	}{
		// The subshell handles TERM, and then executes a program without a handler.
		{"taken before execve", `(trap 'got=1' TERM; echo ready; while [ -z "$got" ]; do :; done; exec sleep $0) & wait`, graceNotTaken},
		// The shell is running when it gets TERM, like one that forks.
		{"forked meanwhile", `trap 'got=1' TERM; echo ready; while [ -z "$got" ]; do :; done; sleep $0`, graceHalfTaken},
		// The child that it was forking then handles TERM itself, and waits for a child of its own.
		{"forked meanwhile, and forks", `trap 'got=1' TERM; echo ready; while [ -z "$got" ]; do :; done; sh -c 'trap "exit 3" TERM; sleep $0; exit' $0`, graceHalfTaken},
		// The former parent of an orphan is unknown.
		{"orphaned meanwhile", `trap 'sleep $0 & exit' TERM; echo ready; sleep $0 & wait`, graceNotTaken},
	} {
		t.Run(test.name, func(t *testing.T) {
			tag := newTag()
			began := time.Now()
			_, r, _ := endPolitely(t, pool, shell(test.script, tag), test.grace)
			if got := strings.Join(signalNames(r), " "); got != "TERM CONT" {
				t.Errorf("signals %q", got)
			}
			if took := time.Since(began); took >= test.grace {
				t.Errorf("it took %v", took)
			}
			expectNone(t, tag)
		})
	}
}

// A shell with a handler for TERM gets TERM just when it starts a command.
func TestTermWhileAShellForks(t *testing.T) {
	pool := newPool(t)
	for _, name := range []string{"sh", "dash", "bash"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Logf("no %s: %v", name, err)
			continue
		}
		// All grace periods run at the same time, because many of the jobs take half of theirs.
		var ends []func() (keeper.Event, keeper.Report, string)
		for range runs(30) {
			ends = append(ends, killPolitely(t, pool, keeper.Command{
				Path: path, Argv: []string{name, "-c", `trap 'exit 9' TERM; echo ready; sleep $0; exit 1`, newTag()},
				Env: []string{"PATH=/usr/bin:/bin"},
			}, graceHalfTaken))
		}
		for _, end := range ends {
			_, r, _ := end()
			if got := strings.Join(signalNames(r), " "); got != "TERM CONT" {
				t.Fatalf("%s: signals %q, killed %+v", name, got, r.Killed)
			}
		}
	}
}

// A clean-up process started by a handler of TERM does not get TERM while it works.
func TestTermSparesItsHandlers(t *testing.T) {
	pool := newPool(t)
	// The shell is already asleep in wait when it gets TERM.
	const waits = `; (while ! grep -q '^State:.S' /proc/$$/status; do :; done; echo ready; exec sleep $0) & wait`
	for _, test := range []struct{ name, script string }{
		{"helper", `trap 'sleep 0.2 && echo cleaned; exit 3' TERM` + waits},
		{"helper of a helper", `trap 'sh -c "sleep 0.2 && sleep 0.1 && echo cleaned"; exit 3' TERM` + waits},
		// It is running: its helper gets half of the grace period.
		{"helper of a busy shell", `trap 'sleep 0.2 && echo cleaned; exit 3' TERM; echo ready; while :; do :; done`},
		{"helper of a busy shell's helper", `trap 'sh -c "sleep 0.1 && sleep 0.1 && echo cleaned"; exit 3' TERM; echo ready; while :; do :; done`},
	} {
		t.Run(test.name, func(t *testing.T) {
			tag := newTag()
			exit, _, output := endPolitely(t, pool, shell(test.script, tag), graceNotTaken)
			if exit.Code != 3 || output != "cleaned\n" {
				t.Errorf("exit %+v, output %q", exit, output)
			}
			expectNone(t, tag)
		})
	}
}
