package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// The tests of job/exec drive the binary as any client does. They compare its answers with a table
// (execs_table_linux_test.go), which is itself compared with plain shells and typed input (execs_alone_linux_test.go);
// with the same commands as a script (execs_random_linux_test.go); and with prompts, and with programs that pretend to
// be the shell (execs_prompts_linux_test.go).

// execShells are the shells with integration.
var execShells = []string{"bash", "zsh", "fish"}

// execBytes is the maximum output of a command that these tests request.
const execBytes = 8 << 20

// An execServer is a server whose jobs are shells. All that they could leave behind is below base, or is a process with
// base in its environment.
type execServer struct {
	*served
	t    *testing.T
	base string
}

// startExecs starts a server. At the end of the test it ends the server, and checks that nothing is left.
func startExecs(t *testing.T) *execServer {
	t.Helper()
	needJobs(t)
	s := &execServer{t: t, base: t.TempDir()}
	var err error
	if s.base, err = filepath.EvalSymlinks(s.base); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tmp", "state", "home"} {
		if err := os.Mkdir(filepath.Join(s.base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.served = startFor(t, time.Hour, func(client.Event) {}, func(cmd *exec.Cmd) {
		cmd.Dir = s.base
		cmd.Env = append(os.Environ(), "TMPDIR="+s.base+"/tmp", "XDG_STATE_HOME="+s.base+"/state", "HOME="+s.base+"/home")
	})
	s.do("initialize", object{"rootDirectory": s.base, "options": object{"events": []string{}, "limits": object{"shutdownGraceMs": 0}}}, nil)
	return s
}

// do is call for untyped params. An error fails the test.
func (s *execServer) do(method string, params, result any) {
	s.t.Helper()
	if err := s.client.Call(s.t.Context(), method, params, result); err != nil {
		s.t.Fatalf("%s %.300v: %v", method, params, err)
	}
}

// end ends the server, and checks that nothing is left.
func (s *execServer) end() {
	s.t.Helper()
	s.shutDown(s.t)
	if left, err := os.ReadDir(filepath.Join(s.base, "tmp")); err != nil || len(left) > 0 {
		s.t.Errorf("there are temporary files left: %v, %v", left, err)
	}
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "EXECS="+s.base+"\x00") {
			continue // The process has ended, or belongs to another user.
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		s.t.Errorf("a process is left: %s %q", filepath.Dir(path), line)
	}
}

// An execShell is a shell that runs commands.
type execShell struct {
	*execServer
	name   string
	handle int64
	home   string
	next   int64 // ID of the next command
}

// An executed is the result of one command.
type executed struct {
	raw    string // raw output, with the line ends of the terminal converted back
	output string // output in the server's answer
	exit   int64
	cwd    string
}

func (x executed) String() string {
	return fmt.Sprintf("%.400q, reported as %.400q, status %d in %q", x.raw, x.output, x.exit, x.cwd)
}

// seenPages prevents fish from parsing all manual pages of the machine in the background, as it does in each new home
// directory.
func seenPages(t testing.TB, home string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(home, ".local/share/fish/generated_completions"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// shell starts an interactive shell with files in its home directory.
func (s *execServer) shell(name string, files map[string]string, argv ...string) *execShell {
	s.t.Helper()
	needShell(s.t, name)
	home, err := os.MkdirTemp(filepath.Join(s.base, "home"), name+"-")
	if err != nil {
		s.t.Fatal(err)
	}
	for file, text := range files {
		path := filepath.Join(home, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), writeProgram(path, []byte(text))); err != nil {
			s.t.Fatal(err)
		}
	}
	seenPages(s.t, home)
	if argv == nil {
		argv = []string{name}
	}
	var r schema.JobStartResult
	s.do("job/start", object{"argv": argv, "mode": "pty", "cwd": home, "env": s.environment(home)}, &r)
	if r.Job.ShellIntegration == nil || *r.Job.ShellIntegration != name {
		s.t.Fatalf("%q has the integration %v", argv, r.Job.ShellIntegration)
	}
	return &execShell{execServer: s, name: name, handle: r.Job.Handle, home: home, next: 1}
}

// environment returns the variables of a shell in addition to those that the server gives to any job.
func (s *execServer) environment(home string) object {
	return object{"HOME": home, "EXECS": s.base, "XDG_RUNTIME_DIR": home, "LC_ALL": "C.UTF-8", "ZDOTDIR": nil, "ENV": nil, "HISTFILE": nil, "COLUMNS": nil, "LINES": nil}
}

// run runs a command that ends, and reads its output from the stream.
func (s *execShell) run(command string) executed {
	s.t.Helper()
	var r schema.JobExecResult
	s.do("job/exec", object{"handle": s.handle, "command": command, "timeoutMs": watchdog / time.Millisecond, "wait": object{"maxBytes": execBytes}}, &r)
	if !r.Finished || r.ExitCode == nil || r.Outcome.Reason != schema.OutcomeReasonCommand || r.Cwd == nil || r.Truncated != nil || r.CommandID != s.next {
		var tail schema.JobReadResult
		s.do("job/read", object{"handle": s.handle, "offset": -2000}, &tail)
		s.t.Fatalf("%s: %.300q has not ended as a command does: %s, exit %v, finished %v, command %d of %d\nthe terminal has %q",
			s.name, command, r.Outcome.Reason, r.ExitCode, r.Finished, r.CommandID, s.next, text(tail.Text, tail.Base64))
	}
	s.next++
	return executed{strings.ReplaceAll(s.read(r.Range.From, *r.Range.To), "\r\n", "\n"), r.Output, *r.ExitCode, *r.Cwd}
}

// read returns a part of the stream.
func (s *execShell) read(from, to int64) string {
	s.t.Helper()
	var all strings.Builder
	for from < to {
		var r schema.JobReadResult
		s.do("job/read", object{"handle": s.handle, "offset": from, "maxBytes": to - from, "format": "base64"}, &r)
		b, err := base64.StdEncoding.DecodeString(*r.Base64)
		if err != nil || r.Gap != nil || len(b) == 0 {
			s.t.Fatalf("the stream cannot be read from %d to %d: %v, gap %v", from, to, err, r.Gap)
		}
		all.Write(b)
		from = r.NextOffset
	}
	return all.String()
}

// await waits until the stream matches a pattern.
func (s *execShell) await(pattern string) {
	s.t.Helper()
	var r schema.JobWaitResult
	s.do("job/wait", object{"handle": s.handle, "until": []object{{"pattern": pattern}}, "from": "start", "timeoutMs": watchdog / time.Millisecond}, &r)
	if r.Outcome.Reason != schema.OutcomeReasonPattern {
		s.t.Fatalf("%q has not come: %s", pattern, r.Outcome.Reason)
	}
}

// leave ends the shell.
func (s *execShell) leave() {
	s.t.Helper()
	s.do("job/kill", object{"handle": s.handle, "graceMs": 0}, nil)
	s.do("job/remove", object{"handle": s.handle}, nil)
}

// controlled reports whether a text contains control characters, so that the answer's output differs from it.
func controlled(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '\ufffd' })
}
