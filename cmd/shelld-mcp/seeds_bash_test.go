package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bashSeeds are the tests of execute_bash_command.
var bashSeeds = map[string]func(*testing.T){
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
		if err != nil || !slices.Contains(r.BackgroundPIDs, last) { // It includes the shell's own $!.
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
}
