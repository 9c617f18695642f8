package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/schema"
)

// seedTests prove the seeds' tools, parameter by parameter. testdata/seeds.tsv says which
// proves what, and docs/mcp.md shows it to readers; TestSeedTable holds the three together.
var seedTests = map[string]func(*testing.T){
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
		contains(t, h.call("run_shell_command", args{"command": "gti status"}, &r), "Error: gti is not there. Near names are: git", "Exit Code: 127")
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
		// The end of the command is not waited beyond.
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
		for _, n := range []int64{r.Handle, r.PID} { // The seed's handle is a pid.
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
		// The prompt that was there before, and the echo of the input, are no answer to it.
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
		// It takes no notice of SIGTERM, nor does what it has started: SIGKILL follows.
		h.call("run_shell_command", args{"command": "trap '' TERM; sleep 1000 & echo ready; wait", "ai_callback_pattern": "ready"}, &r)
		var k killResult
		if got := h.call("kill", args{"handle": 1}, &k); got != "Process 1 terminated successfully." || k.Killed != 2 {
			t.Errorf("%q, %+v", got, k)
		}
		for _, n := range []int64{1, r.PID, 999999999} {
			if got, want := h.call("kill", args{"handle": n}, nil), fmt.Sprintf("Process %d is not running (already terminated).", n); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, &r)
		if got, want := h.call("kill", args{"handle": r.PID}, nil), fmt.Sprintf("Process %d terminated successfully.", r.PID); got != want {
			t.Errorf("%q, not %q", got, want)
		}
		contains(t, h.call("jobs", nil, nil), "No running background processes.")
	},
	"kill/confirmation": func(t *testing.T) {
		asked := &person{says: []string{"deny", "once"}}
		h := startHost(t, asked.options())
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
		contains(t, h.fail("kill", args{"handle": 1}), "Failed to terminate process 1: ")
		contains(t, h.call("jobs", nil, nil), "Handle: 1")
		contains(t, h.call("kill", args{"handle": 1}, nil), "Process 1 terminated successfully.")
		asked.expect(t, "Confirm Process Termination\n\nTerminate process 1?\n\n    cat\nin "+h.root, "Terminate process 1?")
	},
	"read_shell/pid": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		var r runShellResult
		h.call("run_shell_command", args{"command": "printf 'one\\n\\033[3;5Hthere'; exec cat", "ai_callback_pattern": "there"}, &r)
		for _, n := range []int64{r.PID, r.Handle} {
			var s screenResult
			if got := h.call("read_shell", args{"pid": n}, &s); got != lines("one", "", "    there") || s.CursorRow != 2 || s.CursorCol != 9 {
				t.Errorf("%q, %+v", got, s)
			}
		}
		h.call("kill", args{"handle": 1}, nil)
		contains(t, h.fail("read_shell", args{"pid": r.PID}), fmt.Sprintf("Error: No active process found with PID %d. The process may have exited.", r.PID))
		contains(t, h.fail("read_shell", args{"pid": 0}), "PID must be a positive number.")
	},
	"write_to_shell/pid": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		var r runShellResult
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, &r)
		contains(t, h.call("write_to_shell", args{"pid": r.PID, "input": "x"}, nil), fmt.Sprintf("Input sent to PID %d. Current screen:\n", r.PID))
		contains(t, h.call("write_to_shell", args{"pid": 1, "input": "x"}, nil), "Input sent to PID 1. Current screen:\n")
		contains(t, h.fail("write_to_shell", args{"pid": 999999999, "input": "x"}), "Error: No active process found with PID 999999999. The process may have exited.", "Command: cat")
		contains(t, h.fail("write_to_shell", args{"pid": 0, "input": "x"}), "PID must be a positive number.")
		contains(t, h.call("write_to_shell", args{"pid": 1, "special_keys": []string{"Ctrl-C"}}, nil), "Input sent")
		h.until(1, schema.Condition{Closed: new(true)})
		contains(t, h.fail("write_to_shell", args{"pid": r.PID, "input": "x"}), "Error: No active process found with PID")
	},
	"write_to_shell/input": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		h.call("run_shell_command", args{"command": "read -p 'Enter your name: ' name && echo \"Hello, $name\" && exec cat", "ai_callback_pattern": "name: $"}, nil)
		h.call("write_to_shell", args{"pid": 1, "input": "Ada\n"}, nil)
		h.until(1, schema.Condition{Pattern: new("Hello, Ada"), On: new(schema.PatternTargetScreen)})
		contains(t, h.call("read_shell", args{"pid": 1}, nil), "Enter your name: Ada\nHello, Ada")
		contains(t, h.fail("write_to_shell", args{"pid": 1}), "At least one of input or special_keys must be provided.")
	},
	"write_to_shell/special_keys": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		// Each key in turn, as a program sees it that reads them in its ordinary mode.
		h.call("run_shell_command", args{"command": "stty raw -echo; echo ready; exec od -An -tx1 -v -w1", "ai_callback_pattern": "ready"}, nil)
		want := map[string]string{
			"Enter": "0d", "Tab": "09", "Up": "1b 5b 41", "Down": "1b 5b 42", "Left": "1b 5b 44", "Right": "1b 5b 43", "Escape": "1b", "Backspace": "7f",
			"Ctrl-C": "03", "Ctrl-D": "04", "Ctrl-Z": "1a", "Space": "20", "Delete": "1b 5b 33 7e", "Home": "1b 5b 48", "End": "1b 5b 46",
		}
		if len(want) != len(specialKeys) {
			t.Errorf("%d keys of %d are tried", len(want), len(specialKeys))
		}
		expect := "58"
		h.call("write_to_shell", args{"pid": 1, "input": "X", "special_keys": specialKeys}, nil)
		for _, key := range specialKeys {
			expect += " " + want[key]
		}
		h.until(1, schema.Condition{Pattern: new(strings.Join(strings.Fields(expect), `\s+`))})
		contains(t, h.fail("write_to_shell", args{"pid": 1, "special_keys": []string{"Enter", "Entre"}}),
			"Error: Invalid special keys: Entre. Valid keys are: Enter, Tab, Up, Down, Left, Right, Escape, Backspace, Ctrl-C, Ctrl-D, Ctrl-Z, Space, Delete, Home, End")
	},
	"write_to_shell/confirmation": func(t *testing.T) {
		asked := &person{says: []string{"deny", "once"}}
		h := startHost(t, asked.options())
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
		h.fail("write_to_shell", args{"pid": 1, "input": "hi", "special_keys": []string{"Enter"}})
		h.call("write_to_shell", args{"pid": 1, "input": "hi", "special_keys": []string{"Enter"}}, nil)
		h.until(1, schema.Condition{Pattern: new("hi\\s+hi")})
		asked.expect(t, "Confirm Shell Input\n\nType this into process 1?\n\n    hi<Enter>", "hi<Enter>")
	},
	"execute_bash_command/command": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		got := h.call("execute_bash_command", args{"command": "echo out; echo err >&2; exit 5"}, nil)
		want := lines("Command: echo out; echo err >&2; exit 5", "Directory: (root)", "Stdout: out", "", "Stderr: err", "", "Error: (none)", "Exit Code: 5", "Signal: (none)", "Background PIDs: (none)")
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
		contains(t, h.call("execute_bash_command", args{"command": "kill -KILL $$"}, nil), "Stdout: (empty)", "Stderr: (empty)", "Exit Code: (none)", "Signal: SIGKILL")
		contains(t, h.call("execute_bash_command", args{"command": "[[ 1 < 2 ]] && read x || echo no input"}, nil), "Stdout: no input")
	},
	"execute_bash_command/description": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		h.call("execute_bash_command", args{"command": "sleep 1000 >/dev/null 2>&1 & true", "description": "a sleeper\nof mine"}, nil)
		var r jobsResult
		h.call("jobs", nil, &r)
		if len(r.Jobs) != 1 || r.Jobs[0].Description != "a sleeper of mine" {
			t.Errorf("%+v", r)
		}
	},
	"execute_bash_command/directory": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		if err := os.MkdirAll(filepath.Join(h.root, "a", "b"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"a/b", "./a/b"} {
			contains(t, h.call("execute_bash_command", args{"command": "pwd", "directory": dir}, nil), "Directory: "+dir+"\n", "Stdout: "+filepath.Join(h.root, "a", "b"))
		}
	},
	"execute_bash_command/validation": func(t *testing.T) {
		h := startHost(t, nil)
		for _, test := range []struct {
			a    args
			want string
		}{
			{args{"command": "  "}, "Command rejected:   \nReason: Command cannot be empty."},
			{args{"command": "ls\tx"}, "Command rejected: ls\tx\nReason: Command cannot contain any whitespace other than plain spaces."},
			{args{"command": "ls\nls"}, "Reason: Command cannot contain any whitespace other than plain spaces."},
			{args{"command": "ls\u00a0x"}, "Reason: Command cannot contain any whitespace other than plain spaces."},
			{args{"command": "; ls"}, "Reason: Could not identify command root to obtain permission from user."},
			{args{"command": "ls", "directory": "/tmp"}, "Reason: Directory cannot be absolute. Must be relative to the project root directory."},
			{args{"command": "ls", "directory": "nowhere"}, "Reason: Directory must exist."},
			{args{"command": 5}, "Command rejected: 5\nReason: Parameters failed schema validation."},
			{args{}, "Reason: Parameters failed schema validation."},
			{args{"command": "ls", "dir": "x"}, "Command rejected: ls\nReason: Parameters failed schema validation."},
		} {
			contains(t, h.fail("execute_bash_command", test.a), test.want)
		}
	},
	"execute_bash_command/background": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		var r bashResult
		got := h.call("execute_bash_command", args{"command": "sleep 1000 & sleep 1000 & echo $!"}, &r)
		if len(r.BackgroundPIDs) != 2 {
			t.Fatalf("%+v", r)
		}
		contains(t, got, "Background PIDs: "+numbers(r.BackgroundPIDs), "Stdout: "+r.Stdout)
		last, err := strconv.ParseInt(strings.TrimSpace(r.Stdout), 10, 64)
		if err != nil || !slices.Contains(r.BackgroundPIDs, last) { // The shell's own $! is one of them.
			t.Errorf("%q is not among %v", r.Stdout, r.BackgroundPIDs)
		}
		contains(t, h.call("kill", args{"handle": r.Handle}, nil), "terminated successfully")
	},
	"execute_bash_command/confirmation": func(t *testing.T) {
		asked := &person{says: []string{"deny", "always"}}
		h := startHost(t, asked.options())
		h.fail("execute_bash_command", args{"command": "touch there"})
		if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
			t.Error("it was run all the same")
		}
		// Always is for the same command root, as the seed's whitelist is.
		for range 2 {
			contains(t, h.call("execute_bash_command", args{"command": "touch there"}, nil), "Exit Code: 0")
		}
		asked.expect(t, "Confirm Shell Command\n\nRun this in "+h.root+"?\n\n    touch there", "touch there")
	},
	"CliGetPlatform": func(t *testing.T) {
		h := startHost(t, nil)
		var r cliPlatform
		got := h.call("CliGetPlatform", nil, &r)
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(got), &members); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"platform", "shell", "shellPath", "pathSeparator", "commandSeparator", "environmentPrefix", "features"} {
			if members[name] == nil {
				t.Errorf("there is no %s in %s", name, got)
			}
		}
		if r.Platform != runtime.GOOS || r.PathSeparator != "/" || !filepath.IsAbs(r.ShellPath) || filepath.Base(r.ShellPath) != r.Shell {
			t.Errorf("%+v", r)
		}
	},
	"CliRun/command": func(t *testing.T) {
		h := startHost(t, nil)
		var r cliRunResult
		h.call("CliRun", args{"command": "printf 'file1.txt\\nfile2.md'"}, &r)
		if r.Status != "success" || r.ExitCode == nil || *r.ExitCode != 0 || r.Stdout != "file1.txt\nfile2.md" || r.Stderr != "" || r.WorkingDirectory != h.root {
			t.Errorf("%+v", r)
		}
		h.call("CliRun", args{"command": "grep -Y x"}, &r)
		if r.Status != "error" || r.ExitCode == nil || *r.ExitCode == 0 || !strings.Contains(r.Stderr, "grep: ") {
			t.Errorf("%+v", r)
		}
		h.call("CliRun", args{"command": "gti status"}, &r)
		contains(t, r.Suggestion, "gti is not there. Near names are: git")
		h.call("CliRun", args{"command": "touch x && ./x"}, &r)
		contains(t, r.Suggestion, filepath.Join(h.root, "x")+" may not be executed")
		contains(t, h.fail("CliRun", args{"command": ""}), "command is empty")
	},
	"CliRun/workingDirectory": func(t *testing.T) {
		h := startHost(t, nil)
		if err := os.Mkdir(filepath.Join(h.root, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		var r cliRunResult
		h.call("CliRun", args{"command": "pwd", "workingDirectory": "sub"}, &r)
		if want := filepath.Join(h.root, "sub"); strings.TrimSpace(r.Stdout) != want || r.WorkingDirectory != want {
			t.Errorf("%+v", r)
		}
		h.call("CliRun", args{"command": "pwd"}, &r) // It is the next command's again.
		if strings.TrimSpace(r.Stdout) != h.root {
			t.Errorf("%+v", r)
		}
		contains(t, h.fail("CliRun", args{"command": "pwd", "workingDirectory": "nowhere"}), filepath.Join(h.root, "nowhere"))
	},
	"CliRun/timeout": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("CliRun", "timeout", 30.0)
		var r cliRunResult
		// Not a second: the shell has to have printed by then, however slow the machine is.
		h.call("CliRun", args{"command": "echo partial; exec sleep 1000", "timeout": 3}, &r)
		if r.Status != "timeout" || r.ExitCode != nil || r.Stdout != "partial\n" || r.Suggestion != timeoutSuggestion || r.Duration < 3 {
			t.Errorf("%+v", r)
		}
		contains(t, h.call("jobs", nil, nil), "No running background processes.")
	},
	"CliRun/captureStderr": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("CliRun", "captureStderr", true)
		var r cliRunResult
		h.call("CliRun", args{"command": "echo out; echo err >&2"}, &r)
		if r.Stdout != "out\n" || r.Stderr != "err\n" {
			t.Errorf("%+v", r)
		}
		h.call("CliRun", args{"command": "echo out; echo err >&2", "captureStderr": false}, &r)
		if r.Stdout != "out\n" || r.Stderr != "" {
			t.Errorf("%+v", r)
		}
	},
	"CliSession/command": func(t *testing.T) {
		h := startHost(t, nil)
		var r cliSessionResult
		got := h.call("CliSession", args{"command": "read -p 'Continue? [y/N] ' x; echo \"<$x>\""}, &r)
		if r.Status != "started" || r.InitialOutput != "Continue? [y/N] " || !r.WaitingForInput || !r.IsRunning || r.Hint != sessionHint || !regexp.MustCompile(`^session-[0-9a-f]{8}$`).MatchString(r.SessionID) {
			t.Errorf("%s", got)
		}
		// Without, it is the shell.
		h.call("CliSession", nil, &r)
		if !r.IsRunning || r.Shell == "" || r.PID == 0 || r.InitialOutput == "" {
			t.Errorf("%+v", r)
		}
		h.call("CliSession", args{"command": "gti"}, &r)
		if r.IsRunning || !strings.Contains(r.Hint, "Near names are: git") {
			t.Errorf("%+v", r)
		}
	},
	"CliSession/workingDirectory": func(t *testing.T) {
		h := startHost(t, nil)
		if err := os.Mkdir(filepath.Join(h.root, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		var r cliSessionResult
		h.call("CliSession", args{"command": "pwd; cat", "workingDirectory": "sub"}, &r)
		if want := filepath.Join(h.root, "sub"); r.WorkingDirectory != want || !strings.HasPrefix(r.InitialOutput, want) {
			t.Errorf("%+v", r)
		}
	},
	"CliSession/sessionId": func(t *testing.T) {
		h := startHost(t, nil)
		var r cliSessionResult
		h.call("CliSession", args{"command": "cat", "sessionId": "mine"}, &r)
		if r.SessionID != "mine" {
			t.Errorf("%+v", r)
		}
		contains(t, h.fail("CliSession", args{"command": "cat", "sessionId": "mine"}), `A session "mine" is running`, "- mine (pid ")
		h.call("CliStop", args{"sessionId": "mine"}, nil)
		h.call("CliSession", args{"command": "cat", "sessionId": "mine"}, nil) // It is free again.
		// The seed takes any, and so do all tools that take one.
		for _, id := range []string{"not mine", "550e8400-e29b-41d4-a716-446655440000", "4711", "a/b?c", "ünïcödé", strings.Repeat("x", maxSessionID), nameOf("not mine")} {
			h.call("CliSession", args{"command": "cat", "sessionId": id}, &r)
			if r.SessionID != id {
				t.Errorf("%q: %+v", id, r)
			}
			contains(t, h.fail("CliSession", args{"command": "cat", "sessionId": id}), fmt.Sprintf("A session %q is running", id), "- "+id+" (pid ")
			var w cliWriteResult
			if h.call("CliWrite", args{"sessionId": id, "input": "x{enter}"}, &w); w.SessionID != id {
				t.Errorf("%q: %+v", id, w)
			}
			if res, err := h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: "shelld://job/" + url.PathEscape(id) + "/stdout"}); id != "4711" && (err != nil || !strings.HasPrefix(res.Contents[0].Text, "x\n")) {
				t.Errorf("%q: %v, %v", id, res, err)
			}
		}
		for _, id := range []string{"a\nb", "\x1b[2K", strings.Repeat("x", maxSessionID+1)} {
			contains(t, h.fail("CliSession", args{"command": "cat", "sessionId": id}), "will not do: it has up to 128 characters, and no control characters among them.")
		}
	},
	"CliSession/env": func(t *testing.T) {
		h := startHost(t, nil)
		var r cliSessionResult
		h.call("CliSession", args{"command": "echo $A-$B; cat", "env": map[string]string{"A": "one", "B": "two"}}, &r)
		contains(t, r.InitialOutput, "one-two")
	},
	"CliRead/sessionId": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("CliSession", args{"command": "cat", "sessionId": "c"}, nil)
		contains(t, h.fail("CliRead", args{"sessionId": "d"}), `There is no session "d".`, "- c (pid ")
		var w cliWriteResult
		h.call("CliWrite", args{"sessionId": "c", "input": "one{enter}"}, &w)
		var r cliReadResult
		// What was told is not told again.
		h.call("CliRead", args{"sessionId": "c"}, &r)
		if r.Output != "" || !r.IsRunning || !r.WaitingForInput || r.HasMore {
			t.Errorf("%+v", r)
		}
		h.call("CliStop", args{"sessionId": "c"}, nil)
		h.call("CliRead", args{"sessionId": "c"}, &r) // It can still be read.
		if r.IsRunning {
			t.Errorf("%+v", r)
		}
	},
	"CliRead/timeout": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("CliRead", "timeout", 5.0)
		h.call("CliSession", args{"command": "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second; cat", "sessionId": "c"}, nil)
		h.until(1, schema.Condition{Pattern: new("first")})
		var r cliReadResult
		begun := time.Now()
		h.call("CliRead", args{"sessionId": "c", "timeout": 0.3}, &r)
		if r.Output == "" { // CliSession has told it: then this one has waited for more.
			if took := time.Since(begun); took < 300*time.Millisecond || !r.IsRunning || r.WaitingForInput {
				t.Errorf("after %v: %+v", took, r)
			}
		}
		if err := os.WriteFile(filepath.Join(h.root, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		h.call("CliRead", args{"sessionId": "c", "timeout": 50}, &r)
		contains(t, r.Output, "second")
	},
	"CliRead/maxBytes": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("CliRead", "maxBytes", 65536.0)
		h.call("CliSession", args{"command": "read x; seq 1 100; exec cat", "sessionId": "c"}, nil)
		h.typed(1, "") // No tool has told what comes of it.
		h.until(1, schema.Condition{Pattern: new("\\n100\\r?\\n"), On: new(schema.PatternTargetRaw)})
		var all strings.Builder
		for more := true; more; {
			var r cliReadResult
			h.call("CliRead", args{"sessionId": "c", "maxBytes": 50}, &r)
			if len(r.Output) > 50 {
				t.Errorf("%d bytes: %q", len(r.Output), r.Output)
			}
			all.WriteString(r.Output)
			more = r.HasMore
		}
		if got := all.String(); !strings.HasSuffix(got, "99\n100\n") {
			t.Errorf("%q", got)
		}
	},
	"CliRead/waitingForInput": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("CliSession", args{"command": "while [ ! -e go ]; do sleep 0.05; done; read -p 'Do you want to continue? [y/N] ' x", "sessionId": "c"}, nil)
		if err := os.WriteFile(filepath.Join(h.root, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		h.until(1, onInput)
		var r cliReadResult
		h.call("CliRead", args{"sessionId": "c", "timeout": 50}, &r)
		if r.Output != "Do you want to continue? [y/N] " || !r.WaitingForInput || !r.IsRunning {
			t.Errorf("%+v", r)
		}
	},
	"CliWrite/sessionId": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("CliSession", args{"command": "read x; exit 3", "sessionId": "c"}, nil)
		contains(t, h.fail("CliWrite", args{"sessionId": "d", "input": "x"}), `There is no session "d".`, "- c (pid ")
		var r cliWriteResult
		h.call("CliWrite", args{"sessionId": "c", "input": "{enter}"}, &r)
		if r.Status != "sent" || r.IsRunning || r.ExitCode == nil || *r.ExitCode != 3 {
			t.Errorf("%+v", r)
		}
		contains(t, h.fail("CliWrite", args{"sessionId": "c", "input": "x"}), `The session "c" has ended`, "It has exited with code 3.")
	},
	"CliWrite/input": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("CliSession", args{"sessionId": "sh", "env": map[string]string{"PS1": "$ "}}, nil)
		for _, test := range []struct{ input, want string }{
			{"echo a{enter}", "a\n"},
			{"echo b\n", "b\n"},
			{"echo c; cd /{enter}", "c\n"},
			{"pwd{enter}", "/\n"},       // The directory stays.
			{"{up}{enter}", "pwd\n/\n"}, // What comes back in the place of a key is no echo.
			{"echo {{x}{enter}", "{x}\n"},
			{"echo ab{left}{backspace}{enter}", "b\n"},
			{"sleep 1000", ""}, // No Enter is added.
			{"{ctrl+c}", "\n"},
			{"cat{enter}", ""},
			{"fed{enter}", "fed\n"},
			{"{ctrl+c}", "\n"},
			{"echo after $?{enter}", "after 130\n"},
		} {
			var r cliWriteResult
			h.call("CliWrite", args{"sessionId": "sh", "input": test.input, "timeout": 50}, &r)
			got := strings.TrimPrefix(r.ResponseOutput, "^C") // which some line editors show, and some not
			if !strings.HasPrefix(got, test.want) || test.want == "" && r.ResponseOutput != "" || !r.WaitingForInput || r.Status != "sent" {
				t.Errorf("%s: %+v", test.input, r)
			}
		}
		contains(t, h.fail("CliWrite", args{"sessionId": "sh", "input": "{entre}"}), `"{entre}", which is no key`, "{enter}, {tab}", "nothing was sent")
		contains(t, h.fail("CliWrite", args{"sessionId": "sh", "input": "a{"}), "never closed")
	},
	"CliWrite/listening": func(t *testing.T) {
		needProgram(t, "python3")
		h := startHost(t, nil)
		// It takes input while it looks after a timer, as a dev server does with a menu of keys.
		h.call("CliSession", args{"sessionId": "c", "command": `exec python3 -u -c '
import select, sys
print("ready")
while True:
    if select.select([sys.stdin], [], [], 0.05)[0]:
        print("took " + sys.stdin.readline().strip())
'`}, nil)
		h.until(1, schema.Condition{Pattern: new("ready")})
		var r cliWriteResult
		h.call("CliWrite", args{"sessionId": "c", "input": "this{enter}", "timeout": 3600}, &r) // It does not wait for so long.
		if !r.IsRunning || r.WaitingForInput {                                                  // It does not only wait for input.
			t.Errorf("%+v", r)
		}
		// What it answers is told, by this call or, where the machine is slow, by the next; and once.
		told := r.ResponseOutput
		for !strings.HasSuffix(told, "took this\n") {
			var more cliReadResult
			h.call("CliRead", args{"sessionId": "c"}, &more)
			if told += more.Output; !more.IsRunning {
				t.Fatalf("it has ended with %q", told)
			}
		}
		if strings.Count(told, "took this") != 1 {
			t.Errorf("%q", told)
		}
	},
	"CliWrite/timeout": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("CliWrite", "timeout", 5.0)
		h.call("CliSession", args{"command": "read x; sleep 1000", "sessionId": "c"}, nil)
		begun := time.Now()
		var r cliWriteResult
		h.call("CliWrite", args{"sessionId": "c", "input": "{enter}", "timeout": 0.3}, &r)
		if took := time.Since(begun); took < 300*time.Millisecond || !r.IsRunning || r.WaitingForInput {
			t.Errorf("after %v: %+v", took, r)
		}
	},
	"CliStop/sessionId": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("CliSession", args{"command": "trap 'echo Goodbye!; exit 7' TERM; echo ready; while :; do sleep 0.05; done", "sessionId": "c"}, nil)
		h.until(1, schema.Condition{Pattern: new("ready")})
		var r cliStopResult
		h.call("CliStop", args{"sessionId": "c"}, &r)
		if r.Status != "stopped" || r.ExitCode == nil || *r.ExitCode != 7 || !strings.HasSuffix(r.FinalOutput, "Goodbye!\n") {
			t.Errorf("%+v", r)
		}
		h.call("CliStop", args{"sessionId": "c"}, &r) // Nothing is wrong with saying it twice.
		if r.Status != "stopped" || r.ExitCode == nil || *r.ExitCode != 7 {
			t.Errorf("%+v", r)
		}
		contains(t, h.fail("CliStop", args{"sessionId": "d"}), `There is no session "d".`)
	},
	"CliStop/force": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("CliStop", "force", false)
		h.call("CliSession", args{"command": "trap '' TERM; echo ready; while :; do sleep 0.05; done", "sessionId": "c"}, nil)
		h.until(1, schema.Condition{Pattern: new("ready")})
		var r cliStopResult
		h.call("CliStop", args{"sessionId": "c"}, &r)
		if r.Status != "running" || !strings.Contains(r.Suggestion, "force=true") {
			t.Errorf("%+v", r)
		}
		h.call("CliStop", args{"sessionId": "c", "force": true}, &r)
		if r.Status != "stopped" || r.Signal != "SIGKILL" || r.ExitCode != nil {
			t.Errorf("%+v", r)
		}
	},
	"CliEnv/action": func(t *testing.T) {
		h := startHost(t, nil)
		for _, test := range []struct {
			a    args
			want string
		}{
			{args{"action": "gett"}, "action is one of get, set, list, unset"},
			{args{"action": "get"}, "get needs name"},
			{args{"action": "unset"}, "unset needs name"},
			{args{"action": "set", "name": "X"}, "set needs value"},
			{args{}, "action is missing"},
		} {
			contains(t, h.fail("CliEnv", test.a), test.want)
		}
		var r cliEnvResult
		h.call("CliEnv", args{"action": "list"}, &r)
		if r.Count == nil || int(*r.Count) != len(r.Variables) || r.Variables["PATH"] == nil || r.Variables["ADDED"] != nil {
			t.Errorf("%+v", r)
		}
		before := *r.Count
		for _, step := range []struct {
			a     args
			count int64
		}{
			{args{"action": "set", "name": "ADDED", "value": "by hand"}, before + 1},
			{args{"action": "set", "name": "ADDED", "value": "again"}, before + 1},
			{args{"action": "get", "name": "ADDED"}, before + 1},
			{args{"action": "unset", "name": "ADDED"}, before},
		} {
			h.call("CliEnv", step.a, nil)
			r = cliEnvResult{}
			if h.call("CliEnv", args{"action": "list"}, &r); *r.Count != step.count || (r.Variables["ADDED"] != nil) != (step.count > before) {
				t.Errorf("after %v: %d variables, not %d", step.a, *r.Count, step.count)
			}
		}
	},
	"CliEnv/name": func(t *testing.T) {
		h := startHost(t, nil)
		var r cliEnvResult
		h.call("CliEnv", args{"action": "get", "name": "PATH"}, &r)
		if r.Name != "PATH" || r.Value == nil || *r.Value == "" || r.Source != "global" {
			t.Errorf("%+v", r)
		}
		r = cliEnvResult{}
		h.call("CliEnv", args{"action": "get", "name": "NOT_THERE"}, &r)
		if r.Value != nil || r.Source != "none" {
			t.Errorf("%+v", r)
		}
	},
	"CliEnv/value": func(t *testing.T) {
		h := startHost(t, nil)
		var r cliEnvResult
		h.call("CliEnv", args{"action": "set", "name": "MY_VAR", "value": "hello"}, &r)
		if r.Status != "set" || r.Name != "MY_VAR" || r.Value == nil || *r.Value != "hello" || r.Scope != "global" {
			t.Errorf("%+v", r)
		}
		var run cliRunResult
		h.call("CliRun", args{"command": "echo $MY_VAR"}, &run)
		contains(t, run.Stdout, "hello")
		h.call("CliEnv", args{"action": "unset", "name": "MY_VAR"}, &r)
		if r.Status != "unset" || r.Scope != "global" {
			t.Errorf("%+v", r)
		}
		h.call("CliRun", args{"command": "echo [$MY_VAR]"}, &run)
		contains(t, run.Stdout, "[]")
	},
	"CliEnv/sessionId": func(t *testing.T) {
		h := startHost(t, nil)
		var s cliSessionResult
		h.call("CliSession", args{"sessionId": "sh"}, &s)
		h.until(1, onInput)
		var r cliEnvResult
		h.call("CliEnv", args{"action": "set", "name": "MY_VAR", "value": "here", "sessionId": "sh"}, &r)
		if r.Scope != "session" {
			t.Errorf("%+v", r)
		}
		h.call("CliEnv", args{"action": "get", "name": "MY_VAR", "sessionId": "sh"}, &r)
		if r.Value == nil || *r.Value != "here" || r.Source != "session" {
			t.Errorf("%+v", r)
		}
		var run cliRunResult
		h.call("CliRun", args{"command": "echo [$MY_VAR]"}, &run) // Elsewhere it is not.
		contains(t, run.Stdout, "[]")
		contains(t, h.fail("CliEnv", args{"action": "list", "sessionId": "no"}), `There is no session "no".`)
		h.call("CliSession", args{"command": "cat", "sessionId": "c"}, nil)
		for _, a := range []args{{"action": "set", "name": "A", "value": "b", "sessionId": "c"}, {"action": "unset", "name": "A", "sessionId": "c"}} {
			contains(t, h.fail("CliEnv", a), "the environment of job 3 cannot be changed any more", "start another job with env")
		}
	},
}

