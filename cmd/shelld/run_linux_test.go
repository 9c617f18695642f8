package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A seat is a person at a terminal, on which shelld was started.
type seat struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	before *unix.Termios
	mark   string // in the environment of all processes started

	mu      sync.Mutex // guards the following fields
	seen    bytes.Buffer
	changed chan struct{}
	read    chan struct{} // closed at the end of the output
}

// sit starts shelld on a terminal of 101×33. The test holds the other side open as well, so that its modes can be
// checked after shelld has ended.
func sit(t *testing.T, args ...string) *seat {
	t.Helper()
	return sitDown(t, "shelld", args...)
}

// sitDown is sit with another program.
func sitDown(t *testing.T, program string, args ...string) *seat {
	t.Helper()
	needJobs(t)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: 101, Rows: 33}); err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, master: master, changed: make(chan struct{}), read: make(chan struct{}), mark: testMark(t)}
	s.before = s.modes()
	s.cmd = exec.Command(program, args...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.Env = append(os.Environ(), s.mark, "TERM=vt220")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.look()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // Most tests have waited for its end.
		_, _ = s.cmd.Process.Wait()
		_ = slave.Close()
		<-s.read
		_ = master.Close()
	})
	return s
}

func testMark(t *testing.T) string {
	return fmt.Sprintf("SHELLD_TEST_MARK=%d-%s-%d", os.Getpid(), t.Name(), rand.Uint64())
}

// look collects the output on the terminal.
func (s *seat) look() {
	defer close(s.read)
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.seen.Write(buf[:n])
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until the output contains a text.
func (s *seat) await(text string) {
	s.t.Helper()
	late := time.After(watchdog)
	for {
		s.mu.Lock()
		seen, changed := s.seen.String(), s.changed
		s.mu.Unlock()
		if strings.Contains(seen, text) {
			return
		}
		select {
		case <-changed:
		case <-late:
			s.t.Fatalf("%q is not to be seen in %q", text, seen)
		}
	}
}

func (s *seat) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

func (s *seat) press(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// modes returns the modes of the terminal.
func (s *seat) modes() *unix.Termios {
	s.t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.master.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return modes
}

// left waits for the end, and checks the status, the terminal, and that no process of the command is alive.
func (s *seat) left(status int) {
	s.t.Helper()
	if got := waited(s.t, s.cmd); got != status {
		s.t.Errorf("it exited with %d, not %d; to be seen: %q", got, status, s.text())
	}
	if now := s.modes(); *now != *s.before {
		s.t.Errorf("the terminal's modes are\n%+v, and were\n%+v", *now, *s.before)
	}
	nothingLeft(s.t, s.mark)
}

// waited waits for the end of a program, but at most for watchdog, and returns its status.
func waited(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	late := time.AfterFunc(watchdog, func() { _ = cmd.Process.Kill() }) // The status shows it.
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode()
}

// nothingLeft fails if a process with the mark is alive. Keepers do not have it: they end with the server's process, a
// moment later at most.
func nothingLeft(t *testing.T, mark string) {
	t.Helper()
	if left := (&doomed{mark: mark}).alive(); len(left) > 0 {
		t.Errorf("alive are: %s", strings.Join(left, "; "))
	}
}

func TestRunTakesTheTerminal(t *testing.T) {
	s := sit(t, "run", "-pty", "sh", "-c", `stty size; echo $TERM; read x; echo "got $x"; exit 7`)
	s.await("33 101")
	s.await("vt220")
	if s.modes().Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Error("the terminal is not raw while the command has it")
	}
	s.press("this\r")
	s.await("got this")
	s.left(7)
	if n := strings.Count(s.text(), "this"); n != 2 {
		t.Errorf("what was typed is to be seen %d times, not by the command's echo and its answer alone: %q", n, s.text())
	}
}

func TestRunResizes(t *testing.T) {
	s := sit(t, "run", "-pty", "sh", "-c", `trap 'stty size; exit 3' WINCH; echo ready; while :; do sleep 0.05; done`)
	s.await("ready")
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: 120, Rows: 50}); err != nil {
		t.Fatal(err)
	}
	s.await("50 120")
	s.left(3)
}

