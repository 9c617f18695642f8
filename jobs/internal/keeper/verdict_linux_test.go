package keeper

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestVerdict tests the state of the command at the first signal of a kill, and the cause of its end afterwards. The
// child is ours, so that no other code reaps it.
func TestVerdict(t *testing.T) {
	const loop = "echo up; while :; do read x; done"
	for _, c := range []struct {
		name    string
		command string
		first   unix.Signal
		ended   bool // before the first signal
		want    blow
		itself  bool // whether an exit with a code is its own
	}{
		{"it lives", "echo up; exec sleep 60", unix.SIGTERM, false, blow{landed: true, fatal: true}, true},
		{"it catches TERM", "trap 'exit 1' TERM; " + loop, unix.SIGTERM, false, blow{landed: true}, false},
		{"it ignores TERM", "trap '' TERM; " + loop, unix.SIGTERM, false, blow{landed: true}, false},
		{"KILL cannot be caught", "trap '' TERM; " + loop, unix.SIGKILL, false, blow{landed: true, fatal: true}, true},
		{"it has ended", "echo up; exit 3", unix.SIGTERM, true, blow{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			child := startChild(t, c.command)
			if c.ended {
				awaitZombie(t, child)
			}
			k := &keeper{self: os.Getpid(), job: job{leader: child}}
			k.strike(c.first)
			if k.blow != c.want {
				t.Errorf("%+v, want %+v", k.blow, c.want)
			}
			if got := k.byItself(exited(3)); got != c.itself {
				t.Errorf("exit 3 is its own: %v, want %v", got, c.itself)
			}
			if got := k.byItself(unix.WaitStatus(c.first)); got == c.want.landed {
				t.Errorf("an end by the signal is its own: %v", got)
			}
		})
	}
}

// exited returns the status of an exit with a code.
func exited(code int) unix.WaitStatus { return unix.WaitStatus(code << 8) }

// startChild starts a command of sh that reports when it is up.
func startChild(t *testing.T, command string) (pid int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // It may have ended.
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
}

// TestChildrenOfThreads: the short way to a process's children finds those of each thread.
func TestChildrenOfThreads(t *testing.T) {
	pids := map[int]bool{}
	for range 3 {
		pids[startChild(t, "echo up; exec sleep 60")] = true // Each from any thread.
	}
	kids, err := childrenOf(os.Getpid())
	found := 0
	for _, kid := range kids {
		if pids[kid] {
			found++
		}
	}
	if err != nil || found != len(pids) {
		t.Errorf("%d of %v in %v, %v", found, pids, kids, err)
	}
	child := startChild(t, "sleep 60 & echo up; wait")
	kids, err = childrenOf(child)
	if err != nil || len(kids) != 1 {
		t.Errorf("the children of %d: %v, %v", child, kids, err)
	}
	for _, kid := range kids {
		_ = syscall.Kill(kid, syscall.SIGKILL) // It is ours: its parent waits for it.
	}
}
