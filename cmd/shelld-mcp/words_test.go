package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestWrongParams sends invalid parameters: each error contains the tool's own name of the parameter, its value, and
// the valid values.
func TestWrongParams(t *testing.T) {
	h := startHost(t, nil, "-tools", "all", "-confirm", "none")
	h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
	const whole = ": give the Handle or PID that run_shell_command or jobs has returned"
	for _, test := range []struct {
		tool, args, want string
	}{
		{"send_input", `{"handle":1.5,"input":"x"}`, "handle must be a whole number, not 1.5" + whole},
		{"send_input", `{"handle":9007199254740993,"input":"x"}`, "handle must be a whole number of at most 9007199254740991, not 9007199254740993" + whole},
		{"send_input", `{"handle":4503599627370496.5,"input":"x"}`, "handle must be a whole number, not 4503599627370496.5" + whole},
		{"send_input", `{"handle":1e300,"input":"x"}`, "handle must be a whole number of at most 9007199254740991, not 1e300" + whole},
		{"send_input", `{"handle":1e-999999999,"input":"x"}`, "handle must be 1 or more, not 1e-999999999"},
		{"send_input", `{"handle":0,"input":"x"}`, "handle must be 1 or more, not 0"},
		{"send_input", `{"handle":"1","input":"x"}`, `handle must be a number, and "1" is a string`},
		{"send_input", `{"handle":1}`, "input is missing"},
		{"send_input", `{"handle":1,"input":null}`, "input is null: the tool needs it, as a string"},
		{"read_shell", `{"pid":null}`, "pid is null: the tool needs it, as a number"},
		{"run_shell_command", `{"command":"x","description":null}`, "description is null: give a string, or leave it out"},
		{"CliSession", `{"env":{"":"x"}}`, "env has a member without a name: give it one, or leave it out"},
		{"send_input", `[]`, "the arguments have to be an object"},
		{"kill", `{"handle":9007199254740993}`, "handle must be a whole number of at most 9007199254740991"},
		{"kill", `{"handle":-1}`, "handle must be 1 or more, not -1"},
		{"read_shell", `{"pid":-1}`, "PID must be a positive number."},
		{"read_shell", `{"pid":2.5}`, "pid must be a whole number, not 2.5" + whole},
		{"write_to_shell", `{"pid":0,"input":"x"}`, "PID must be a positive number."},
		{"write_to_shell", `{"pid":18446744073709551616,"input":"x"}`, "pid must be a whole number of at most 9007199254740991, not 18446744073709551616" + whole},
		{"write_to_shell", `{"pid":1,"special_keys":["Enter",5]}`, "special_keys item 2 must be a string, and 5 is a number"},
		{"write_to_shell", `{"pid":1,"special_keys":"Enter"}`, `special_keys must be a list, and "Enter" is a string`},
		{"run_shell_command", `{"command":5}`, "command must be a string, and 5 is a number"},
		{"run_shell_command", `{"command":"x","is_background":"yes"}`, `is_background must be true or false, and "yes" is a string`},
		{"run_shell_command", `{"command":"x","ai_callback_delay":-1}`, "ai_callback_delay must be 0 or more, not -1"},
		{"run_shell_command", `{"command":"x","ai_callback_delay":1e999}`, "ai_callback_delay is too large a number: 1e999"},
		{"run_shell_command", `{"command":"x","max_output_size":1.5}`, "max_output_size must be a whole number, not 1.5"},
		{"run_shell_command", `{"command":"x","max_output_size":1e30}`, "max_output_size must be a whole number of at most 9007199254740991, not 1e30"},
		{"run_shell_command", `{"command":"x","description":"` + strings.Repeat("é", maxDescription+1) + `"}`, "description may have at most 4096 characters, and has 4097: shorten it"},
		{"CliSession", `{"env":{"A":1}}`, `env member "A" must be a string, and 1 is a number`},
		{"CliSession", `{"env":["A"]}`, `env must be an object, and ["A"] is a list`},
	} {
		got := h.raw(test.tool, test.args)
		contains(t, got, test.want)
		if strings.Contains(got, "validating") || strings.Contains(got, "Go ") {
			t.Errorf("%s %s: %s", test.tool, test.args, got)
		}
	}
	for _, size := range []string{"10000", "10000.0", "1e4", " 100000e-1 "} {
		if got := h.raw("run_shell_command", `{"command":"echo whole","max_output_size":`+size+`}`); !strings.Contains(got, "Output: whole") {
			t.Errorf("max_output_size %s: %s", size, got)
		}
	}
	// In JSON these are the same number.
	for _, handle := range []string{"1", "1.0", "1e0", "10e-1"} {
		if got := h.raw("send_input", `{"handle":`+handle+`,"input":"x","ai_callback_delay":0}`); strings.Contains(got, "handle") {
			t.Errorf("handle %s: %s", handle, got)
		}
	}
}