func TestRunKeys(t *testing.T) {
	for _, c := range []struct {
		name   string
		pty    bool
		keys   string
		status int
	}{
		{"interrupt a command on pipes", false, "\x03", 130},
		{"interrupt a command on a terminal", true, "\x03", 130},
		{"quit on pipes", false, "\x1c", 131},
		{"quit on a terminal", true, "\x1c", 131},
		{"end of input on pipes", false, "\x04", 0},
		{"end of input on a terminal", true, "\x04", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"run", "cat"}
			if c.pty {
				args = []string{"run", "-pty", "cat"}
			}
			s := sit(t, args...)
			s.press("line\r")
			s.await("line\r\nline\r\n") // the echo, and the output
			s.press(c.keys)
			s.left(c.status)
		})
	}
}

// TestRunRestoresTheTerminal tries all ways in which a run with a raw terminal can end.
func TestRunRestoresTheTerminal(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) { // This is so under nohup: child processes would ignore it, too.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		t.Cleanup(func() { signal.Ignore(syscall.SIGHUP) })
	}
	// A shell cannot print "ready" and then start a program: bash ignores QUIT until then, and dash loses input that
	// arrives meanwhile.
	waits := `ulimit -c 0; exec awk 'BEGIN { print "ready"; fflush(); getline }'`
	// A trap of a shell may be delayed until the end of the line that it has begun to read.
	const hardy = `
from signal import *
pthread_sigmask(SIG_BLOCK, [SIGINT, SIGTERM])
print("ready", flush=True)
sigwait([SIGINT])
print("no", flush=True)
pause()
`
	const handlesHangUp = `
from signal import *
pthread_sigmask(SIG_BLOCK, [SIGHUP])
print("ready", flush=True)
sigwait([SIGHUP])
exit(9)
`
	if _, err := exec.LookPath("python3"); err != nil && os.Getenv("SHELLD_CI") == "" {
		t.Skip("python3 is not installed")
	}
	for _, c := range []struct {
		name    string
		command string
		status  int
		end     func(*seat)
	}{
		{"its command exits", "echo ready", 0, func(*seat) {}},
		{"its command is killed", "echo ready; kill -KILL $$", 137, func(*seat) {}},
		{"TERM", waits, 143, func(s *seat) { s.signal(syscall.SIGTERM) }},
		{"INT", waits, 130, func(s *seat) { s.signal(syscall.SIGINT) }},
		{"QUIT", waits, 131, func(s *seat) { s.signal(syscall.SIGQUIT) }},
		{"HUP, which is taken up", "exec python3 -c '" + handlesHangUp + "'", 9, func(s *seat) { s.signal(syscall.SIGHUP) }},
		{"the second signal", "exec python3 -c '" + hardy + "'", 137, func(s *seat) {
			s.signal(syscall.SIGINT)
			s.await("no")
			s.signal(syscall.SIGTERM)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sit(t, "run", "-pty", "-c", c.command)
			s.await("ready")
			c.end(s)
			s.left(c.status)
		})
	}
	t.Run("it does not start", func(t *testing.T) {
		s := sit(t, "run", "-pty", "nosuchprogram")
		s.await(`there is no command "nosuchprogram"`)
		s.left(127)
	})
	t.Run("its time is over", func(t *testing.T) {
		s := sit(t, "run", "-pty", "-timeout", "0.05", "sleep", "60")
		s.left(124)
	})
}

// TestRunIsStopped stops a run with a command on pipes, as Ctrl-Z does in a shell with job control, and continues it.
func TestRunIsStopped(t *testing.T) {
	// The command starts no programs: a shell that waits in vfork for a stopped child does not stop.
	s := sit(t, "run", "sh", "-c", `trap 'echo going on' CONT; echo ready; while :; do read x; done`)
	s.await("ready")
	s.signal(syscall.SIGTSTP)
	s.awaitStop()
	s.signal(syscall.SIGCONT)
	s.await("going on")
	s.signal(syscall.SIGTERM)
	s.left(143)
}

// TestRunStopsWithItsCommand presses Ctrl-Z when the command's terminal turns it into a signal.
func TestRunStopsWithItsCommand(t *testing.T) {
	s := sit(t, "run", "-pty", "sh", "-c", `echo ready; read x; echo "got $x"`)
	s.await("ready")
	s.press("\x1a")
	s.awaitStop()
	if now := s.modes(); *now != *s.before {
		t.Error("the terminal is not as it was while the run is stopped")
	}
	s.signal(syscall.SIGCONT)
	s.press("more\r")
	s.await("got more")
	s.left(0)
}

