package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// answering is a command that answers each typed line, and shows nothing else.
const answering = `stty -echo; echo up; while read -r x; do echo "<$x>"; done`

// answered waits until such a command has answered a line.
func (h *host) answered(handle int64, line string) {
	h.t.Helper()
	h.typed(handle, line)
	h.until(handle, schema.Condition{Pattern: new("<" + line + ">\\s")})
}

// TestOutputReturnedOnce has a job write between calls of the tools that return new output: all output is returned once and in
// order, by the next call of any of them.
func TestOutputReturnedOnce(t *testing.T) {
	type step struct {
		tool string
		args args
	}
	for name, test := range map[string]struct {
		start step
		rest  []step
	}{
		"a command": {
			step{"run_shell_command", args{"command": answering, "ai_callback_pattern": "up\\s"}},
			[]step{
				{"send_input", args{"handle": 1, "input": "one", "ai_callback_pattern": "<one>\\s"}},
				{"send_input", args{"handle": 1, "input": "two", "ai_callback_pattern": "<two>\\s"}},
				{"shell", args{"job": "1", "input": "three", "wait": "none", "pattern": "<three>\\s"}},
				{"shell", args{"job": "1", "wait": "none"}},
				{"send_input", args{"handle": 1, "input": "four", "ai_callback_pattern": "<four>\\s"}},
				{"shell_end", args{"job": "1"}},
			},
		},
		"a command in the background": {
			step{"run_shell_command", args{"command": answering, "is_background": true}},
			[]step{
				{"send_input", args{"handle": 1, "input": "one", "ai_callback_pattern": "<one>\\s"}},
				{"shell_end", args{"job": "1"}},
			},
		},
		"a session": {
			step{"CliSession", args{"command": answering, "sessionId": "s"}},
			[]step{
				{"CliWrite", args{"sessionId": "s", "input": "one{enter}"}},
				{"CliRead", args{"sessionId": "s"}},
				{"send_input", args{"handle": 1, "input": "two", "ai_callback_pattern": "<two>\\s"}},
				{"CliRead", args{"sessionId": "s"}},
				{"shell", args{"job": "s", "input": "three", "wait": "none", "pattern": "<three>\\s"}},
				{"CliWrite", args{"sessionId": "s", "input": "four{enter}"}},
				{"CliStop", args{"sessionId": "s"}},
			},
		},
		"a job": {
			step{"shell", args{"command": answering, "wait": "none", "pattern": "up\\s"}},
			[]step{
				{"shell", args{"job": "1", "input": "one", "wait": "none", "pattern": "<one>\\s"}},
				{"send_input", args{"handle": 1, "input": "two", "ai_callback_pattern": "<two>\\s"}},
				{"shell", args{"job": "1", "wait": "none"}},
				{"shell_end", args{"job": "1"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHost(t, nil, "-tools", "all", "-confirm", "none")
			var told strings.Builder
			take := func(s step) {
				var r struct{ Output, InitialOutput, ResponseOutput, FinalOutput string }
				h.call(s.tool, s.args, &r)
				told.WriteString(r.Output + r.InitialOutput + r.ResponseOutput + r.FinalOutput)
			}
			take(test.start)
			h.until(1, schema.Condition{Pattern: new("up\\s")})
			want := "up\n"
			for i, s := range test.rest {
				line := fmt.Sprint("between ", i)
				h.answered(1, line)
				want += "<" + line + ">\n"
				if input, types := s.args["input"].(string); types {
					want += "<" + strings.TrimSuffix(input, "{enter}") + ">\n"
				}
				take(s)
			}
			if got := told.String(); got != want {
				t.Errorf("%q was returned, not %q", got, want)
			}
		})
	}
}

// TestLastOutput has a command write and end while no call waits for it.
func TestLastOutput(t *testing.T) {
	h := startHost(t, nil)
	h.call("run_shell_command", args{"command": "echo first; read x; echo last; exit 3", "ai_callback_pattern": "first\\s"}, nil)
	h.typed(1, "")
	h.until(1, schema.Condition{Closed: new(true)})
	got := h.fail("send_input", args{"handle": 1, "input": "x"})
	contains(t, got, "Process 1 is not running. It has exited with code 3.\nIts last output:\n\nlast\n")
	if strings.Contains(got, "first") {
		t.Errorf("%q repeats returned output", got)
	}
	if got := h.fail("send_input", args{"handle": 1, "input": "x"}); strings.Contains(got, "last") {
		t.Errorf("%q repeats returned output", got)
	}
}

// leftOut matches the mark in truncated output.
var leftOut = regexp.MustCompile(`\n?\[\.\.\. (\d+) bytes, (\d+) lines left out; (.*?) \.\.\.\]\n`)

// checkCut compares truncated output with the whole output, and returns the place that the mark names for the latter.
func checkCut(t *testing.T, got, whole string) (where string) {
	t.Helper()
	at := leftOut.FindStringSubmatchIndex(got)
	if at == nil {
		t.Fatalf("nothing says what is left out of %d bytes: %.100q", len(got), got)
	}
	field := func(i int) string { return got[at[2*i]:at[2*i+1]] }
	head, tail := got[:at[0]], got[at[1]:]
	if strings.HasPrefix(got[at[0]:], "\n[") && strings.HasPrefix(whole[len(head):], "\n") {
		head += "\n"
	}
	if !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) {
		t.Fatalf("%.60q … %q is no head and tail of it", head, tail[max(0, len(tail)-60):])
	}
	missing := whole[len(head) : len(whole)-len(tail)]
	if field(1) != strconv.Itoa(len(missing)) || field(2) != strconv.Itoa(strings.Count(missing, "\n")) {
		t.Errorf("%s bytes, %s lines are left out, not %d, %d", field(1), field(2), len(missing), strings.Count(missing, "\n"))
	}
	return field(3)
}

// numbered returns the output of seq.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// TestCutOutput writes more output than an answer takes: the answer contains the exact size of the rest, and its place;
// the next call does not return it again.
func TestCutOutput(t *testing.T) {
	const n = 20000
	const command = "read x; seq 20000; exec cat"
	for _, memory := range []bool{false, true} {
		for _, tool := range []string{"run_shell_command", "send_input", "CliWrite", "CliStop", "CliRun", "execute_bash_command", "shell", "shell_end"} {
			t.Run(fmt.Sprintf("%s memory=%v", tool, memory), func(t *testing.T) {
				t.Parallel()
				flags := []string{"-tools", "all", "-confirm", "none"}
				if memory {
					flags = append(flags, "-memory")
				}
				h := startHost(t, nil, flags...)
				start := func() {
					h.call("CliSession", args{"command": command, "sessionId": "s"}, nil)
				}
				var r struct{ Output, ResponseOutput, FinalOutput, Stdout, Stderr string }
				file := "stdout"
				switch tool {
				case "run_shell_command":
					h.call(tool, args{"command": "seq 20000", "ai_callback_delay": 3600}, &r)
				case "send_input":
					start()
					h.call(tool, args{"handle": 1, "input": "", "ai_callback_pattern": "\\b20000\\s"}, &r)
				case "CliWrite":
					start()
					h.call(tool, args{"sessionId": "s", "input": "{enter}", "timeout": 3600}, &r)
				case "CliStop", "shell_end":
					start()
					h.typed(1, "")
					h.until(1, schema.Condition{Pattern: new("\\b20000\\s")})
					h.call(tool, map[string]args{"CliStop": {"sessionId": "s"}, "shell_end": {"job": "1"}}[tool], &r)
				case "CliRun", "execute_bash_command":
					file = "stderr"
					h.call(tool, args{"command": "seq 20000 >&2"}, &r)
				case "shell":
					h.call(tool, args{"command": "seq 20000", "wait": "exit"}, &r)
				}
				where := checkCut(t, strings.TrimPrefix(r.Output+r.ResponseOutput+r.FinalOutput+r.Stdout+r.Stderr, "\n"), numbered(n))
				if memory {
					uri := "shelld://job/1/" + file
					if where != "up to 1 MiB of the output is in the resource "+uri {
						t.Errorf("it is said to be in %q", where)
					}
					res, err := h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: uri})
					if err != nil || !strings.HasSuffix(res.Contents[0].Text, numbered(n)) {
						t.Errorf("the resource: %v", err)
					}
				} else {
					path, ok := strings.CutPrefix(where, "all of it is in ")
					all, err := os.ReadFile(path)
					if !ok || filepath.Base(path) != file+".txt" || err != nil || !strings.HasSuffix(strings.ReplaceAll(string(all), "\r\n", "\n"), numbered(n)) {
						t.Errorf("%q has %d bytes, %v", where, len(all), err)
					}
				}
				if tool == "send_input" || tool == "CliWrite" {
					var next cliReadResult
					h.call("CliRead", args{"sessionId": "s", "timeout": 0}, &next)
					if next.Output != "" {
						t.Errorf("%.100q is returned again", next.Output)
					}
				}
			})
		}
	}
}

