package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// watchdog limits steps that normally take a moment.
const watchdog = 30 * time.Second

const (
	testHost  = "session-test-host"
	testFront = "session-test-front"
)

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case testHost:
		os.Exit(hostMain(os.Args[1], os.Args[2]))
	case testFront:
		os.Exit(frontMain(os.Args[1], os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// hostMain is a host whose server answers each line with the host's pid and the line.
func hostMain(dir, name string) int {
	d, err := Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if name == "crowded" {
		maxClients = 2
	}
	h, err := d.Listen(HostOptions{Name: name, Info: Info{Version: "test", Protocol: "1"}, Status: func() any { return "fine" }}, slog.LevelWarn)
	if err != nil {
		return 1
	}
	if name == "fails" {
		return 2 + len(fmt.Sprint(h.Fail(errors.New("it has no wish to"))))
	}
	h.Ready()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for {
		select {
		case a := <-h.Arrivals():
			select {
			case <-h.EndAsked():
				a.Refuse(Ending, "at the last moment")
			default:
				go serveLines(h, a)
			}
			continue
		case <-ctx.Done():
		case <-h.EndAsked():
		}
		if h.Close() != nil {
			return 1
		}
		return 0
	}
}

func serveLines(h *Host, a *Arrival) {
	lines := bufio.NewScanner(a.In)
	for lines.Scan() {
		switch text := lines.Text(); text {
		case "fill":
			fill()
			fmt.Fprintf(a.Out, "%d %s\n", os.Getpid(), text)
		case "exit 3":
			a.Exit(3)
			return
		case "log":
			for range 3 * maxLog / 100 {
				h.Log.Warn(strings.Repeat("x", 100))
			}
			fallthrough
		case "error":
			if text == "error" {
				h.Log.Error("x")
			}
			fallthrough
		default:
			fmt.Fprintf(a.Out, "%d %s\n", os.Getpid(), text)
		}
	}
	a.Exit(0)
}

// fill leaves room for one more descriptor with a connection.
func fill() {
	var all []int
	for {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			closeAll(all[len(all)-2:])
			return
		}
		all = append(all, fd)
	}
}

// frontMain is a front that hands over its own stdin and stdout.
func frontMain(dir, name string) int {
	d, err := Open(dir)
	if err == nil {
		var l *Link
		if l, err = d.Connect(callOf(d, name, os.Stdin, os.Stdout)); err == nil {
			_, _ = os.Stdin.Close(), os.Stdout.Close()
			return awaitStatus(l)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// awaitStatus reads the link to its end. It returns the exit status, or 75.
func awaitStatus(l *Link) int {
	text, _ := io.ReadAll(l) // An error is an end without a status.
	if s, ok := strings.CutPrefix(string(text), `{"exit":`); ok {
		n, err := strconv.Atoi(strings.TrimSuffix(s, "}\n"))
		if err == nil {
			return n
		}
	}
	return 75
}

func callOf(d *Directory, name string, in, out *os.File) Call {
	return Call{Session: name, Host: []string{testHost, d.path, name}, Client: Client{PID: os.Getpid(), Name: "test"}, In: in, Out: out}
}

// newDirectory returns a directory for sessions, whose hosts are killed at the end of the test. Then none may be left.
func newDirectory(t *testing.T) *Directory {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range hostsOf(t, d.path) {
			t.Errorf("the host %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended just now.
		}
	})
	return d
}

// hostsOf lists the hosts of a directory, except zombies.
func hostsOf(t *testing.T, dir string) (pids []int) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		b, err := os.ReadFile(p)
		if args := strings.Split(string(b), "\x00"); err == nil && args[0] == testHost && len(args) > 1 && args[1] == dir {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// An attachedClient is a client that was handed over by this process.
type attachedClient struct {
	t     *testing.T
	in    *os.File
	out   *os.File
	lines *bufio.Reader
	link  *Link
}

// attach hands a new client over.
func attach(t *testing.T, d *Directory, name string) *attachedClient {
	t.Helper()
	c, err := tryAttach(t, d, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryAttach(t *testing.T, d *Directory, name string) (*attachedClient, error) {
	t.Helper()
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return handOver(t, d, name, in, out, r, w)
}

// handOver hands the ends r and w over, and keeps in and out.
func handOver(t *testing.T, d *Directory, name string, in, out, r, w *os.File) (*attachedClient, error) {
	t.Helper()
	c := &attachedClient{t: t, in: in, out: out, lines: bufio.NewReader(out)}
	t.Cleanup(func() {
		_, _ = in.Close(), out.Close()
		if c.link != nil {
			_ = c.link.Close()
		}
	})
	var err error
	c.link, err = d.Connect(callOf(d, name, r, w))
	_, _ = r.Close(), w.Close()
	if err != nil {
		return nil, err
	}
	if c.link.Host > 0 {
		awaitHost(t, c.link)
	}
	return c, nil
}

// awaitHost checks at the end of the test that a host has ended, and how, and that no zombie is left.
func awaitHost(t *testing.T, l *Link) {
	pid := l.Host
	t.Cleanup(func() {
		select {
		case state := <-l.ended:
			if state == nil {
				t.Errorf("something else has waited for the host %d", pid)
			} else if status, _ := state.Sys().(syscall.WaitStatus); !state.Success() && status.Signal() != syscall.SIGKILL {
				t.Errorf("the host %d: %v", pid, state)
			}
		case <-time.After(watchdog):
			t.Errorf("the host %d does not end", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// say sends a line. It returns the pid of the host that answers.
func (c *attachedClient) say(text string) (pid int) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Fatal(err)
	}
	answer, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	number, rest, _ := strings.Cut(answer, " ")
	if pid, err = strconv.Atoi(number); err != nil || rest != text+"\n" {
		c.t.Fatalf("the answer to %q is %q", text, answer)
	}
	return pid
}

// gone checks that the host has closed the client's descriptors.
func (c *attachedClient) gone() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.lines); err != nil || len(rest) > 0 {
		c.t.Errorf("instead of the end: %q, %v", rest, err)
	}
	if _, err := io.WriteString(c.in, "x\n"); !errors.Is(err, syscall.EPIPE) {
		c.t.Errorf("a write to the closed stdin: %v", err)
	}
}

// end ends a session.
func end(t *testing.T, d *Directory, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	if err := d.End(ctx, name); err != nil {
		t.Fatal(err)
	}
}

// wantKind checks the kind and a part of an error.
func wantKind(t *testing.T, err error, kind Kind, part string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Text, part) {
		t.Errorf("%v, want %s with %q", err, kind, part)
	}
}

// openFiles returns the number of descriptors of a process.
func openFiles(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
