package rpc_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

func TestRun(t *testing.T) {
	s := start(t)
	r := s.run("echo out; echo err >&2; exit 3")
	equal(t, "exit", exitText(r.Exit), "exited 3")
	equal(t, "stdout", str(r.Stdout), "out\n")
	equal(t, "stderr", str(r.Stderr), "err\n")
	equal(t, "output", str(r.Output), "(absent)")
	equal(t, "complete", r.OutputComplete, true)
	equal(t, "timed out", r.TimedOut, false)
	equal(t, "hint", r.Hint, nil)
	r = s.run("echo out; echo err >&2; kill -USR1 $$", "mode", "pty", "format", "text")
	equal(t, "exit", exitText(r.Exit), "signaled SIGUSR1")
	equal(t, "output", str(r.Output), "out\r\nerr\r\n")
	equal(t, "stdout", str(r.Stdout), "(absent)")
	equal(t, "events", len(s.events), 0)
}

func TestRunWithEvents(t *testing.T) {
	s := start(t)
	r := s.run("echo out", "events", []string{"started", "output", "exited", "closed"})
	equal(t, "stdout", str(r.Stdout), "out\n")
	equal(t, "pushed", s.output(r.Job.Handle, "stdout"), "out\n")
	r = s.run("echo out", "events", []string{})
	equal(t, "stdout", str(r.Stdout), "out\n")
}

func TestRunTimeoutKills(t *testing.T) {
	t.Parallel()
	s := start(t)
	// The whole tree is killed, and the output so far is in the result.
	r := s.run("echo before; sleep 60 & sleep 60", "timeoutMs", 300)
	equal(t, "exit", exitText(r.Exit), "timeout SIGTERM")
	equal(t, "timed out", r.TimedOut, true)
	equal(t, "stdout", str(r.Stdout), "before\n")
	o := s.await(r.Job.Handle, obj{"closed": true})
	equal(t, "status", o.Job.Status, schema.StatusClosed)
	r = s.run("true", "timeoutMs", nil)
	equal(t, "exit", exitText(r.Exit), "exited 0")
	r = s.run("sleep 60", "timeoutMs", 0)
	equal(t, "timed out", r.TimedOut, true)
	// A job that handles TERM and exits with 0 was still ended by the timeout.
	f := newFifo(t)
	c := s.begin("job/run", obj{"command": `trap "echo bye; exit 0" TERM; echo up >` + f.path + `; sleep 60 & wait`, "shell": "sh", "timeoutMs": 500})
	f.read()
	r = result[schema.JobRunResult](c)
	equal(t, "exit", exitText(r.Exit), "timeout 0")
	equal(t, "stdout", str(r.Stdout), "bye\n")
}

// TestRunGoesOn: events are sent from the answer on, started first, output from the end of the answer's; the checker
// compares the offsets.
func TestRunGoesOn(t *testing.T) {
	s, f := start(t), newFifo(t)
	r := s.run("echo before; cat "+f.path+"; echo after", "timeoutMs", 300, "onTimeout", "background")
	equal(t, "exit", exitText(r.Exit), "none")
	equal(t, "timed out", r.TimedOut, true)
	equal(t, "complete", r.OutputComplete, false)
	equal(t, "stdout", str(r.Stdout), "before\n")
	h := r.Job.Handle
	s.event(h, "job/started")
	f.release()
	equal(t, "pushed", s.output(h, "stdout"), "go\nafter\n")
	equal(t, "exit", s.exit(h), "exited 0")
	read := do[schema.JobReadResult](s, "job/read", obj{"handle": h, "stream": "stdout", "offset": 0})
	equal(t, "all of it", str(read.Text), "before\ngo\nafter\n")
}

// TestRunGoesOnManyTimes: wherever the flood is cut, the answer and the later output are all of it, once.
func TestRunGoesOnManyTimes(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"shutdownGraceMs": 0}})
	for i := range 10 {
		r := s.run("i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done", "timeoutMs", i, "onTimeout", "background", "maxBytes", 1<<20)
		if !r.TimedOut {
			continue
		}
		all := str(r.Stdout) + s.output(r.Job.Handle, "stdout")
		if n := strings.Count(all, "\n"); n != 3000 || !strings.HasSuffix(all, "\n2999\n") || !strings.HasPrefix(all, "0\n1\n") {
			t.Errorf("timeout %d ms: %d lines of 3000 (%d bytes in the answer)", i, n, len(str(r.Stdout)))
		}
	}
}

// TestHangUpOnTheAnswerOfARun: the events of a job that goes on after its run is answered are sent to its end, even if
// the client hangs up when it reads the answer, while the job is about to end by itself.
func TestHangUpOnTheAnswerOfARun(t *testing.T) {
	for range 10 {
		s := start(t, "options", obj{"limits": obj{"shutdownGraceMs": 0}})
		r := s.run("echo out; sleep 60", "timeoutMs", 20, "onTimeout", "background")
		s.hangUp()
		clean, err := s.end()
		equal(t, "clean", clean, false)
		equal(t, "error", err, nil)
		for _, method := range []string{"job/started", "job/exited", "job/closed"} {
			equal(t, method, len(s.all(r.Job.Handle, method)), 1)
		}
	}
}