// TestCancelledAnswerReturnedAgain drops the answer to a cancelled call: its output is returned again or, if other calls have returned
// later output meanwhile, its size is.
func TestCancelledAnswerReturnedAgain(t *testing.T) {
	h := startHost(t, nil)
	h.call("run_shell_command", args{"command": answering, "ai_callback_pattern": "up\\s"}, nil)
	send := func(line string) (*mcp.RequestExtra, string) {
		tag := &mcp.RequestExtra{}
		c := h.front.newCall(&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}, Session: h.front.session.Load(), Extra: tag}, "send_input", false)
		h.front.owed.await(c)
		r, err := sendInput(h.ctx, c, sendInputParams{Handle: 1, Input: line, AppendNewline: true, Pattern: "<" + line + ">\\s"})
		if err != nil {
			t.Fatal(err)
		}
		return tag, r.value.(sendInputResult).Output
	}
	first, _ := send("one")
	h.front.owed.settled(first, true)
	second, got := send("two")
	if want := "<one>\n<two>\n"; got != want {
		t.Errorf("after a dropped answer: %q, not %q", got, want)
	}
	third, _ := send("three")
	h.front.owed.settled(second, true)
	h.front.owed.settled(third, false)
	_, got = send("four")
	want := fmt.Sprintf("[... %d bytes were in the answer to a call that was cancelled; all of it is in ", len("<one>\r\n<two>\r\n"))
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " ...]\n<four>\n") {
		t.Errorf("after a dropped answer with others behind it: %q", got)
	}
}