func TestSeeds(t *testing.T) {
	for name, test := range seedTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// hasDefault looks at what the host is told of a parameter; nil: it has none.
func (h *host) hasDefault(tool, param string, want any) {
	h.t.Helper()
	for tl, err := range h.session.Tools(h.ctx, nil) {
		if err != nil {
			h.t.Fatal(err)
		}
		if tl.Name != tool {
			continue
		}
		var s struct {
			Properties map[string]struct{ Default any }
			Required   []string
		}
		if err := json.Unmarshal(encode(tl.InputSchema), &s); err != nil {
			h.t.Fatal(err)
		}
		p, there := s.Properties[param]
		if !there || p.Default != want {
			h.t.Errorf("the default of %s of %s is %v, not %v", param, tool, p.Default, want)
		}
		return
	}
	h.t.Fatalf("there is no tool %s", tool)
}

// A person is asked by the host, and says what was written down for him.
type person struct {
	says  []string
	asked []string
}

func (p *person) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		p.asked = append(p.asked, req.Params.Message)
		if len(p.says) == 0 {
			return &mcp.ElicitResult{Action: "cancel"}, nil
		}
		said := p.says[0]
		p.says = p.says[1:]
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": said}}, nil
	}}
}

// expect fails unless the person was asked these, of which each question has its part.
func (p *person) expect(t *testing.T, want ...string) {
	t.Helper()
	if len(p.asked) != len(want) {
		t.Fatalf("%d questions, not %d: %q", len(p.asked), len(want), p.asked)
	}
	for i, w := range want {
		contains(t, p.asked[i], w)
	}
}
