package client_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestBadServers: each program that cannot be used is an error that says so, and none is left running.
func TestBadServers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path string
		is   error
		says string
	}{
		{"no-such-shelld", exec.ErrNotFound, "go build ./cmd/shelld"},
		{filepath.Join(programs, "missing"), fs.ErrNotExist, "$SHELLD"},
		{file, fs.ErrPermission, file},
		{"quiet", client.ErrNotShelld, "has not answered initialize within"},
		{"echo", client.ErrNotShelld, "echo: this program does not speak"},
		{"chatter", client.ErrNotShelld, `"hello, this is no JSON"`},
		{"crash", client.ErrNotShelld, "exit status 3; it said: no space left on device"},
		{"group", client.ErrNotShelld, "it said: leader true"}, // Ctrl-C in a terminal does not reach it.
		{"old", client.ErrVersion, `"0", and this is "1"`},
		{"jobless", client.ErrUnsupported, "all of it"},
		{"two words", client.ErrNotShelld, "two words"},
	} {
		path := test.path
		if roles[path] != nil {
			path = filepath.Join(programs, path)
		}
		timeout := watchdog
		if test.path == "quiet" || test.path == "two words" {
			timeout = 200 * time.Millisecond
		}
		_, err := client.Start(t.Context(), client.Options{Path: path, StartTimeout: timeout})
		var failed *client.StartError
		if !errors.As(err, &failed) || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %v with %q", test.path, err, test.is, test.says)
		}
	}
	none(t)
}

// none fails the test if this process has a child.
func none(t *testing.T) {
	t.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

// TestCancelledStart: a server that does not answer is given up with the context.
func TestCancelledStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := client.Start(ctx, client.Options{Path: filepath.Join(programs, "quiet")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	none(t)
}

// TestPathWithSpaces starts a shelld whose path has blanks and quotes in it.
func TestPathWithSpaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), `my "own" shelld`)
	shelld, err := filepath.Abs(os.Getenv("SHELLD"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shelld, path); err != nil {
		t.Fatal(err)
	}
	c := start(t, client.Options{Path: path})
	r, err := c.Run(t.Context(), client.Argv("printf", "%s", "a b"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "output", r.Stdout, "a b")
}

// TestNewerServer: unknown members are ignored.
func TestNewerServer(t *testing.T) {
	c := start(t, client.Options{Path: filepath.Join(programs, "newer")})
	equal(t, "server", c.Info.ServerInfo.Name, "newer")
}

// TestRefusedInitialize: an error of initialize is the server's own.
func TestRefusedInitialize(t *testing.T) {
	_, err := client.Start(t.Context(), client.Options{Initialize: schema.InitializeParams{RootDirectory: new("/no/such/directory")}})
	equal(t, "kind", client.KindOf(err), schema.KindBadWorkingDirectory)
	none(t)
}

// TestServerDies: all calls in flight fail when the server ends, and say what it said last.
func TestServerDies(t *testing.T) {
	c := start(t, client.Options{Path: filepath.Join(programs, "dies")})
	failed := make(chan error, 3)
	for range cap(failed) {
		go func() { failed <- c.Call(t.Context(), "job/get", schema.JobGetParams{}, nil) }()
	}
	for range cap(failed) {
		err := <-failed
		var gone *client.GoneError
		if !errors.Is(err, client.ErrServerGone) || !errors.As(err, &gone) {
			t.Fatal(err)
		}
		contains(t, "error", err.Error(), "exit status 2; it said: fatal error: out of memory")
	}
	_, err := c.Run(t.Context(), client.Line("true"))
	if !errors.Is(err, client.ErrServerGone) {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	none(t)
}

// TestGarbage: output that is no message ends the connection and the server.
func TestGarbage(t *testing.T) {
	c := start(t, client.Options{Path: filepath.Join(programs, "garbles")})
	_, err := c.Run(t.Context(), client.Line("true"))
	var bad *client.MessageError
	if !errors.As(err, &bad) || !errors.Is(err, client.ErrServerGone) {
		t.Fatal(err)
	}
	equal(t, "line", bad.Line, "panic: index out of range")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	none(t)
}

// TestServerStops: a server that neither answers nor ends is given up, and killed.
func TestServerStops(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 20 seconds")
	}
	t.Parallel()
	c, err := client.Start(t.Context(), client.Options{Path: filepath.Join(programs, "stops")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = c.Run(ctx, client.Line("true"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer the cancellation") {
		t.Error(err)
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
}

// TestServerDoesNotRead: a call ends with its context while its request, or an earlier one, is being written.
func TestServerDoesNotRead(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 25 seconds")
	}
	t.Parallel()
	c, err := client.Start(t.Context(), client.Options{Path: filepath.Join(programs, "stops")})
	if err != nil {
		t.Fatal(err)
	}
	long := client.Argv("printf", strings.Repeat("x", 1_000_000))
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := c.Run(ctx, long)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "does not read its input") {
			t.Error(err)
		}
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
}

// TestCancelledStartOfJob: a job whose start was cancelled while it waits is ended.
func TestCancelledStartOfJob(t *testing.T) {
	c := start(t, client.Options{})
	why := errors.New("the user has left")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, why)
	defer cancel()
	_, err := c.Start(ctx, client.Line("sleep 1000"), func(p *schema.JobStartParams) {
		p.Wait = &schema.Wait{Until: []schema.Condition{{Pattern: new("ready")}}}
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if !errors.Is(err, why) {
		t.Error(err)
	}
	r, err := client.Call[schema.JobListResult](t.Context(), c, "job/list", schema.JobListParams{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Jobs) != 1 || r.Jobs[0].Status != schema.StatusClosed {
		t.Errorf("jobs: %+v", r.Jobs)
	}
}

// TestContextEndsServer: the end of the context of Start ends the server and its jobs.
func TestContextEndsServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := client.Start(ctx, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := c.Start(t.Context(), client.Line("sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	gone(t, int(j.Info.PID))
	if _, err := c.Run(t.Context(), client.Line("true")); !errors.Is(err, client.ErrServerGone) {
		t.Error(err)
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // It has ended, and was reaped.
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(watchdog.Milliseconds()))
	if n != 1 || err != nil {
		t.Errorf("process %d is alive: %v", pid, err)
	}
}

// TestClientKilled: when the client's process is killed, its jobs end.
func TestClientKilled(t *testing.T) {
	cmd := exec.Command(filepath.Join(programs, "parent"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // It was killed.
	gone(t, pid)
}
