package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/schema"
)

// begin calls a tool with a command that does not end by itself, and returns the pid of that
// once the server has told of it; answer waits for the tool's answer.
func (h *host) begin(tool, command string, a args) (pid int64, answer func() *mcp.CallToolResult) {
	h.t.Helper()
	fifo := filepath.Join(h.root, "pid")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		h.t.Fatal(err)
	}
	a["command"] = "echo $$ >pid; " + command
	over := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := h.session.CallTool(h.ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any(a)})
		if err != nil {
			h.t.Errorf("%s %v: %v", tool, a, err)
		}
		over <- res
	}()
	said, err := os.ReadFile(fifo) // It waits for whoever writes.
	if err != nil {
		h.t.Fatal(err)
	}
	if pid, err = strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64); err != nil {
		h.t.Fatal(err)
	}
	// It may run before the server has told anyone of it.
	for h.ctx.Err() == nil {
		if _, byPID, _ := h.front.jobs.byNumber(pid); byPID != nil {
			break
		}
		h.call("jobs", nil, nil)
	}
	return pid, func() *mcp.CallToolResult { return <-over }
}

// gone says whether there is no process with this pid.
func gone(pid int64) bool { return syscall.Kill(int(pid), 0) == syscall.ESRCH }

// TestInFlight names jobs whose starting calls are not answered yet: another call may have
// seen them in the list.
func TestInFlight(t *testing.T) {
	for tool, a := range map[string]args{
		"run_shell_command":    {"ai_callback_delay": 3600},
		"CliRun":               {"timeout": 3600},
		"execute_bash_command": {},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			h := startHost(t, nil, "-confirm", "none")
			pid, answer := h.begin(tool, "exec sleep 1000", a)
			if tool == "run_shell_command" {
				h.call("send_input", args{"handle": 1, "input": "hello", "ai_callback_delay": 0}, nil)
				h.until(1, schema.Condition{Bytes: new(int64(len("hello")))}) // Its echo.
				contains(t, h.call("read_shell", args{"pid": pid}, nil), "hello")
			}
			if got, want := h.call("kill", args{"handle": pid}, nil), fmt.Sprintf("Process %d terminated successfully.", pid); got != want {
				t.Errorf("%q, not %q", got, want)
			}
			if !gone(pid) {
				t.Error("it is alive")
			}
			contains(t, text(answer()), "SIGTERM")
		})
	}
}

// TestBackgroundPIDs names a job by a process that its command has left running.
func TestBackgroundPIDs(t *testing.T) {
	for _, tool := range []string{"run_shell_command", "execute_bash_command", "CliRun"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			h := startHost(t, nil, "-confirm", "none")
			var r struct{ BackgroundPIDs []int64 }
			h.call(tool, args{"command": "sleep 1000 & echo started"}, &r)
			if len(r.BackgroundPIDs) != 1 {
				t.Fatalf("%+v", r)
			}
			pid := r.BackgroundPIDs[0]
			contains(t, h.fail("send_input", args{"handle": pid, "input": "x"}), fmt.Sprintf("Process %d runs, but takes no input: the command of job 1, which has started it, has ended.", pid))
			contains(t, h.fail("write_to_shell", args{"pid": pid, "input": "x"}), fmt.Sprintf("Error: Process %d runs, but takes no input", pid))
			contains(t, h.fail("send_input", args{"handle": 1, "input": "x"}), "Process 1 is not running. It has exited with code 0. What it has started runs on", fmt.Sprint(pid))
			if tool == "run_shell_command" {
				contains(t, h.call("read_shell", args{"pid": pid}, nil), "started")
			}
			var k killResult
			got := h.call("kill", args{"handle": pid}, &k)
			contains(t, got, fmt.Sprintf("Process %d terminated successfully. It belonged to job 1", pid))
			if k.Handle != 1 || k.Was != "running" || !gone(pid) {
				t.Errorf("%+v", k)
			}
			if got, want := h.call("kill", args{"handle": pid}, nil), fmt.Sprintf("Process %d is not running (already terminated).", pid); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		})
	}
}

// TestOthersProcess names a process that is alive, and none of the server's.
func TestOthersProcess(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	pid := os.Getpid()
	contains(t, h.fail("kill", args{"handle": pid}), fmt.Sprintf("Process %d is none of this server's", pid), "nothing was done")
}

