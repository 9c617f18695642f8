package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// opened starts a session that waits for input. It returns the answer of CliSession, and all output until the session
// waits: CliSession answers after a fixed time, and on a busy machine a shell may take longer to print its first
// prompt.
func (h *host) opened(a args) (r cliSessionResult, wrote string) {
	h.t.Helper()
	h.call("CliSession", a, &r)
	wrote = r.InitialOutput
	for waits := r.WaitingForInput; !waits; {
		var more cliReadResult
		h.call("CliRead", args{"sessionId": r.SessionID}, &more)
		if wrote += more.Output; !more.IsRunning {
			h.t.Fatalf("the session has ended before it waits for input; it wrote %q", wrote)
		}
		waits = more.WaitingForInput
	}
	return r, wrote
}

// sessionSeeds are the tests of the tools with sessions: CliSession, CliRead, CliWrite and CliStop.
var sessionSeeds = map[string]func(*testing.T){
	"CliSession/command": func(t *testing.T) {
		h := startHost(t, nil)
		r, wrote := h.opened(args{"command": "read -p 'Continue? [y/N] ' x; echo \"<$x>\""})
		if r.Status != "started" || wrote != "Continue? [y/N] " || !r.IsRunning || r.Hint != sessionHint || !regexp.MustCompile(`^session-[0-9a-f]{8}$`).MatchString(r.SessionID) {
			t.Errorf("%+v, which wrote %q", r, wrote)
		}
		// Without a command, it is the shell.
		if r, wrote = h.opened(nil); !r.IsRunning || r.Shell == "" || r.PID == 0 || wrote == "" {
			t.Errorf("%+v, which wrote %q", r, wrote)
		}
		// CliSession reports the end of the command if it ends soon enough; on a busy machine, that takes several
		// attempts.
		for r = (cliSessionResult{IsRunning: true}); r.IsRunning; {
			r = cliSessionResult{}
			h.call("CliSession", args{"command": "gti"}, &r)
		}
		contains(t, r.Hint, "Similar names: git")
	},
	"CliSession/workingDirectory": func(t *testing.T) {
		h := startHost(t, nil)
		if err := os.Mkdir(filepath.Join(h.root, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		r, wrote := h.opened(args{"command": "pwd; cat", "workingDirectory": "sub"})
		if want := filepath.Join(h.root, "sub"); r.WorkingDirectory != want || wrote != want+"\n" {
			t.Errorf("%+v, which wrote %q", r, wrote)
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
		h.call("CliSession", args{"command": "cat", "sessionId": "mine"}, nil) // The name is free again.
		// The seed accepts any sessionId, and so do all tools that take one.
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
			contains(t, h.fail("CliSession", args{"command": "cat", "sessionId": id}), "is invalid: it may have up to 128 characters, and no control characters.")
		}
	},
	"CliSession/env": func(t *testing.T) {
		h := startHost(t, nil)
		_, wrote := h.opened(args{"command": "echo $A-$B; cat", "env": map[string]string{"A": "one", "B": "two"}})
		contains(t, wrote, "one-two")
	},
	"CliRead/sessionId": func(t *testing.T) {
		h := startHost(t, nil)
		h.call("CliSession", args{"command": "cat", "sessionId": "c"}, nil)
		contains(t, h.fail("CliRead", args{"sessionId": "d"}), `There is no session "d".`, "- c (pid ")
		var w cliWriteResult
		h.call("CliWrite", args{"sessionId": "c", "input": "one{enter}"}, &w)
		var r cliReadResult
		// Output is returned only once.
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
		if r.Output == "" { // CliSession has returned the output, so this call has waited for more.
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
		h.typed(1, "") // No tool has returned the response.
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
			{"pwd{enter}", "/\n"},       // The directory is kept.
			{"{up}{enter}", "pwd\n/\n"}, // A response in place of the key's echo is output.
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
			got := strings.TrimPrefix(r.ResponseOutput, "^C") // Only some line editors show ^C.
			if !strings.HasPrefix(got, test.want) || test.want == "" && r.ResponseOutput != "" || !r.WaitingForInput || r.Status != "sent" {
				t.Errorf("%s: %+v", test.input, r)
			}
		}
		// A line that was not entered gives a hint, because nothing else would explain the missing response.
		for _, test := range []struct {
			input  string
			hinted bool
		}{
			{"echo late", true},
			{"r {ctrl+u}", false},
			{"echo a command that goes on over the end of the row, which is eighty wide", true},
			{" and once more", true},
			{"{enter}", false},
			{"cat{enter}", false},
			{"a line", true},
			{"{enter}", false},
			{"a{ctrl+d}", false},
			{"{ctrl+c}", false},
			{"read -n 1 x{enter}", false},
			{"k", false}, // It was taken, and the shell waits for more.
			{"read -s x{enter}", false},
			{"secret", false}, // The text on the line is not visible.
			{"{enter}", false},
		} {
			var r cliWriteResult
			h.call("CliWrite", args{"sessionId": "sh", "input": test.input, "timeout": 50}, &r)
			if (r.Hint == unenteredHint) != test.hinted || !r.WaitingForInput {
				t.Errorf("%s: %+v", test.input, r)
			}
		}
		contains(t, h.fail("CliWrite", args{"sessionId": "sh", "input": "{entre}"}), `"{entre}", which is not a key`, "{enter}, {tab}", "nothing was sent")
		contains(t, h.fail("CliWrite", args{"sessionId": "sh", "input": "a{"}), "never closed")
	},
	"CliWrite/listening": func(t *testing.T) {
		needProgram(t, "python3")
		h := startHost(t, nil)
		// The program takes input while it waits for a timer, as a dev server with a menu of keys does.
		h.call("CliSession", args{"sessionId": "c", "command": `exec python3 -u -c '
import select, sys
print("ready")
while True:
    if select.select([sys.stdin], [], [], 0.05)[0]:
        print("took " + sys.stdin.readline().strip())
'`}, nil)
		h.until(1, schema.Condition{Pattern: new("ready")})
		var r cliWriteResult
		h.call("CliWrite", args{"sessionId": "c", "input": "this{enter}", "timeout": 3600}, &r) // It does not wait that long.
		if !r.IsRunning || r.WaitingForInput {                                                  // It does more than wait for input.
			t.Errorf("%+v", r)
		}
		// The response is returned once: by this call or, on a slow machine, by the next.
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
		h.call("CliStop", args{"sessionId": "c"}, &r) // A second call is not an error.
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
}