func TestRunMaxBytes(t *testing.T) {
	s := start(t)
	r := s.run("i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done; echo error >&2", "maxBytes", 100, "mark", false)
	out := str(r.Stdout)
	if !strings.HasPrefix(out, "line 0\nline 1\n") || !strings.HasSuffix(out, "line 998\nline 999\n") || len(out) > 100 {
		t.Errorf("stdout %q", out)
	}
	tr, ok := r.Truncated["stdout"]
	if total := r.Job.Streams["stdout"].NextOffset; !ok || tr.HeadBytes+tr.TailBytes != int64(len(out)) || tr.HeadBytes+tr.OmittedBytes+tr.TailBytes != total {
		t.Errorf("truncated %+v of %d bytes", tr, total)
	}
	if kept := int64(strings.Count(out, "\n")); tr.OmittedLines != 1000-kept {
		t.Errorf("%d lines omitted, %d kept", tr.OmittedLines, kept)
	}
	equal(t, "stderr", str(r.Stderr), "error\n")
	if _, ok := r.Truncated["stderr"]; ok {
		t.Error("stderr is said to be truncated")
	}
	r = s.run("echo 0123456789", "mode", "pty", "maxBytes", 4, "format", "text")
	if tr, ok := r.Truncated["pty"]; !ok || tr.OmittedBytes != 8 {
		t.Errorf("pty: truncated %+v of %q", r.Truncated, str(r.Output))
	}
	r = s.run("echo 0123456789", "maxBytes", 0)
	equal(t, "nothing", str(r.Stdout), "")
	equal(t, "omitted", r.Truncated["stdout"].OmittedBytes, 11)
}

func TestRunFormats(t *testing.T) {
	s := start(t)
	const coloured = `printf '\033[31mred\033[0m\r\n10%%\r20%%\n'`
	equal(t, "text", str(s.run(coloured, "format", "text").Stdout), "\x1b[31mred\x1b[0m\r\n10%\r20%\n")
	equal(t, "plain", str(s.run(coloured).Stdout), "red\n20%\n")
	r := s.run(coloured, "format", "base64")
	b, _ := base64.StdEncoding.DecodeString(str(r.StdoutBase64))
	equal(t, "base64", string(b), "\x1b[31mred\x1b[0m\r\n10%\r20%\n")
	equal(t, "text beside base64", str(r.Stdout), "(absent)")
	r = s.run(`printf 'a\377b'`)
	b, _ = base64.StdEncoding.DecodeString(str(r.StdoutBase64))
	equal(t, "no UTF-8", string(b), "a\xffb")
	equal(t, "its stderr", str(r.Stderr), "")
}

// TestRunDrain: a background process holds the output open.
func TestRunDrain(t *testing.T) {
	s, f := start(t), newFifo(t)
	r := s.run("sleep 60 & echo hi", "drainMs", 50)
	equal(t, "exit", exitText(r.Exit), "exited 0")
	equal(t, "complete", r.OutputComplete, false)
	equal(t, "stdout", str(r.Stdout), "hi\n")
	equal(t, "status", r.Job.Status, schema.StatusExited)
	s.kill(r.Job.Handle)
	// Output of the background in that time is in the answer.
	c := s.begin("job/run", obj{"command": "(cat " + f.path + "; echo late) & echo hi", "shell": "sh", "drainMs": 3600_000})
	f.release()
	r = result[schema.JobRunResult](c)
	equal(t, "stdout", str(r.Stdout), "hi\ngo\nlate\n")
	equal(t, "complete", r.OutputComplete, true)
	// A background process that holds no output open delays nothing.
	r = s.run("sleep 60 >/dev/null 2>&1 & echo hi", "drainMs", 3600_000)
	equal(t, "stdout", str(r.Stdout), "hi\n")
	equal(t, "complete", r.OutputComplete, true)
	s.kill(r.Job.Handle)
}

func TestHints(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "noexec"), []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, "rootDirectory", root)
	for _, shell := range []string{"sh", "bash", "dash"} {
		needs(t, shell)
		for _, mode := range []string{"pipe", "pty"} {
			r := s.run("slep 1", "shell", shell, "mode", mode)
			equal(t, shell+" 127", exitText(r.Exit), "exited 127")
			if h := r.Hint; h == nil || h.Kind != schema.HintKindCommandNotFound || str(h.Command) != "slep" || !slices.Contains(h.Suggestions, "sleep") {
				t.Errorf("%s, %s: hint %+v, want sleep for slep", shell, mode, h)
			}
			r = s.run("./noexec", "shell", shell, "mode", mode)
			equal(t, shell+" 126", exitText(r.Exit), "exited 126")
			if h := r.Hint; h == nil || h.Kind != schema.HintKindPermissionDenied || str(h.Path) != filepath.Join(root, "noexec") {
				t.Errorf("%s, %s: hint %+v, want the path of noexec", shell, mode, h)
			}
		}
	}
	h := s.pipe("slep 1")
	if e := s.event(h, "job/exited"); e.Hint == nil || str(e.Hint.Command) != "slep" {
		t.Errorf("exited has the hint %+v", e.Hint)
	}
	equal(t, "a command that exits with 127 by itself", s.run("exit 127").Hint, nil)
}

// TestRunsThatEndAtOnce: a command that has ended before the server handles its end is answered like any other.
func TestRunsThatEndAtOnce(t *testing.T) {
	s := start(t)
	for range 20 {
		var calls []*call
		for range inParallel {
			calls = append(calls, s.begin("job/run", obj{"command": "printf out; no-such-program", "shell": "sh"}))
		}
		for _, c := range calls {
			r := result[schema.JobRunResult](c)
			equal(t, "exit", exitText(r.Exit), "exited 127")
			equal(t, "stdout", str(r.Stdout), "out")
			equal(t, "complete", r.OutputComplete, true)
			equal(t, "status", r.Job.Status, schema.StatusClosed)
			equal(t, "hint", r.Hint != nil, true)
		}
	}
}