// TestLiveStaysKnown has more jobs end than are kept: what lives is none of them.
func TestLiveStaysKnown(t *testing.T) {
	l := newLedger()
	const handle, pid = 1, 4711
	name := "dev"
	// One that has had its pid and its name before is forgotten, and takes neither along.
	l.started(&schema.JobInfo{Handle: 1 << 40, PID: pid, Name: &name}, "")
	l.close(1 << 40)
	live := l.started(&schema.JobInfo{Handle: handle, PID: pid, Name: &name}, "")
	for i := range int64(maxClosed + 100) {
		l.started(&schema.JobInfo{Handle: 2 + i, PID: 10000 + i}, "")
		l.close(2 + i)
		l.close(2 + i) // It is told once; twice does no harm.
	}
	byHandle, _, _ := l.byNumber(handle)
	_, byPID, alive := l.byNumber(pid)
	if byHandle != live || byPID != live || !alive || l.bySession(name) != live {
		t.Errorf("%v, %v, %v, %v", byHandle, byPID, alive, l.bySession(name))
	}
	if n := len(l.byHandle); n != maxClosed+1 || len(l.byPID) != n || len(l.isClosed) != maxClosed {
		t.Errorf("%d jobs by handle, %d by pid are kept", n, len(l.byPID))
	}
	if byHandle, _, _ := l.byNumber(2); byHandle != nil {
		t.Error("the oldest that has ended is kept")
	}
}

// TestPIDReuse has the system give the pid of a job that has ended to another one's process.
func TestPIDReuse(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	var r runShellResult
	h.call("run_shell_command", args{"command": "sleep 1000 & true"}, &r)
	pid := r.BackgroundPIDs[0]
	h.front.jobs.started(&schema.JobInfo{Handle: 2, PID: pid}, "") // A handle below any pid that a process gets.
	h.front.jobs.close(2)
	c := &call{front: h.front}
	for _, pidFirst := range []bool{false, true} {
		if j, err := c.find(context.Background(), pid, pidFirst); err != nil || j == nil || j.handle != 1 {
			t.Errorf("%+v, %v", j, err)
		}
	}
}

// TestPIDBeforeHandle names a process in the background whose pid is also the handle of a job, as
// in a container where pids are small: what the parameter is called counts.
func TestPIDBeforeHandle(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	var r runShellResult
	h.call("run_shell_command", args{"command": "sleep 1000 & echo started"}, &r)
	pid := r.BackgroundPIDs[0]
	other := h.front.jobs.started(&schema.JobInfo{Handle: pid, PID: 1 << 40}, "")
	contains(t, h.call("read_shell", args{"pid": pid}, nil), "started")
	contains(t, h.fail("write_to_shell", args{"pid": pid, "input": "x"}), fmt.Sprintf("Process %d runs, but takes no input: the command of job 1", pid))
	if j, err := (&call{front: h.front}).find(context.Background(), pid, false); err != nil || j != other {
		t.Errorf("as a handle: %+v, %v", j, err)
	}
}

// TestForgottenHandle calls kill with the handle of a job that is forgotten, and the number of a
// process by now: that was not meant, be it somebody else's or a job's.
func TestForgottenHandle(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	var r runShellResult
	h.call("run_shell_command", args{"command": "cat", "is_background": true}, &r)
	others := int64(os.Getpid())
	highest := max(others, r.PID)
	for _, handle := range []int64{others, r.PID} {
		h.front.jobs.started(&schema.JobInfo{Handle: handle, PID: 1 << 40}, "")
		h.front.jobs.close(handle)
	}
	for i := range int64(maxClosed) {
		h.front.jobs.started(&schema.JobInfo{Handle: highest + 1 + i, PID: 1<<40 + 1 + i}, "")
		h.front.jobs.close(highest + 1 + i)
	}
	for _, handle := range []int64{others, r.PID} {
		if got, want := h.call("kill", args{"handle": handle}, nil), fmt.Sprintf("Process %d is not running (already terminated).", handle); got != want {
			t.Errorf("%q, not %q", got, want)
		}
		contains(t, h.fail("send_input", args{"handle": handle, "input": "x"}), fmt.Sprintf("Process %d is not running.", handle), "Handle: 1, PID: ")
	}
	// So it is with the pid of one, which is no process's any more.
	if got := h.call("kill", args{"handle": 1 << 40}, nil); !strings.Contains(got, "(already terminated)") {
		t.Errorf("%q", got)
	}
	contains(t, h.call("jobs", nil, nil), "Handle: 1\n")
	h.call("write_to_shell", args{"pid": r.PID, "input": "x"}, nil) // Here it is a pid that is meant.
}