// TestForgottenSession uses a session that the server has forgotten, as it forgets those that ended long ago: how it
// has ended is reported as long as its name is known.
func TestForgottenSession(t *testing.T) {
	h := startHost(t, nil)
	for handle, told := range []bool{false, true} {
		h.call("CliSession", args{"command": "read x; echo over; exit 3", "sessionId": "s"}, nil)
		h.typed(int64(handle+1), "")
		h.until(int64(handle+1), schema.Condition{Closed: new(true)})
		var r cliReadResult
		if told {
			h.call("CliRead", args{"sessionId": "s"}, &r)
		}
		if err := h.front.ask(h.ctx, "job/remove", schema.JobRemoveParams{Handle: handleID(int64(handle + 1))}, nil); err != nil {
			t.Fatal(err)
		}
		r = cliReadResult{}
		h.call("CliRead", args{"sessionId": "s"}, &r)
		lost := "[... 0 bytes of its output were returned before; any later output is no longer kept ...]\n"
		if told {
			lost = ""
		}
		if r.IsRunning || r.HasMore || r.ExitCode == nil || *r.ExitCode != 3 || r.Output != lost {
			t.Errorf("told=%v: %+v", told, r)
		}
		contains(t, h.fail("CliWrite", args{"sessionId": "s", "input": "x"}), `The session "s" has ended, and takes no input. It has exited with code 3. Its output is no longer kept.`)
		contains(t, h.fail("CliEnv", args{"action": "get", "name": "PATH", "sessionId": "s"}), `The session "s" has ended, and has no variables any more. It has exited with code 3.`)
		var stop cliStopResult
		h.call("CliStop", args{"sessionId": "s"}, &stop)
		if stop.Status != "stopped" || stop.ExitCode == nil || *stop.ExitCode != 3 || stop.FinalOutput != lost {
			t.Errorf("told=%v: %+v", told, stop)
		}
	}
}

// TestForgottenSessionsFile uses a session that the server has forgotten but whose file still exists: the file is named
// while it has unread output.
func TestForgottenSessionsFile(t *testing.T) {
	h := startHost(t, nil)
	h.call("CliSession", args{"command": "read x; echo over; exit 3", "sessionId": "s"}, nil)
	h.typed(1, "")
	h.until(1, schema.Condition{Closed: new(true)})
	file := outputFileOf(t, h, 1)
	if err := h.front.ask(h.ctx, "job/remove", schema.JobRemoveParams{Handle: handleID(1), KeepFiles: new(true)}, nil); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(all), "over") {
		t.Fatalf("%q, %v", all, err)
	}
	want := "[... 0 bytes of its output were returned before; its output is in " + file + " ...]\n"
	var r cliReadResult
	if h.call("CliRead", args{"sessionId": "s"}, &r); r.Output != want {
		t.Errorf("CliRead: %q", r.Output)
	}
	var stop cliStopResult
	if h.call("CliStop", args{"sessionId": "s"}, &stop); stop.FinalOutput != want {
		t.Errorf("CliStop: %q", stop.FinalOutput)
	}
	contains(t, h.fail("CliWrite", args{"sessionId": "s", "input": "x"}), "Its output is in "+file+".")
	j := h.front.jobs.bySession("s")
	j.next = int64(len(all))
	if got := j.lostText(); got != "" {
		t.Errorf("after all output was returned: %q", got)
	}
}

func outputFileOf(t *testing.T, h *host, handle int64) string {
	t.Helper()
	info, err := h.front.info(h.ctx, handleID(handle))
	if err != nil {
		t.Fatal(err)
	}
	return outputFile(info, schema.StreamPty)
}