// awaitStop waits until the program was stopped.
func (s *seat) awaitStop() {
	s.t.Helper()
	late := time.AfterFunc(watchdog, func() { _ = s.cmd.Process.Kill() }) // The status shows it.
	defer late.Stop()
	var status unix.WaitStatus
	if _, err := unix.Wait4(s.cmd.Process.Pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		s.t.Fatalf("it was not stopped: %v, %v; to be seen: %q", status, err, s.text())
	}
}

// TestRunInTheBackground checks that input is left alone in the background: a process that reads the terminal or
// changes its modes there is stopped.
func TestRunInTheBackground(t *testing.T) {
	for _, command := range []string{`shelld run -c 'read x || echo got nothing'`, `shelld run -pty -c 'echo got nothing'`} {
		s := sitDown(t, "bash", "--norc", "-c", "set -m; "+command+" & wait $!; echo over $?")
		s.await("got nothing")
		s.await("over 0")
		s.left(0)
	}
}

// TestRunForwardsAllBytes sends bytes of every kind through cat, in both directions at once.
func TestRunForwardsAllBytes(t *testing.T) {
	needJobs(t)
	size := scaled(20<<20, 20<<20, 2<<20)
	random := rand.NewChaCha8([32]byte{1})
	data := make([]byte, size)
	_, _ = random.Read(data) // It never fails.
	mark := testMark(t)
	cmd := exec.Command("shelld", "run", "--", "cat")
	cmd.Env = append(os.Environ(), mark)
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, out)
	if err != nil {
		t.Fatal(err)
	}
	if status := waited(t, cmd); status != 0 || int(n) != size || [32]byte(sum.Sum(nil)) != sha256.Sum256(data) {
		t.Errorf("exit status %d; %d bytes came of %d, and they are not the same", status, n, size)
	}
	nothingLeft(t, mark)
}

// peakMemory returns the peak resident memory of a process, in KiB.
func peakMemory(t *testing.T, pid int) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// TestRunWaitsForItsReader runs a command that writes endlessly without a reader. Then it ends the run with one signal,
// although our stdout stays blocked.
func TestRunWaitsForItsReader(t *testing.T) {
	t.Parallel()
	needJobs(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mark := testMark(t)
	cmd := exec.Command("shelld", "run", "-c", "echo $$; exec yes")
	cmd.Env = append(os.Environ(), mark)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	var pid int
	if _, err := fmt.Fscan(io.LimitReader(r, 16), &pid); err != nil {
		t.Fatal(err)
	}
	awaitStuck(t, pid)
	if peak := peakMemory(t, cmd.Process.Pid); peak > 100<<10 {
		t.Errorf("it took %d KiB", peak)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := waited(t, cmd); status != 143 {
		t.Errorf("it exited with %d, not 143", status)
	}
	nothingLeft(t, mark)
}

// awaitStuck waits until a process was found twice in a write, without bytes written in between.
func awaitStuck(t *testing.T, pid int) {
	t.Helper()
	before := ""
	for end := time.Now().Add(watchdog); time.Now().Before(end); {
		call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		if err != nil {
			t.Skipf("what a process is blocked in cannot be seen: %v", err)
		}
		counts, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
		if err != nil {
			t.Skipf("what a process has written cannot be seen: %v", err)
		}
		now := string(call) + string(counts)
		if now == before && strings.HasPrefix(now, fmt.Sprint(unix.SYS_WRITE, " ")) {
			return
		}
		before = now
	}
	t.Fatal("the command goes on writing without a reader")
}

// TestRunIsKilled checks that no process of a run survives it, even if the run is killed.
func TestRunIsKilled(t *testing.T) {
	s := sit(t, "run", "-pty", "-c", `(setsid sleep 300 &); sleep 300 & echo ready; wait`)
	s.await("ready")
	began := time.Now()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	(&doomed{mark: s.mark}).awaitGone(t, began, time.Second)
}

// TestDoctorLeavesNothing checks that doctor's jobs leave nothing behind.
func TestDoctorLeavesNothing(t *testing.T) {
	needJobs(t)
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	mark := testMark(t)
	state := filepath.Join(t.TempDir(), "state")
	cmd := exec.CommandContext(ctx, "shelld", "doctor", "-json")
	cmd.Env = append(os.Environ(), mark, "XDG_STATE_HOME="+state)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	nothingLeft(t, mark)
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state directory is there: %v", err)
	}
}
