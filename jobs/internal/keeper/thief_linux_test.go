package keeper_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// keeperSocket is the descriptor of a keeper's socket.
const keeperSocket = 3

// childThief is a job that takes its keeper's socket, and passes it to a process in a session of its own. The argument
// selects what that process does then.
func childThief(args []string) int {
	above := os.Getppid()
	sock, err := stolen(above)
	if err != nil {
		fmt.Println("denied", err)
		return 0
	}
	p, err := os.StartProcess("/proc/self/exe", []string{childName, "holder", args[0], strconv.Itoa(above)}, &os.ProcAttr{
		Files: []*os.File{nil, os.Stdout, os.Stderr, sock}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		fmt.Println("denied", err)
		return 0
	}
	_, _ = p.Wait()
	return 1
}

// stolen returns a copy of a keeper's socket.
func stolen(from int) (*os.File, error) {
	process, err := unix.PidfdOpen(from, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(process) }()
	fd, err := unix.PidfdGetfd(process, keeperSocket, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "the keeper's socket"), nil
}

// childHolder has the socket, reports that, carries out its argument, and stays.
func childHolder(args []string) int {
	above, _ := strconv.Atoi(args[1])
	fmt.Println("holder", os.Getpid())
	var err error
	switch args[0] {
	case "kill":
		err = unix.Kill(above, unix.SIGKILL)
	case "trace", "trace others", "trace, and kill", "trace others, and kill", "trace the exit, and kill":
		runtime.LockOSThread() // The tracer is a thread.
		err = trace(above, args[0])
	default:
		for _, packet := range forgeries[args[0]] {
			for range packet.times {
				if err == nil {
					err = unix.Sendmsg(keeperSocket, packet.bytes, nil, nil, unix.MSG_NOSIGNAL)
				}
			}
		}
	}
	if strings.HasPrefix(args[0], "trace") || err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		fmt.Println("done", err)
	}
	for { // Until it is killed.
		_ = unix.Pause()
	}
}

// trace seizes threads of a process, stops or kills it, and returns when that is done. It takes no status.
func trace(process int, how string) error {
	threads := []int{process}
	if strings.Contains(how, "others") {
		threads = nil
		entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", process))
		for _, e := range entries {
			if thread, _ := strconv.Atoi(e.Name()); thread != process {
				threads = append(threads, thread)
			}
		}
	}
	options, until := 0, unix.WEXITED
	if strings.Contains(how, "exit") {
		options = unix.PTRACE_O_TRACEEXIT
	}
	if options != 0 || !strings.Contains(how, "kill") {
		until = unix.WSTOPPED
	}
	for _, thread := range threads {
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(thread), 0, uintptr(options), 0, 0)
		if errno != 0 {
			return errno
		}
		if !strings.Contains(how, "kill") {
			if err := unix.PtraceInterrupt(thread); err != nil {
				return err
			}
		}
	}
	if strings.Contains(how, "kill") {
		if err := unix.Kill(process, unix.SIGKILL); err != nil {
			return err
		}
	}
	for _, thread := range threads {
		if err := unix.Waitid(unix.P_PID, thread, nil, until|unix.WNOWAIT|unix.WALL, nil); err != nil {
			return err
		}
	}
	return nil
}

type forgery struct {
	bytes []byte
	times int
}

// Messages that no keeper sends, in packets: 0 before the last packet of a message, 1 before others.
var forgeries = map[string][]forgery{
	"started again":     {{[]byte{0, 4, 2}, 1}},
	"failed later":      {{[]byte{0, 5, 0, 4}, 1}},
	"without end":       {{append([]byte{1}, make([]byte, 8000)...), 1 << 16}},
	"no operation":      {{[]byte{0, 99}, 1}},
	"no event":          {{[]byte{0, 7}, 1}},
	"lost":              {{keeper.ForgedEvent(keeper.Lost), 1}},
	"no kind":           {{keeper.ForgedEvent(77), 1}},
	"exited twice":      {{keeper.ForgedEvent(keeper.Exited), 2}},
	"after the end":     {{keeper.ForgedEvent(keeper.Empty), 1}, {keeper.ForgedEvent(keeper.Stopped), 1}},
	"ready before that": {{[]byte{0, 8, 2}, 1}},
}

// startThief starts such a job, and returns its holder's pid.
func startThief(t *testing.T, pool *keeper.Pool, how string) (k *keeper.Keeper, holder int, out *bufio.Reader) {
	t.Helper()
	out, w := pipe(t)
	k = start(t, pool, keeper.Command{Path: "/proc/self/exe", Argv: []string{childName, "thief", how}, Env: os.Environ(), Stdout: w})
	_ = w.Close()
	text := line(t, out)
	if strings.HasPrefix(text, "denied") {
		untilEmpty(t, k)
		t.Skip(text)
	}
	if _, err := fmt.Sscanf(text, "holder %d", &holder); err != nil {
		t.Fatalf("it says %q", text)
	}
	return k, holder, out
}