// protocolWords matches words that a model does not know. It includes the names of parameters that all tools call
// otherwise.
var protocolWords = regexp.MustCompile(`\b(timeoutMs|graceMs|quietMs|maxMatches|ifBusy|initialize|argv|limits\.|options\.|data\.|capabilities|keepJobs|pty mode|pipe mode|allowCommands|denyCommands|allowedDirectories)|\b(job|env|client)/[a-z]+|"mode"|"stdin"`)

// TestRefusals makes calls that the server rejects: each error uses the tool's own names, and suggests tools and flags.
func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, test := range map[string]struct {
		flags  []string
		before func(*host)
		tool   string
		args   args
		want   string
	}{
		"dir_path":               {tool: "run_shell_command", args: args{"command": "pwd", "dir_path": "cwd"}, want: "give an existing directory as dir_path"},
		"directory":              {tool: "execute_bash_command", args: args{"command": "pwd", "directory": "file"}, want: "give an existing directory as directory"},
		"workingDirectory":       {tool: "CliRun", args: args{"command": "pwd", "workingDirectory": "no"}, want: "give an existing directory as workingDirectory"},
		"session's directory":    {tool: "CliSession", args: args{"workingDirectory": "no"}, want: "give an existing directory as workingDirectory"},
		"cwd":                    {tool: "shell", args: args{"command": "pwd", "cwd": "no"}, want: "give an existing directory as cwd"},
		"ai_callback_pattern":    {tool: "run_shell_command", args: args{"command": "cat", "ai_callback_pattern": "("}, want: "ai_callback_pattern is not an ECMAScript regular expression"},
		"send_input's pattern":   {before: cat, tool: "send_input", args: args{"handle": 1, "input": "", "ai_callback_pattern": "("}, want: "ai_callback_pattern is not an ECMAScript regular expression"},
		"pattern":                {tool: "shell", args: args{"command": "cat", "pattern": "("}, want: "pattern is not an ECMAScript regular expression"},
		"find":                   {before: cat, tool: "shell_output", args: args{"job": "1", "find": "("}, want: "find is not an ECMAScript regular expression"},
		"max_matches":            {before: cat, tool: "shell_output", args: args{"job": "1", "find": "x", "max_matches": 1 << 40}, want: "max_matches: "},
		"input to pipes":         {before: onPipes, tool: "send_input", args: args{"handle": 1, "input": "x"}, want: "start it with run_shell_command, CliSession or shell to type into it"},
		"its screen":             {before: onPipes, tool: "read_shell", args: args{"pid": 1}, want: "has no terminal and therefore no screen; its output is in the answer of the tool that has started it"},
		"port":                   {tool: "shell", args: args{"command": "cat", "port": 70000}, want: "port: "},
		"a key between braces":   {before: cat, tool: "CliWrite", args: args{"sessionId": "s", "input": "{f99}"}, want: `input has "F99", which is not a key; nothing was sent.`},
		"keys":                   {before: cat, tool: "shell", args: args{"job": "1", "keys": []string{"Entre"}}, want: `keys has "Entre", which is not a key; nothing was sent. Did you mean "Enter"?`},
		"command":                {tool: "run_shell_command", args: args{"command": "a\x00b"}, want: "command: expected text without NUL characters"},
		"env":                    {tool: "CliSession", args: args{"env": map[string]string{"A": "\x00"}}, want: "env, A: expected text without NUL characters"},
		"CliEnv's name":          {tool: "CliEnv", args: args{"action": "set", "name": "A=B", "value": ""}, want: "name: expected the name of an environment variable"},
		"PWD":                    {tool: "CliEnv", args: args{"action": "set", "name": "PWD", "value": "/"}, want: "give workingDirectory to its start instead"},
		"a line that is long":    {before: cat, tool: "send_input", args: args{"handle": 1, "input": long}, want: "put it into a file that the program reads"},
		"much input":             {before: cat, tool: "write_to_shell", args: args{"pid": 1, "input": strings.Repeat(long[:1000]+"\n", 1100)}, want: "over what may wait for a program to read it"},
		"-allow-command":         {flags: []string{"-allow-command", "ls"}, tool: "CliRun", args: args{"command": "id"}, want: "id, which is not in -allow-command of shelld-mcp"},
		"-deny-command":          {flags: []string{"-deny-command", "id"}, tool: "run_shell_command", args: args{"command": "id"}, want: "id, which -deny-command of shelld-mcp forbids"},
		"what cannot be known":   {flags: []string{"-deny-command", "id"}, tool: "shell", args: args{"command": "$x"}, want: "-deny-command of shelld-mcp refuses it"},
		"-allow-dir":             {flags: []string{"-allow-dir", "."}, tool: "CliRun", args: args{"command": "pwd", "workingDirectory": "/"}, want: "have shelld-mcp started with it as -allow-dir"},
		"-max-jobs":              {flags: []string{"-max-jobs", "1"}, before: cat, tool: "CliRun", args: args{"command": "true"}, want: "have shelld-mcp started with a higher -max-jobs"},
		"a long command":         {tool: "CliRun", args: args{"command": "echo " + strings.Repeat("x", 200000)}, want: "or put the long part into a file, and name that"},
		"a shell that is busy":   {before: busyShell, tool: "CliEnv", args: args{"action": "get", "name": "A", "sessionId": "s"}, want: "interrupt it with {ctrl+c} of CliWrite"},
		"a job without terminal": {before: onPipes, tool: "shell", args: args{"job": "1", "keys": []string{"Enter"}, "wait": "none"}, want: "start it with run_shell_command, CliSession or shell"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHost(t, nil, append(test.flags, "-tools", "all", "-confirm", "none")...)
			if err := os.WriteFile(filepath.Join(h.root, "file"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if test.before != nil {
				test.before(h)
			}
			got := h.fail(test.tool, test.args)
			contains(t, got, test.want)
			if word := protocolWords.FindString(got); word != "" {
				t.Errorf("%q is a word of the protocol's: %s", word, got)
			}
		})
	}
}

