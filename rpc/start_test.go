package rpc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

func TestStartInfo(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, "rootDirectory", root)
	r := do[schema.JobStartResult](s, "job/start", obj{
		"command": "stty size; sleep 60", "shell": "sh", "cwd": "sub", "cols": 100, "rows": 30, "name": "j", "group": "g",
		"description": "why", "watch": []obj{{"pattern": "a", "flags": "i", "once": true}, {"pattern": "b", "on": "raw", "stream": "pty"}},
	}).Job
	equal(t, "cwd", r.Cwd, filepath.Join(root, "sub"))
	equal(t, "command", str(r.Command), "stty size; sleep 60")
	equal(t, "argv", strings.Join(r.Argv, "|"), "sh|-c|stty size; sleep 60")
	equal(t, "mode", r.Mode, schema.ModePty)
	equal(t, "size", [2]int64{r.Cols, r.Rows}, [2]int64{100, 30})
	equal(t, "names", str(r.Name)+" "+str(r.Group)+" "+str(r.Description), "j g why")
	equal(t, "status", r.Status, schema.StatusRunning)
	equal(t, "exit", r.Exit, nil)
	equal(t, "watches", len(r.Watches), 2)
	equal(t, "second watch", r.Watches[1].WatchID, 2)
	s.see(r.Handle, "30 100")
	s.kill("j")
	i := s.get("j")
	equal(t, "status", i.Status, schema.StatusClosed)
	equal(t, "ended", i.EndedAt != nil, true)
	equal(t, "pid", i.PID, r.PID)
	equal(t, "kept", i.Streams["pty"].Kept[0][1], i.Streams["pty"].NextOffset)
}

func TestStartArgvTakesNoShell(t *testing.T) {
	s := start(t)
	r := do[schema.JobRunResult](s, "job/run", obj{"argv": []string{"printf", "%s|", "$HOME", "a b", "*", ";", ""}})
	equal(t, "stdout", str(r.Stdout), "$HOME|a b|*|;||")
}

func TestInteractiveShell(t *testing.T) {
	s := start(t)
	h := do[schema.JobStartResult](s, "job/start", obj{"shell": "sh"}).Job.Handle
	o := s.write(h, "echo $((40+2)); exit 5\r", "wait", obj{"until": []obj{{"pattern": `42\r`}, {"exit": true}}}).Outcome
	equal(t, "reason", o.Reason, schema.OutcomeReasonPattern)
	equal(t, "exit", s.exit(h), "exited 5")
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SHELLD_TEST_OWN", "inherited")
	s := start(t)
	const show = `printf '%s|' "${HOME-unset}" "${A-unset}" "${EMPTY-unset}" "${SHELLD_TEST_OWN-unset}" "${TERM-unset}" "$PWD"`
	r := s.run(show, "env", obj{"HOME": nil, "A": "x=y z", "EMPTY": ""})
	cwd := s.pipe("true")
	equal(t, "pipe", str(r.Stdout), "unset|x=y z||unset|unset|"+s.get(cwd).Cwd+"|")
	r = s.run(show, "mode", "pty", "env", obj{"HOME": "/h", "TERM": nil})
	equal(t, "pty without TERM", str(r.Output), "/h|unset|unset|unset|unset|"+s.get(cwd).Cwd+"|")
	r = s.run(`echo $TERM`, "mode", "pty", "format", "text")
	equal(t, "pty", str(r.Output), "xterm-256color\r\n")
}

func TestStderr(t *testing.T) {
	s := start(t)
	const both = "echo a; echo b >&2; echo c; echo d >&2"
	for _, c := range []struct{ stderr, out, err string }{
		{"separate", "a\nc\n", "b\nd\n"}, {"merge", "a\nb\nc\nd\n", "(absent)"}, {"discard", "a\nc\n", "(absent)"},
	} {
		r := s.run(both, "stderr", c.stderr)
		equal(t, c.stderr+": stdout", str(r.Stdout), c.out)
		equal(t, c.stderr+": stderr", str(r.Stderr), c.err)
		h := s.pipe(both, "stderr", c.stderr)
		equal(t, c.stderr+": pushed stdout", s.output(h, "stdout"), c.out)
		if c.stderr == "separate" {
			equal(t, "pushed stderr", s.output(h, "stderr"), c.err)
		} else if _, ok := s.get(h).Streams["stderr"]; ok {
			t.Errorf("%s: there is a stream stderr", c.stderr)
		}
	}
}

func TestStdinIsNullUnlessOpen(t *testing.T) {
	s := start(t)
	equal(t, "stdout", str(s.run("cat; echo end").Stdout), "end\n")
	h := s.pipe("cat; echo end", "stdin", "null")
	equal(t, "output", s.output(h, "stdout"), "end\n")
}