// expectEnded checks that the job came to one end, and that the server has ended the remaining processes.
func expectEnded(t *testing.T, k *keeper.Keeper, holder int, end keeper.Kind) {
	t.Helper()
	events := untilEmpty(t, k)
	if len(events[end]) != 1 || len(events[keeper.Lost])+len(events[keeper.Empty]) != 1 {
		t.Errorf("events %+v, want %s", events, end)
	}
	<-k.Done()
	if err := unix.Kill(holder, 0); err != unix.ESRCH {
		t.Errorf("who has the socket is alive: %v", err)
	}
}

// A job that kills its keeper and holds the keeper's socket cannot hide by that: the socket does not reach its end, but
// the keeper has ended.
func TestStolenSocketOfAKilledKeeper(t *testing.T) {
	pool := newPool(t)
	other := start(t, pool, shell("exec sleep "+newTag()))
	k, holder, _ := startThief(t, pool, "kill")
	expectEnded(t, k, holder, keeper.Lost)
	if err := other.Kill(keeper.KillOptions{}); err != nil {
		t.Error(err)
	}
	untilEmpty(t, other)
}

// A message that no keeper sends ends the keeper, and costs the server neither a goroutine that waits for ever nor
// unlimited memory.
func TestForgedMessages(t *testing.T) {
	for name := range forgeries {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t)
			k, holder, _ := startThief(t, pool, name)
			end := keeper.Lost
			if name == "after the end" {
				end = keeper.Empty
			}
			expectEnded(t, k, holder, end)
			next := start(t, pool, shell("exit 5"))
			if e := expect(t, next, keeper.Exited); e.Code != 5 {
				t.Errorf("the next job ended with %+v", e)
			}
			finish(t, next)
		})
	}
}

// startTracer starts a job that traces its keeper, and returns when it has carried out its argument.
func startTracer(t *testing.T, pool *keeper.Pool, how string) (k *keeper.Keeper, holder int) {
	t.Helper()
	k, holder, out := startThief(t, pool, how)
	if text := line(t, out); text != "done <nil>" {
		_ = k.Kill(keeper.KillOptions{})
		untilEmpty(t, k)
		t.Skip(text)
	}
	return k, holder
}

// A kill reaches a job that traces any thread of its keeper, and one that has killed the keeper but holds the zombie.
func TestTracedKeeper(t *testing.T) {
	for _, how := range []string{"trace", "trace others", "trace others, and kill", "trace the exit, and kill"} {
		t.Run(how, func(t *testing.T) {
			pool := newPool(t)
			k, holder := startTracer(t, pool, how)
			if err := k.Kill(keeper.KillOptions{}); err != nil {
				t.Error(err)
			}
			expectEnded(t, k, holder, keeper.Lost)
		})
	}
}

// A job that traces its keeper and kills it cannot hide by that: the kernel reports the end only to the tracer, except
// by the pidfd.
func TestTracedKeeperThatIsKilled(t *testing.T) {
	k, holder, out := startThief(t, newPool(t), "trace, and kill")
	// The job may be ended before it can print its result.
	if text, _ := out.ReadString('\n'); text != "" && text != "done <nil>\n" {
		_ = k.Kill(keeper.KillOptions{})
		untilEmpty(t, k)
		t.Skip(text)
	}
	expectEnded(t, k, holder, keeper.Lost)
}

// Closing the pool ends a job that traces its keeper.
func TestCloseEndsTracedKeeper(t *testing.T) {
	pool := newPool(t)
	k, holder := startTracer(t, pool, "trace others")
	pool.Close()
	expectEnded(t, k, holder, keeper.Lost)
}

// A late kill, when the keeper has the next job, does not end the keeper.
func TestLateKillOfATracedKeeper(t *testing.T) {
	pool := newPool(t)
	first := start(t, pool, shell("exit 0"))
	untilEmpty(t, first)
	<-first.Done()
	k, holder := startTracer(t, pool, "trace")
	if k.Process() != first.Process() {
		t.Fatalf("the job has keeper %d, want that of the first, %d", k.Process(), first.Process())
	}
	if keeper.EndStanding(first) {
		t.Error("a kill of the job before has ended the keeper")
	}
	if !keeper.EndStanding(k) {
		t.Error("a kill of the job has not ended the keeper")
	}
	expectEnded(t, k, holder, keeper.Lost)
}
