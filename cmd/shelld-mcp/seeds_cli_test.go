package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// cliSeeds are the tests of the tools without a session in the CLI Tools Specification.
var cliSeeds = map[string]func(*testing.T){
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
		contains(t, r.Suggestion, "gti was not found. Similar names: git")
		h.call("CliRun", args{"command": "touch x && ./x"}, &r)
		contains(t, r.Suggestion, filepath.Join(h.root, "x")+" cannot be executed")
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
		h.call("CliRun", args{"command": "pwd"}, &r) // The next command starts in the root again.
		if strings.TrimSpace(r.Stdout) != h.root {
			t.Errorf("%+v", r)
		}
		contains(t, h.fail("CliRun", args{"command": "pwd", "workingDirectory": "nowhere"}), filepath.Join(h.root, "nowhere"))
	},
	"CliRun/timeout": func(t *testing.T) {
		h := startHost(t, nil)
		h.hasDefault("CliRun", "timeout", 30.0)
		var r cliRunResult
		// One second would be too short: the shell must have printed by then, even on a slow machine.
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
		h.call("CliRun", args{"command": "echo [$MY_VAR]"}, &run) // It is not set for other commands.
		contains(t, run.Stdout, "[]")
		contains(t, h.fail("CliEnv", args{"action": "list", "sessionId": "no"}), `There is no session "no".`)
		h.call("CliSession", args{"command": "cat", "sessionId": "c"}, nil)
		for _, a := range []args{{"action": "set", "name": "A", "value": "b", "sessionId": "c"}, {"action": "unset", "name": "A", "sessionId": "c"}} {
			contains(t, h.fail("CliEnv", a), "the environment of job 3 cannot be changed: a program's environment is fixed at its start", "start another job with env")
		}
	},
}