// TestPipelining: requests by name that are sent before any of them is answered take effect in order.
func TestPipelining(t *testing.T) {
	for _, mode := range []string{"pipe", "pty"} {
		t.Run(mode, func(t *testing.T) {
			s := start(t)
			p := obj{"command": "stty -echo 2>/dev/null; echo ready; exec cat", "shell": "sh", "name": "j", "mode": mode}
			if mode == "pipe" {
				p["stdin"] = "open"
			}
			begun := s.begin("job/start", p)
			s.begin("job/wait", obj{"handle": "j", "until": until(obj{"pattern": "ready"})})
			var writes []*call
			for _, line := range []string{"one\n", "two\n", "three\n"} {
				writes = append(writes, s.begin("job/write", obj{"handle": "j", "input": line}))
			}
			wait := s.begin("job/wait", obj{"handle": "j", "until": until(obj{"pattern": "three"}), "from": "start"})
			writes = append(writes, s.begin("job/write", obj{"handle": "j", "eof": true}))
			exit := s.begin("job/wait", obj{"handle": "j", "until": until(obj{"closed": true})})
			h := result[schema.JobStartResult](begun).Job.Handle
			for _, w := range writes {
				result[schema.JobWriteResult](w)
			}
			equal(t, "wait", result[schema.JobWaitResult](wait).Outcome.Reason, schema.OutcomeReasonPattern)
			equal(t, "exit", exitText(result[schema.JobWaitResult](exit).Outcome.Job.Exit), "exited 0")
			stream := map[string]string{"pipe": "stdout", "pty": "pty"}[mode]
			// A terminal may echo input from before stty; the order holds anyway.
			got := strings.ReplaceAll(s.output(h, stream), "\r", "")
			if !strings.HasSuffix(got, "one\ntwo\nthree\n") {
				t.Errorf("output %q", got)
			}
		})
	}
}

func TestNames(t *testing.T) {
	s := start(t)
	first := s.pipe("echo first", "name", "n")
	s.event(first, "job/exited")
	equal(t, "an ended job by name", s.get("n").Handle, first)
	r := do[schema.JobReadResult](s, "job/read", obj{"handle": "n", "stream": "stdout"})
	equal(t, "its output", str(r.Text), "first\n")
	second := s.pipe("sleep 60", "name", "n")
	equal(t, "the one started last", s.get("n").Handle, second)
	d := refused[schema.NameInUseData](s.begin("job/run", obj{"command": "true", "name": "n"}), schema.KindNameInUse)
	equal(t, "holder", d.Handle, second)
	s.kill("n")
	third := s.pipe("true", "name", "n")
	equal(t, "the one started last", s.get("n").Handle, third)
	equal(t, "the first by handle", s.get(first).Handle, first)
	// 1.0 and 1e0 are integers too.
	for _, spelled := range []string{`1.0`, `1e0`} {
		equal(t, "handle "+spelled, s.get(wire(spelled)).Handle, 1)
	}
}

// TestNameAtExited: the name is free at exited, although a background process lives on.
func TestNameAtExited(t *testing.T) {
	s := start(t)
	first := s.pipe("sleep 60 & echo up", "name", "n")
	s.event(first, "job/exited")
	second := s.pipe("sleep 60", "name", "n")
	equal(t, "first", s.get(first).Status, schema.StatusExited)
	equal(t, "second", s.get("n").Handle, second)
}

func TestList(t *testing.T) {
	s := start(t)
	s.pipe("sleep 60", "group", "a")
	ended := s.pipe("true", "group", "a")
	s.pty("sleep 60", "group", "b")
	s.pipe("sleep 60")
	s.event(ended, "job/closed")
	for _, c := range []struct {
		params obj
		want   []int64
	}{
		{obj{}, []int64{1, 2, 3, 4}},
		{obj{"live": true}, []int64{1, 3, 4}},
		{obj{"live": false}, []int64{2}},
		{obj{"group": "a"}, []int64{1, 2}},
		{obj{"group": "a", "live": true}, []int64{1}},
		{obj{"group": "c"}, nil},
	} {
		var got []int64
		for _, j := range do[schema.JobListResult](s, "job/list", c.params).Jobs {
			got = append(got, j.Handle)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("job/list %v: %v, want %v", c.params, got, c.want)
		}
	}
}

// TestChosenEvents: a client gets only the events that it asked for, and seq counts only these.
func TestChosenEvents(t *testing.T) {
	s := start(t, "options", obj{"events": []string{"exited", "closed"}})
	h := s.pipe("echo a")
	s.event(h, "job/closed")
	equal(t, "events", len(s.all(h, "job/exited"))+len(s.all(h, "job/closed")), 2)
	equal(t, "outputs", len(s.all(h, "job/output"))+len(s.all(h, "job/started")), 0)
	silent := s.pipe("echo a", "events", []string{})
	s.await(silent, obj{"closed": true})
	h = s.pipe("echo a", "events", []string{"started", "output", "closed"})
	equal(t, "output", s.output(h, "stdout"), "a\n")
	equal(t, "exits", len(s.all(h, "job/exited")), 0)
	s.quit()
	for _, e := range s.events {
		if e.Handle == silent {
			t.Errorf("job %d wanted no events and got %s", silent, e.Method)
		}
	}
}

func TestBase64Encoding(t *testing.T) {
	s := start(t, "options", obj{"encoding": "base64"})
	h := s.pipe("printf 'caf\\303\\251'")
	equal(t, "output", s.output(h, "stdout"), "café")
	for _, e := range s.all(h, "job/output") {
		if e.Text != nil {
			t.Errorf("text %q, base64 was asked for", *e.Text)
		}
	}
}
