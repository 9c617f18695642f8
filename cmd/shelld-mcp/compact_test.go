package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

func TestShell(t *testing.T) {
	tests := map[string]func(*testing.T, *host){
		"command": func(t *testing.T, h *host) {
			var r shellResult
			got := h.call("shell", args{"command": "echo hi; exit 3"}, &r)
			if got != "[job 1, ended, exit code 3]\nhi\n" || r.EndedBy != "exit" || r.Status != "ended" || r.Output != "hi\n" {
				t.Errorf("%q, %+v", got, r)
			}
			contains(t, h.call("shell", args{"command": "gti"}, nil), "exit code 127", "Similar names: git")
			contains(t, h.call("shell", args{"command": "true"}, nil), "(no new output)")
		},
		"question": func(t *testing.T, h *host) {
			var r shellResult
			got := h.call("shell", args{"command": "read -p 'Name? ' n; echo \"Hello, $n\""}, &r)
			if got != "[job 1, running, waiting for input: Name?]\nName? " || !r.WaitingForInput || r.Question != "Name?" || r.EndedBy != "input" {
				t.Errorf("%q, %+v", got, r)
			}
			// New is the output since the last call, without the echo.
			if got := h.call("shell", args{"job": "1", "input": "Ada"}, nil); got != "[job 1, ended, exit code 0]\nHello, Ada\n" {
				t.Errorf("%q", got)
			}
		},
		"typed at once": func(t *testing.T, h *host) {
			got := h.call("shell", args{"command": "read n; read k; echo \"[$n] [$k]\"", "input": "a line\nb", "enter": false, "keys": []string{"Enter"}, "wait": "exit"}, nil)
			contains(t, got, "[a line] [b]")
			contains(t, h.fail("shell", args{"command": "cat", "keys": []string{"Entre"}}), "Entre")
			contains(t, h.call("shell_jobs", nil, nil), noJobs)
		},
		"enter": func(t *testing.T, h *host) {
			contains(t, h.call("shell", args{"command": "read -n 3 x; echo; echo \"[$x]\"", "input": "abc", "enter": false, "wait": "exit"}, nil), "[abc]")
		},
		"a shell": func(t *testing.T, h *host) {
			h.call("shell", args{"name": "sh", "env": map[string]string{"PS1": "$ "}}, nil)
			h.call("shell", args{"job": "sh", "input": "cd /"}, nil)
			contains(t, h.call("shell", args{"job": "sh", "input": "pwd"}, nil), "\n/\n")
		},
		"wait exit": func(t *testing.T, h *host) {
			var r shellResult
			h.call("shell", args{"command": "read -t 0.2 x; echo over", "wait": "exit"}, &r)
			if r.EndedBy != "exit" || !strings.HasSuffix(r.Output, "over\n") {
				t.Errorf("%+v", r)
			}
		},
		"wait quiet": func(t *testing.T, h *host) {
			var r shellResult
			h.call("shell", args{"command": "echo a; exec sleep 1000", "wait": "quiet", "quiet_seconds": 0.3}, &r)
			if r.EndedBy != "quiet" || r.Status != "running" {
				t.Errorf("%+v", r)
			}
		},
		"wait none": func(t *testing.T, h *host) {
			var r shellResult
			h.call("shell", args{"command": "cat", "wait": "none"}, &r)
			if r.EndedBy != "none" || r.Status != "running" {
				t.Errorf("%+v", r)
			}
		},
		"timeout": func(t *testing.T, h *host) {
			var r shellResult
			contains(t, h.call("shell", args{"command": "sleep 1000", "timeout_seconds": 0.2}, &r), "still running after 200ms")
			if r.EndedBy != "timeout" || r.Status != "running" {
				t.Errorf("%+v", r)
			}
		},
		"pattern": func(t *testing.T, h *host) {
			var r shellResult
			h.call("shell", args{"command": "echo ready 1; exec sleep 1000", "pattern": "ready \\d\\s"}, &r)
			if r.EndedBy != "pattern" {
				t.Errorf("%+v", r)
			}
			// An invalid pattern starts no job.
			contains(t, h.fail("shell", args{"command": "touch there", "pattern": "("}), "pattern")
			if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
				t.Error("it was run all the same")
			}
		},
		"pattern after input": func(t *testing.T, h *host) {
			h.call("shell", args{"command": "while [ ! -e go ]; do sleep 0.05; done; echo 'ED> '; read x; echo \"took $x\"; exec cat", "wait": "none"}, nil)
			if err := os.WriteFile(filepath.Join(h.root, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			h.until(1, schema.Condition{Pattern: new("ED> ")})
			// The earlier prompt does not match, but it is new output.
			var r shellResult
			h.call("shell", args{"job": "1", "input": "this", "wait": "none", "pattern": "ED> ", "timeout_seconds": 0.5}, &r)
			if r.EndedBy == "pattern" || !strings.HasPrefix(r.Output, "ED> \n") {
				t.Errorf("%+v", r)
			}
		},
		"port": func(t *testing.T, h *host) {
			needProgram(t, "python3")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			port := l.Addr().(*net.TCPAddr).Port
			_ = l.Close()
			var r shellResult
			h.call("shell", args{"command": fmt.Sprintf("exec python3 -c 'import socket,time; s=socket.create_server((\"127.0.0.1\", %d)); time.sleep(1000)'", port), "port": port, "wait": "none", "timeout_seconds": 50}, &r)
			if r.EndedBy != "port" {
				t.Errorf("%+v", r)
			}
		},
		"port of another process": func(t *testing.T, h *host) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			port := l.Addr().(*net.TCPAddr).Port
			var r shellResult
			got := h.call("shell", args{"command": "exec cat", "port": port, "wait": "none", "timeout_seconds": 50}, &r)
			if want := fmt.Sprintf("Port %d is taken by process %d: ", port, os.Getpid()); r.EndedBy != "portInUse" || !strings.Contains(got, want) {
				t.Errorf("there is no %q in %q", want, got)
			}
		},
		"screen": func(t *testing.T, h *host) {
			var r shellResult
			got := h.call("shell", args{"command": "printf '\\033[2;3Hthere'; exec cat", "pattern": "there", "screen": "text"}, &r)
			if !strings.HasSuffix(got, "]\n\n  there") || r.Screen != "\n  there" || r.Output != "" {
				t.Errorf("%q, %+v", got, r)
			}
			res := h.try("shell", args{"job": "1", "wait": "none", "screen": "picture"})
			if len(res.Content) != 2 {
				t.Fatalf("%d parts", len(res.Content))
			}
			if image, ok := res.Content[1].(*mcp.ImageContent); !ok || !bytes.HasPrefix(image.Data, []byte("\x89PNG")) || image.MIMEType != "image/png" {
				t.Errorf("%T", res.Content[1])
			}
		},
		"cwd and env": func(t *testing.T, h *host) {
			if err := os.Mkdir(filepath.Join(h.root, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			contains(t, h.call("shell", args{"command": "echo $PWD $A", "cwd": "sub", "env": map[string]string{"A": "b"}}, nil), filepath.Join(h.root, "sub")+" b")
		},
		"budget": func(t *testing.T, h *host) {
			contains(t, h.call("shell", args{"command": "seq 10000", "max_bytes": 100, "wait": "exit"}, nil), "\n1\n2\n", "left out; all of it is in ", "\n10000\n")
		},
		"background": func(t *testing.T, h *host) {
			var r shellResult
			h.call("shell", args{"command": "sleep 1000 & true"}, &r)
			if r.Status != "background" || len(r.BackgroundPIDs) != 1 {
				t.Errorf("%+v", r)
			}
		},
		"wrong": func(t *testing.T, h *host) {
			contains(t, h.fail("shell", args{"job": "7", "input": "x"}), `there is no job "7"`, noJobs)
			h.call("shell", args{"command": "cat", "name": "kitty"}, nil)
			contains(t, h.fail("shell_output", args{"job": "7"}), "there is no job \"7\".\n[job 1, name kitty, running, pid ", "] cat")
			contains(t, h.fail("shell", args{"job": "1", "command": "x"}), "give one of them")
			contains(t, h.fail("shell", args{"command": "x", "wait": "ever"}), "wait is one of input, exit, quiet, none")
			contains(t, h.fail("shell", args{"command": "x", "screen": "wide"}), "screen is one of none, text, picture")
			contains(t, h.fail("shell", args{"command": "x", "name": "a b"}), "is invalid: it must begin with a letter")
			contains(t, h.fail("shell", args{"job": "1", "cwd": "x"}), "the job is already running")
		},
		"job by its number": func(t *testing.T, h *host) {
			var r shellResult
			h.call("shell", args{"command": "cat"}, nil)
			for i, call := range []func() string{
				func() string { return h.call("shell", args{"job": 1, "input": "0"}, &r) },
				func() string { return h.raw("shell", `{"job":1.0,"input":"1"}`) },
				func() string { return h.call("shell", args{"job": "1", "input": "2"}, &r) },
				func() string { return h.call("shell", args{"job": r.PID, "input": "3"}, &r) },
			} {
				contains(t, call(), fmt.Sprintf("[job 1, running, waiting for input]\n%d\n", i))
			}
			contains(t, h.call("shell_output", args{"job": 1, "find": "3"}, nil), "> 3")
			contains(t, h.fail("shell", args{"job": 9}), `there is no job "9"`)
			contains(t, h.fail("shell", args{"job": 1.5}), "job must be a string, and 1.5 is a number")
			contains(t, h.fail("shell", args{"job": true}), "job must be a string")
			contains(t, h.call("shell_end", args{"job": 1}, nil), "[job 1, ended]")
		},
		"output": func(t *testing.T, h *host) {
			h.call("shell", args{"command": "seq 1000", "wait": "exit"}, nil)
			var r shellOutputResult
			h.call("shell_output", args{"job": "1", "max_bytes": 50}, &r)
			if !strings.HasSuffix(r.Output, "999\n1000\n") || len(r.Output) > 50 || r.HasMore {
				t.Errorf("%+v", r)
			}
			h.call("shell_output", args{"job": "1", "from": 0, "max_bytes": 6}, &r)
			if r.Output != "1\n2\n" || !r.HasMore || r.NextOffset != 6 {
				t.Errorf("%+v", r)
			}
			h.call("shell_output", args{"job": "1", "from": -6}, &r)
			if r.Output != "1000\n" {
				t.Errorf("%+v", r)
			}
			if got := h.call("shell_output", args{"job": "1", "find": "^5.5$", "context": 1, "max_matches": 2}, &r); got != "  504\n2412> 505\n  506\n--\n  514\n2462> 515\n  516\n[there may be more matches: ask for more with max_matches and max_bytes]" {
				t.Errorf("%q, %+v", got, r)
			}
			contains(t, h.call("shell_output", args{"job": "1", "find": "x"}, nil), "Nothing was found.")
			contains(t, h.fail("shell_output", args{"job": "9"}), `there is no job "9"`)
			contains(t, h.fail("shell_output", args{"job": "1", "find": "x", "from": 0}), "give one of them")
		},
		"jobs": func(t *testing.T, h *host) {
			if got := h.call("shell_jobs", nil, nil); got != noJobs {
				t.Errorf("%q", got)
			}
			h.call("shell", args{"command": "exit 3"}, nil)
			h.call("shell", args{"command": "cat", "name": "kitty", "description": "takes lines"}, nil)
			h.call("shell", args{"command": "kill -9 $$"}, nil)
			h.call("shell", args{"command": "sleep 1000 & true"}, nil)
			h.until(1, schema.Condition{Closed: new(true)})
			h.until(3, schema.Condition{Closed: new(true)})
			const kitty, left = `\[job 2, name kitty, running, pid \d+, \d+ s\] cat`, `\[job 4, background, pid \d+, background pids \d+, \d+ s\] sleep 1000 & true`
			var r shellJobsResult
			if got := h.call("shell_jobs", nil, &r); !regexp.MustCompile("^" + kitty + "\n" + left + "$").MatchString(got) {
				t.Errorf("%s", got)
			}
			if len(r.Jobs) != 2 || r.Jobs[0].Job != 2 || r.Jobs[0].Name != "kitty" || r.Jobs[0].Description != "takes lines" || r.Jobs[0].Cwd != h.root || len(r.Jobs[1].BackgroundPIDs) != 1 {
				t.Errorf("%+v", r)
			}
			const exited, killed = `\[job 1, ended, exit code 3, pid \d+, \d+ s\] exit 3`, `\[job 3, ended, SIGKILL, pid \d+, \d+ s\] kill -9 \$\$`
			got := h.call("shell_jobs", args{"ended": true}, &r)
			if !regexp.MustCompile("^"+kitty+"\n"+left+"\n"+exited+"\n"+killed+"$").MatchString(got) || len(r.Jobs) != 4 || r.Jobs[2].ExitCode == nil || r.Jobs[3].Signal == nil {
				t.Errorf("%s\n%+v", got, r)
			}
		},
		"end": func(t *testing.T, h *host) {
			h.call("shell", args{"command": "trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.05; done", "pattern": "up"}, nil)
			var r shellEndResult
			got := h.call("shell_end", args{"job": "1"}, &r)
			contains(t, got, "[job 1, ended] It was ended, and exited with code 4.", "bye")
			if !r.Ended || r.ExitCode == nil || *r.ExitCode != 4 {
				t.Errorf("%+v", r)
			}
			contains(t, h.fail("shell_end", args{"job": "9"}), `there is no job "9"`)
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, startHost(t, nil, "-tools", "compact"))
		})
	}
}