func cat(h *host) { h.call("CliSession", args{"command": "cat", "sessionId": "s"}, nil) }

func busyShell(h *host) {
	h.call("CliSession", args{"sessionId": "s"}, nil)
	h.until(1, onInput)
	h.typed(1, "read x")
	h.call("CliWrite", args{"sessionId": "s", "input": "", "timeout": 50}, nil)
}

// onPipes starts a job without a terminal, as CliRun does.
func onPipes(h *host) {
	p := schema.JobStartParams{Command: new("sleep 1000"), Mode: new(schema.ModePipe)}
	if err := h.front.ask(h.ctx, "job/start", p, nil); err != nil {
		h.t.Fatal(err)
	}
}

// TestForgottenNames calls each tool with a job that the server has forgotten.
func TestForgottenNames(t *testing.T) {
	h := startHost(t, nil, "-tools", "all", "-confirm", "none")
	h.call("shell", args{"command": "true", "name": "s", "wait": "exit"}, nil)
	h.until(1, schema.Condition{Closed: new(true)})
	if err := h.front.ask(h.ctx, "job/remove", schema.JobRemoveParams{Handle: handleID(1)}, nil); err != nil {
		t.Fatal(err)
	}
	for tool, a := range map[string]args{
		"shell": {"job": "s"}, "shell_output": {"job": "1"}, "shell_end": {"job": "1"}, "send_input": {"handle": 1, "input": "x"},
		"read_shell": {"pid": 1}, "write_to_shell": {"pid": 1, "input": "x"},
	} {
		if got := h.fail(tool, a); protocolWords.MatchString(got) || strings.Contains(got, "forgotten beyond") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// TestInputHeld translates the error for input to a job whose input another client of the session holds.
func TestInputHeld(t *testing.T) {
	for data, want := range map[string]string{
		`{"handle":3,"holder":"client-2"}`:                                           "only client-2 may type into job 3, which it has started or taken over; nothing was typed. Read the output",
		`{"handle":3,"holder":"client-2","clientInfo":{"name":"nvim"},"human":true}`: "a person at nvim (client-2) is typing into job 3; nothing was typed.",
		`{"handle":3,"holder":"ada","clientInfo":{"version":"1"}}`:                   "only ada may type into job 3",
		`{"handle":3,"holder":"ada","away":true}`:                                    "only ada may type into job 3, which it has started or taken over, and it is not there now; nothing was typed. Ask the user",
		`{}`: "as the server says it",
	} {
		err := explained("shell", &client.Error{Kind: schema.KindInputHeld, ErrorObject: schema.ErrorObject{Message: "as the server says it", Data: json.RawMessage(data)}})
		contains(t, err.Error(), want)
		lacks(t, err.Error(), "job/takeInput")
	}
}
