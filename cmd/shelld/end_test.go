package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A served is a server process with a job, and our ends of its pipes.
type served struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	log    *bytes.Buffer // read only after the process has ended
	client *client.Conn
	pids   []int64 // of the job: a shell and its child
}

// serveJob starts a server with a job of two processes that are known to run.
func serveJob(t *testing.T) *served {
	t.Helper()
	needJobs(t)
	s := startServed(t)
	s.call(t, "initialize", schema.InitializeParams{}, nil)
	var r schema.JobStartResult
	s.call(t, "job/start", schema.JobStartParams{
		Argv: []string{"sh", "-c", `sh -c 'echo child $$; exec sleep 300' & wait`},
		Mode: new(schema.ModePipe),
		Wait: demoUntil(`child (\d+)\n`),
	}, &r)
	m, err := demoMatch(r.Outcome)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.ParseInt(demoGroup(m), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s.pids = []int64{r.Job.PID, child}
	for _, pid := range s.pids {
		if !alive(pid) {
			t.Fatalf("process %d of the job is not alive", pid)
		}
	}
	return s
}

// startPiped starts a program, and returns our ends of its stdin and stdout.
func startPiped(t testing.TB, cmd *exec.Cmd) (io.WriteCloser, io.ReadCloser) {
	t.Helper()
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
	return in, out
}

// startServed starts a server that ends with the test at the latest.
func startServed(t *testing.T) *served {
	t.Helper()
	return startHeard(t, func(client.Event) {})
}

// startHeard is startServed for a test that handles notifications.
func startHeard(t *testing.T, notice func(client.Event)) *served {
	t.Helper()
	return startWith(t, notice, func(*exec.Cmd) {})
}

// startWith is startHeard with a command that prepare has changed.
func startWith(t *testing.T, notice func(client.Event), prepare func(*exec.Cmd)) *served {
	t.Helper()
	return startFor(t, watchdog, notice, prepare)
}

// startFor is startWith for a test that takes longer than others.
func startFor(t *testing.T, most time.Duration, notice func(client.Event), prepare func(*exec.Cmd)) *served {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	s := &served{log: &bytes.Buffer{}}
	var err error
	if s.cmd, err = testServer(s.log)(ctx); err != nil {
		t.Fatal(err)
	}
	prepare(s.cmd)
	var theirs [2]*os.File
	if theirs[0], s.stdin, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if s.stdout, theirs[1], err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdin, s.cmd.Stdout = theirs[0], theirs[1]
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirs[0].Close(), theirs[1].Close()
	s.client = client.NewConn(s.stdout, s.stdin, notice, nil)
	t.Cleanup(func() {
		cancel() // This has no effect if the server has ended.
		_, _ = s.stdin.Close(), s.stdout.Close()
		<-s.client.Done()
		_ = s.cmd.Wait() // The test has waited already, or has failed.
	})
	return s
}

func (s *served) call(t *testing.T, method string, params, result any) {
	t.Helper()
	if err := s.client.Call(t.Context(), method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// keepIn initializes the server with this state directory, and with most as the maximum stored per stream. events are
// the events that are sent; nil: the default ones.
func (s *served) keepIn(t *testing.T, state string, most int64, events []string) schema.InitializeResult {
	t.Helper()
	var r schema.InitializeResult
	s.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{
		Events: events, Persist: &schema.PersistOptions{Directory: &state}, Limits: &schema.LimitOptions{SpoolDiskBytes: &most},
	}}, &r)
	return r
}

// shutDown shuts the server down as a client does, and checks how it ended.
func (s *served) shutDown(t *testing.T) {
	t.Helper()
	s.call(t, "shutdown", schema.ShutdownParams{}, nil)
	_ = s.stdin.Close()
	<-s.client.Done()
	s.ended(t, 0)
}

// kill kills the server, and returns when all of its output was read.
func (s *served) kill(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.client.Done()
}

// ended waits for the end of the server, checks its status, and checks that its job is gone.
func (s *served) ended(t *testing.T, status int) {
	t.Helper()
	err := s.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if got := s.cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("the server exited with %d (%v), not %d", got, exit, status)
	}
	if log := s.log.String(); strings.Contains(log, "panic") || strings.Contains(log, "level=ERROR") {
		t.Errorf("the server logged:\n%s", log)
	}
	for _, pid := range s.pids {
		if alive(pid) {
			t.Errorf("process %d of the job has outlived the server", pid)
		}
	}
}

func TestSignalEndsServer(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			s := serveJob(t)
			if err := s.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			s.ended(t, 1)
		})
	}
}

func TestEndOfInputEndsServer(t *testing.T) {
	s := serveJob(t)
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	s.ended(t, 1)
}

// TestBrokenOutputEndsServer closes the client's end of stdout, as after the client's death. The server notices it at
// its next message, even though its input is still open.
func TestBrokenOutputEndsServer(t *testing.T) {
	s := serveJob(t)
	if err := s.stdout.Close(); err != nil {
		t.Fatal(err)
	}
	<-s.client.Done()
	if _, err := s.stdin.WriteString(`{"jsonrpc":"2.0","id":99,"method":"job/list"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	s.ended(t, 1)
}

func TestShutdownEndsServer(t *testing.T) {
	for _, last := range []string{"exit", "end of input"} {
		t.Run(last, func(t *testing.T) {
			s := serveJob(t)
			s.call(t, "shutdown", schema.ShutdownParams{}, nil)
			if err := s.leave(last); err != nil {
				t.Fatal(err)
			}
			s.ended(t, 0)
		})
	}
}

func TestExitWithoutShutdown(t *testing.T) {
	s := serveJob(t)
	if err := s.leave("exit"); err != nil {
		t.Fatal(err)
	}
	s.ended(t, 1)
}

func (s *served) leave(how string) error {
	if how == "exit" {
		return s.client.Notify("exit", schema.ExitParams{})
	}
	return s.stdin.Close()
}
