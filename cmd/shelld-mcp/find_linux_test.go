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

	"shelld.dev/shelld/schema"
)

// begin calls a tool with a command that does not end by itself. It returns the command's PID after the server has
// reported it; answer waits for the tool's answer.
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
	said, err := os.ReadFile(fifo) // This waits for the writer.
	if err != nil {
		h.t.Fatal(err)
	}
	if pid, err = strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64); err != nil {
		h.t.Fatal(err)
	}
	// The command may run before the server has reported it.
	for h.ctx.Err() == nil {
		if _, byPID, _ := h.front.jobs.byNumber(pid); byPID != nil {
			break
		}
		h.call("jobs", nil, nil)
	}
	return pid, func() *mcp.CallToolResult { return <-over }
}

// gone reports whether no process has this PID.
func gone(pid int64) bool { return syscall.Kill(int(pid), 0) == syscall.ESRCH }

// TestInFlight uses jobs before the calls that started them are answered: another call may have seen them in the list.
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
				h.until(1, schema.Condition{Bytes: new(int64(len("hello")))}) // This is the echo.
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

// TestBackgroundPIDs identifies a job by a process that its command has left running.
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
			contains(t, h.fail("send_input", args{"handle": 1, "input": "x"}), "Process 1 is not running. It has exited with code 0. Processes that it started run on", fmt.Sprint(pid))
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

// TestForeignPID uses the PID of a living process that does not belong to the server.
func TestForeignPID(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	pid := os.Getpid()
	contains(t, h.fail("kill", args{"handle": pid}), fmt.Sprintf("Process %d does not belong to this server, which only ends what it has started", pid), "nothing was done")
}

// TestLiveJobNotForgotten ends more jobs than are kept: a live job is never forgotten.
func TestLiveJobNotForgotten(t *testing.T) {
	l := newLedger()
	const handle, pid = 1, 4711
	name := "dev"
	// An earlier job with the same PID and name is forgotten, but the PID and the name stay.
	l.started(nil, &schema.JobInfo{Handle: 1 << 40, PID: pid, Name: &name}, "")
	l.close(nil, 1<<40)
	live := l.started(nil, &schema.JobInfo{Handle: handle, PID: pid, Name: &name}, "")
	for i := range int64(maxClosed + 100) {
		l.started(nil, &schema.JobInfo{Handle: 2 + i, PID: 10000 + i}, "")
		l.close(nil, 2+i)
		l.close(nil, 2+i) // It is reported only once, but twice does no harm.
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

// TestPIDReuse has the system reuse the PID of an ended job for a process of another job.
func TestPIDReuse(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	var r runShellResult
	h.call("run_shell_command", args{"command": "sleep 1000 & true"}, &r)
	pid := r.BackgroundPIDs[0]
	h.front.jobs.started(nil, &schema.JobInfo{Handle: 2, PID: pid}, "") // The handle is lower than any PID of a process.
	h.front.jobs.close(nil, 2)
	c := &call{front: h.front}
	for _, pidFirst := range []bool{false, true} {
		if j, err := c.find(context.Background(), pid, pidFirst); err != nil || j == nil || j.handle != 1 {
			t.Errorf("%+v, %v", j, err)
		}
	}
}

// TestPIDBeforeHandle uses the PID of a background process that is also the handle of a job, as in a container with
// small PIDs: the name of the parameter decides.
func TestPIDBeforeHandle(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	var r runShellResult
	h.call("run_shell_command", args{"command": "sleep 1000 & echo started"}, &r)
	pid := r.BackgroundPIDs[0]
	other := h.front.jobs.started(nil, &schema.JobInfo{Handle: pid, PID: 1 << 40}, "")
	contains(t, h.call("read_shell", args{"pid": pid}, nil), "started")
	contains(t, h.fail("write_to_shell", args{"pid": pid, "input": "x"}), fmt.Sprintf("Process %d runs, but takes no input: the command of job 1", pid))
	if j, err := (&call{front: h.front}).find(context.Background(), pid, false); err != nil || j != other {
		t.Errorf("as a handle: %+v, %v", j, err)
	}
}

// TestForgottenHandle calls kill with the handle of a forgotten job that is also the PID of a process: that process was
// not meant, whether it belongs to a job or not.
func TestForgottenHandle(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	var r runShellResult
	h.call("run_shell_command", args{"command": "cat", "is_background": true}, &r)
	others := int64(os.Getpid())
	highest := max(others, r.PID)
	for _, handle := range []int64{others, r.PID} {
		h.front.jobs.started(nil, &schema.JobInfo{Handle: handle, PID: 1 << 40}, "")
		h.front.jobs.close(nil, handle)
	}
	for i := range int64(maxClosed) {
		h.front.jobs.started(nil, &schema.JobInfo{Handle: highest + 1 + i, PID: 1<<40 + 1 + i}, "")
		h.front.jobs.close(nil, highest+1+i)
	}
	for _, handle := range []int64{others, r.PID} {
		if got, want := h.call("kill", args{"handle": handle}, nil), fmt.Sprintf("Process %d is not running (already terminated).", handle); got != want {
			t.Errorf("%q, not %q", got, want)
		}
		contains(t, h.fail("send_input", args{"handle": handle, "input": "x"}), fmt.Sprintf("Process %d is not running.", handle), "Handle: 1, PID: ")
	}
	// The same holds for the PID of a forgotten job that belongs to no process any more.
	if got := h.call("kill", args{"handle": 1 << 40}, nil); !strings.Contains(got, "(already terminated)") {
		t.Errorf("%q", got)
	}
	contains(t, h.call("jobs", nil, nil), "Handle: 1\n")
	h.call("write_to_shell", args{"pid": r.PID, "input": "x"}, nil) // Here the PID is meant.
}
