package main

import (
	"strings"
	"testing"
)

// TestUnknownParam calls tools with names that other tools have for their parameters.
func TestUnknownParam(t *testing.T) {
	h := startHost(t, nil, "-tools", "all")
	for _, test := range []struct{ tool, name, meant string }{
		{"run_shell_command", "cmd", "command"},
		{"run_shell_command", "comand", "command"},
		{"run_shell_command", "cwd", "dir_path"},
		{"run_shell_command", "working_directory", "dir_path"},
		{"run_shell_command", "timeout", "ai_callback_delay"},
		{"run_shell_command", "pattern", "ai_callback_pattern"},
		{"run_shell_command", "run_in_background", "is_background"},
		{"send_input", "pid", "handle"},
		{"send_input", "text", "input"},
		{"kill", "pid", "handle"},
		{"read_shell", "handle", "pid"},
		{"write_to_shell", "job", "pid"},
		{"write_to_shell", "keys", "special_keys"},
		{"CliRun", "cwd", "workingDirectory"},
		{"CliRun", "captureStdErr", "captureStderr"},
		{"CliSession", "dir_path", "workingDirectory"},
		{"CliRead", "session_id", "sessionId"},
		{"CliRead", "handle", "sessionId"},
		{"CliWrite", "text", "input"},
		{"shell", "cmd", "command"},
		{"shell", "handle", "job"},
		{"shell", "workingDirectory", "cwd"},
		{"shell", "timeout", "timeout_seconds"},
		{"shell_output", "pattern", "find"},
		{"shell_end", "pid", "job"},
		{"CliRun", "pid", ""}, // There is no similar parameter.
		{"jobs", "handle", ""},
	} {
		got := h.fail(test.tool, args{test.name: 1})
		after := `"; did you mean "` + test.meant + `"? The parameters are `
		switch {
		case test.tool == "jobs":
			after = `": the tool takes none.`
		case test.meant == "":
			after = `". The parameters are `
		}
		if want := `there is no parameter "` + test.name + after; !strings.Contains(got, want) || !strings.HasSuffix(got, ".") {
			t.Errorf("%s %s: %s", test.tool, test.name, got)
		}
	}
}
