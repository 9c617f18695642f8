package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// geminiSeeds are the tests for the design of an interactive shell: run_shell_command, send_input, jobs and kill.
var geminiSeeds = map[string]func(*testing.T){
	"run_shell_command/command": func(t *testing.T) {
		h := startHost(t, nil)
		var r runShellResult
		got := h.call("run_shell_command", args{"command": "echo hello; exit 3"}, &r)
		want := lines("Handle: 1", fmt.Sprintf("PID: %d", r.PID), "Command: echo hello; exit 3", "Directory: (root)", "Output: hello", "", "Error: (none)",
			"Exit Code: 3", "Signal: (none)", "Background PIDs: (none)", "Status: completed")
		if got != want || r.Running || r.ExitCode == nil || *r.ExitCode != 3 {
			t.Errorf("%q, not %q; %+v", got, want, r)
		}
		contains(t, h.fail("run_shell_command", args{"command": " "}), "Command cannot be empty.")
		contains(t, h.fail("run_shell_command", args{"comand": "ls"}), `there is no parameter "comand"; did you mean "command"?`)
		contains(t, h.call("run_shell_command", args{"command": "gti status"}, &r), "Error: gti was not found. Similar names: git", "Exit Code: 127")
		contains(t, h.call("run_shell_command", args{"command": "true"}, nil), "Output: (empty)")
	},
	"run_shell_command/description": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("run_shell_command", args{"command": "cat", "description": "wait for nobody", "is_background": true}, nil)
		var r jobsResult
		h.call("jobs", nil, &r)
		if len(r.Jobs) != 1 || r.Jobs[0].Description != "wait for nobody" {
			t.Errorf("jobs: %+v", r)
		}
	},
	"run_shell_command/dir_path": func(t *testing.T) {
		h := startHost(t, nil)
		sub := filepath.Join(h.root, "sub")
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"sub", sub} {
			var r runShellResult
			got := h.call("run_shell_command", args{"command": "pwd", "dir_path": dir}, &r)
			contains(t, got, "Directory: "+dir+"\n")
			if strings.TrimSpace(r.Output) != sub || r.Directory != sub {
				t.Errorf("dir_path %s: %+v", dir, r)
			}
		}
		contains(t, h.fail("run_shell_command", args{"command": "pwd", "dir_path": "nowhere"}), filepath.Join(h.root, "nowhere"))
	},
	"run_shell_command/ai_callback_delay": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("run_shell_command", "ai_callback_delay", 5.0)
		var r runShellResult
		begun := time.Now()
		contains(t, h.call("run_shell_command", args{"command": "cat", "ai_callback_delay": 0.2}, &r), "Exit Code: (none)", "Status: running")
		if took := time.Since(begun); took < 200*time.Millisecond || !r.Running || r.ExitCode != nil {
			t.Errorf("after %v: %+v", took, r)
		}
		// The wait ends with the command.
		h.call("run_shell_command", args{"command": "true", "ai_callback_delay": 3600}, &r)
		contains(t, h.fail("run_shell_command", args{"command": "true", "ai_callback_delay": -1}), "ai_callback_delay")
	},
	"run_shell_command/ai_callback_pattern": func(t *testing.T) {
		h := startHost(t, nil)
		var r runShellResult
		h.call("run_shell_command", args{"command": "echo 'ED> '; exec cat", "ai_callback_pattern": "ED> ", "ai_callback_delay": 0}, &r)
		if !r.PatternMatched || !r.Running {
			t.Errorf("%+v", r)
		}
		contains(t, h.fail("run_shell_command", args{"command": "cat", "ai_callback_pattern": "("}), "pattern")
	},
	"run_shell_command/pattern_timeout": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("run_shell_command", "pattern_timeout", 30.0)
		var r runShellResult
		h.call("run_shell_command", args{"command": "cat", "ai_callback_pattern": "never", "pattern_timeout": 0.1, "ai_callback_delay": 3600}, &r)
		if r.PatternMatched || !r.Running {
			t.Errorf("%+v", r)
		}
	},
	"run_shell_command/max_output_size": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("run_shell_command", "max_output_size", 16384.0)
		var r runShellResult
		h.call("run_shell_command", args{"command": "seq 10000", "max_output_size": 100, "ai_callback_delay": 3600}, &r)
		contains(t, r.Output, "1\n2\n", "lines left out; all of it is in "+r.OutputFile, "\n9999\n10000\n")
		if len(r.Output) > 400 {
			t.Errorf("%d bytes: %s", len(r.Output), r.Output)
		}
		all, err := os.ReadFile(r.OutputFile)
		if err != nil || strings.Count(string(all), "\n") != 10000 {
			t.Errorf("%s: %d bytes, %v", r.OutputFile, len(all), err)
		}
		h.call("run_shell_command", args{"command": "seq 10000", "ai_callback_delay": 3600}, &r)
		if n := len(r.Output); n < 15000 || n > 16384+300 {
			t.Errorf("by default: %d bytes", n)
		}
	},
	"run_shell_command/is_background": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("run_shell_command", "is_background", false)
		var r runShellResult
		contains(t, h.call("run_shell_command", args{"command": "cat", "is_background": true, "ai_callback_delay": 3600}, &r), "Handle: 1\n", "Output: (empty)", "Status: running")
		contains(t, h.call("jobs", nil, nil), "Handle: 1\n", fmt.Sprintf("PID: %d\n", r.PID))
	},
	"run_shell_command/wait_for_output_seconds": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("run_shell_command", "wait_for_output_seconds", nil)
		var r runShellResult
		h.call("run_shell_command", args{"command": "cat", "wait_for_output_seconds": 0.1, "ai_callback_delay": 3600}, &r)
		if !r.Running {
			t.Errorf("%+v", r)
		}
		h.call("run_shell_command", args{"command": "echo done", "wait_for_output_seconds": 3600}, &r)
		if r.Running || r.Output != "done\n" {
			t.Errorf("%+v", r)
		}
	},
	"run_shell_command/background": func(t *testing.T) {
		h := startHost(t, nil)
		var r runShellResult
		got := h.call("run_shell_command", args{"command": "sleep 1000 & echo started"}, &r)
		if len(r.BackgroundPIDs) != 1 || r.Running {
			t.Fatalf("%+v", r)
		}
		contains(t, got, fmt.Sprintf("Background PIDs: %d", r.BackgroundPIDs[0]))
		contains(t, h.call("jobs", nil, nil), "Handle: 1\n", "Command: sleep 1000 & echo started\n", "Status: running", got[strings.Index(got, "Background PIDs"):strings.Index(got, "\nStatus")])
	},
	"send_input/handle": func(t *testing.T) {
		h := startHost(t, nil)
		var r runShellResult
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, &r)
		for _, n := range []int64{r.Handle, r.PID} { // The seed's handle is a PID.
			contains(t, h.call("send_input", args{"handle": n, "input": "by " + strconv.FormatInt(n, 10), "ai_callback_pattern": "by \\d+"}, nil), fmt.Sprint("by ", n))
		}
		contains(t, h.fail("send_input", args{"handle": 1.5, "input": "x"}), "handle must be a whole number")
		contains(t, h.fail("send_input", args{"handle": 999999999, "input": "x"}), "Process 999999999 is not running.", "Handle: 1, PID: ", "Command: cat")
		h.call("run_shell_command", args{"command": "exit 4"}, nil)
		contains(t, h.fail("send_input", args{"handle": 2, "input": "x"}), "Process 2 is not running. It has exited with code 4.")
	},
	"send_input/input": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("run_shell_command", args{"command": "read -r a; read -r b; echo \"[$a] [$b]\"", "is_background": true}, nil)
		var r sendInputResult
		got := h.call("send_input", args{"handle": 1, "input": "two\nlines", "ai_callback_pattern": "never"}, &r)
		contains(t, got, "[two] [lines]", "It has exited with code 0.")
		if r.Running || r.ExitCode == nil || *r.ExitCode != 0 {
			t.Errorf("%+v", r)
		}
	},
	"send_input/append_newline": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("send_input", "append_newline", true)
		h.call("run_shell_command", args{"command": "read -r a; echo \"[$a]\"", "is_background": true}, nil)
		h.call("send_input", args{"handle": 1, "input": "no end", "append_newline": false, "ai_callback_delay": 0.1}, nil)
		contains(t, h.call("send_input", args{"handle": 1, "input": ", and now", "ai_callback_pattern": "\\[.*\\]"}, nil), "[no end, and now]")
	},
	"send_input/ai_callback_delay": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("send_input", "ai_callback_delay", 3.0)
		h.call("run_shell_command", args{"command": "cat >/dev/null", "is_background": true}, nil)
		begun := time.Now()
		var r sendInputResult
		h.call("send_input", args{"handle": 1, "input": "x", "ai_callback_delay": 0.2}, &r)
		if took := time.Since(begun); took < 200*time.Millisecond || !r.Running {
			t.Errorf("after %v: %+v", took, r)
		}
	},
	"send_input/ai_callback_pattern": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("run_shell_command", args{"command": "echo 'ED> '; while read -r x; do echo \"did $x\"; echo 'ED> '; done", "ai_callback_pattern": "ED> "}, nil)
		var r sendInputResult
		// The earlier prompt and the echo of the input do not match.
		got := h.call("send_input", args{"handle": 1, "input": "ED> ", "ai_callback_pattern": "ED> \\r?\\n", "ai_callback_delay": 0}, &r)
		contains(t, got, "did ED>")
		if !r.PatternMatched {
			t.Errorf("%+v", r)
		}
	},
	"jobs": func(t *testing.T) {
		h := startHost(t, nil)
		var r jobsResult
		if got := h.call("jobs", nil, &r); got != "No running background processes." || len(r.Jobs) != 0 {
			t.Errorf("%q, %+v", got, r)
		}
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
		h.call("run_shell_command", args{"command": "true"}, nil)
		got := h.call("jobs", nil, &r)
		want := regexp.MustCompile(`^Running Processes:\n\nHandle: 1\nPID: \d+\nCommand: cat\nDuration: \d+s\nStatus: running$`)
		if !want.MatchString(got) {
			t.Errorf("%q", got)
		}
	},
	"kill/handle": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		var r runShellResult
		// The command and its child ignore SIGTERM: SIGKILL follows.
		h.call("run_shell_command", args{"command": "trap '' TERM; sleep 1000 & echo ready; wait", "ai_callback_pattern": "ready"}, &r)
		var k killResult
		if got := h.call("kill", args{"handle": 1}, &k); got != "Process 1 terminated successfully." || k.Killed != 2 {
			t.Errorf("%q, %+v", got, k)
		}
		for _, n := range []int64{1, r.PID} {
			if got, want := h.call("kill", args{"handle": n}, nil), fmt.Sprintf("Process %d is not running (already terminated).", n); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		contains(t, h.fail("kill", args{"handle": 999999999}), "There is and was no process with the handle or PID 999999999: nothing was done.", "No running background processes.")
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, &r)
		contains(t, h.fail("kill", args{"handle": 999999999}), "Running Processes:\nHandle: 2, PID: ", "Command: cat")
		if got, want := h.call("kill", args{"handle": r.PID}, nil), fmt.Sprintf("Process %d terminated successfully.", r.PID); got != want {
			t.Errorf("%q, not %q", got, want)
		}
		contains(t, h.call("jobs", nil, nil), "No running background processes.")
	},
	"kill/confirmation": func(t *testing.T) {
		asked := &person{says: []string{"deny", "once"}}
		h := startHost(t, asked.options())
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
		contains(t, h.fail("kill", args{"handle": 1}), "Failed to terminate process 1: the person at the host did not allow this kill")
		contains(t, h.call("jobs", nil, nil), "Handle: 1")
		contains(t, h.call("kill", args{"handle": 1}, nil), "Process 1 terminated successfully.")
		asked.expect(t, "Confirm Process Termination\n\nTerminate process 1?\n\n    cat\nin "+h.root, "Terminate process 1?")
	},
}
