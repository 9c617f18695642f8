package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// hardToEnd are commands, most of which survive a simple kill of their process group.
var hardToEnd = []string{
	"sleep 300 & sleep 300",
	`trap "" TERM HUP INT; while :; do sleep 1; done`,
	"setsid sleep 300 & sleep 300",
	`(setsid sh -c 'trap "" TERM; sleep 300 & wait' &); exit 0`,
	"yes",
	"cat",
	"kill -STOP $$",
	"nohup sleep 300 >/dev/null 2>&1 & exit 0",
}

// A doomed server is one that a test ends. The processes of its jobs are identified by a mark in their environment.
type doomed struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Closer
	stderr io.Closer
	client *client.Conn
	mark   string
}

const doomedGrace = time.Second

func startDoomed(t *testing.T, jobs int) *doomed {
	t.Helper()
	needJobs(t)
	d := &doomed{cmd: exec.Command("shelld", "serve"), mark: fmt.Sprintf("SHELLD_TEST_MARK=%d-%s", os.Getpid(), t.Name())}
	// It has a process group of its own, so that a test can kill the group.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if d.stdin, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.stdout = out
	log, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.stderr = log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }() // It ends when the log is closed, at the latest by Wait.
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // This is best effort: most tests have ended it.
		<-d.client.Done()
		_ = d.cmd.Wait() // The test checks the status.
	})
	d.client = client.NewConn(out, d.stdin, func(client.Event) {}, nil)
	d.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{
		Events: []string{}, Limits: &schema.LimitOptions{ShutdownGraceMs: ptr(doomedGrace.Milliseconds())},
	}})
	name, value, _ := strings.Cut(d.mark, "=")
	for i := range jobs {
		mode := []schema.Mode{schema.ModePty, schema.ModePipe}[i/len(hardToEnd)%2]
		d.call(t, "job/start", schema.JobStartParams{
			Command: &hardToEnd[i%len(hardToEnd)], Shell: ptr("sh"), Mode: &mode, Env: map[string]*string{name: &value},
		})
	}
	return d
}

func ptr[T any](v T) *T { return &v }

func (d *doomed) call(t *testing.T, method string, params any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	if err := d.client.Call(ctx, method, params, nil); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// wedge starts a job that reads no input, and fills its input queue with writes whose waits never end.
func (d *doomed) wedge(t *testing.T) {
	t.Helper()
	name, value, _ := strings.Cut(d.mark, "=")
	d.call(t, "job/start", schema.JobStartParams{
		Command: ptr(`stty raw -echo; trap "" TERM HUP; echo ready; while :; do sleep 1; done`), Shell: ptr("sh"),
		Env: map[string]*string{name: &value}, Name: ptr("wedged"),
		Wait: &schema.Wait{Until: []schema.Condition{{Pattern: ptr("ready")}}},
	})
	for range 3 {
		go func() {
			// It is answered, if at all, at the end of the server.
			_ = d.client.Call(context.Background(), "job/write", map[string]any{
				"handle": "wedged", "input": strings.Repeat("x", 300_000),
				"wait": map[string]any{"until": []any{map[string]any{"bytes": 1 << 30}}, "timeoutMs": nil},
			}, nil)
		}()
	}
}

// alive returns the living processes of the server's jobs, and its keepers.
func (d *doomed) alive() (all []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		environ, _ := os.ReadFile(p + "/environ")
		stat, err := os.ReadFile(p + "/stat")
		if err != nil || !bytes.Contains(environ, []byte(d.mark)) {
			continue
		}
		if !hasEnded(stat) {
			cmdline, _ := os.ReadFile(p + "/cmdline")
			all = append(all, filepath.Base(p)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return all
}

// hasEnded reports whether a /proc/PID/stat is that of a process that has ended but is not reaped yet.
func hasEnded(stat []byte) bool {
	state := stat[bytes.LastIndexByte(stat, ')')+2]
	return state == 'Z' || state == 'X'
}

// awaitGone waits until nothing is alive, and fails if that takes longer than limit. The limit holds on an idle
// machine, and is checked only with -long.
func (d *doomed) awaitGone(t *testing.T, since time.Time, limit time.Duration) {
	t.Helper()
	switch {
	case !*long:
		limit = watchdog
	case raceDetector: // The whole server takes several times as long.
		limit *= 3
	}
	for {
		left := d.alive()
		took := time.Since(since)
		switch {
		case len(left) == 0 && took <= limit:
			t.Logf("gone after %v", took.Round(time.Millisecond))
			return
		case took > limit:
			t.Fatalf("after %v there are: %s", took, strings.Join(left, "; "))
		}
		awaitExit(left[0], limit-took)
	}
}

// awaitExit waits for the end of one process, given by a line of alive.
func awaitExit(process string, limit time.Duration) {
	var pid int
	_, _ = fmt.Sscan(process, &pid) // It begins with the PID.
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // It has ended meanwhile.
	}
	defer func() { _ = unix.Close(fd) }()
	for until := time.Now().Add(limit); ; {
		left := int(max(time.Until(until), 0).Milliseconds()) + 1
		// The end of any child of this process may interrupt it.
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, left); err != unix.EINTR {
			return // The caller checks again.
		}
	}
}

func TestNothingSurvivesTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		limit time.Duration
		end   func(*doomed) error
	}{
		{"SIGKILL", time.Second, func(d *doomed) error { return d.cmd.Process.Kill() }},
		{"SIGKILL of its group", time.Second, func(d *doomed) error { return syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) }},
		{"end of stdin", doomedGrace + time.Second, func(d *doomed) error { return d.stdin.Close() }},
		{"SIGTERM", doomedGrace + time.Second, func(d *doomed) error { return d.cmd.Process.Signal(syscall.SIGTERM) }},
	} {
		for _, wedged := range []bool{false, true} {
			name := c.name
			if wedged {
				name += ", one job wedged"
			}
			t.Run(name, func(t *testing.T) {
				jobs := scaled(50, 2*len(hardToEnd), 2*len(hardToEnd)) // Each command runs at least once in both modes.
				d := startDoomed(t, jobs)
				if wedged {
					d.wedge(t)
				}
				if n := len(d.alive()); n < jobs {
					t.Fatalf("only %d processes are alive before the end", n)
				}
				began := time.Now()
				if err := c.end(d); err != nil {
					t.Fatal(err)
				}
				d.awaitGone(t, began, c.limit)
			})
		}
	}
}

// TestAJobHasThreeDescriptors checks that a job has its three descriptors and no others, and that a keeper has none of
// the server's.
func TestAJobHasThreeDescriptors(t *testing.T) {
	d := startDoomed(t, 0)
	for _, mode := range []schema.Mode{schema.ModePty, schema.ModePipe} {
		var res schema.JobRunResult
		err := d.client.Call(context.Background(), "job/run", schema.JobRunParams{
			Argv: []string{"sh", "-c", "ls /proc/$$/fd; exit 0"}, Mode: &mode, Cwd: ptr("/"),
		}, &res)
		if err != nil {
			t.Fatal(err)
		}
		text := res.Stdout
		if mode == schema.ModePty {
			text = res.Output
		}
		if got := strings.Join(strings.Fields(*text), " "); got != "0 1 2" {
			t.Errorf("%s: descriptors %s", mode, got)
		}
	}
}
