package rpc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// A stateChange has the members of job/stateChanged, without handle and seq.
type stateChange struct {
	Changed         []string
	Status          *string
	Signal          *string
	Title           *string
	Cwd             *string
	Bell            *int64
	Size            *schema.Size
	Foreground      json.RawMessage // null is a value
	OutputFileError *schema.OutputFileError
}

// check checks that the event has the values of all changed states, and no others.
func (c *stateChange) check(wrong func(string, ...any)) {
	there := map[string]bool{
		"status": c.Status != nil, "title": c.Title != nil, "cwd": c.Cwd != nil, "bell": c.Bell != nil,
		"size": c.Size != nil, "foreground": c.Foreground != nil, "outputFile": c.OutputFileError != nil,
	}
	for name, is := range there {
		if n := slices.Contains(c.Changed, name); n != is {
			wrong("%s is among what has changed: %v; its value is there: %v", name, n, is)
		}
	}
	if c.Signal != nil && str(c.Status) != "stopped" {
		wrong("the signal %s, of a status %s", *c.Signal, str(c.Status))
	}
}

// change waits for a job/stateChanged for which holds returns true.
func (s *session) change(handle int64, what string, holds func(e event) bool) (found event) {
	s.t.Helper()
	s.wait(fmt.Sprintf("job/stateChanged of job %d: %s", handle, what), func() bool {
		for _, e := range s.events {
			if e.Handle == handle && e.Method == "job/stateChanged" && holds(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// before returns the output of a job that came before an event.
func (s *session) before(e event) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, o := range s.events {
		if o.Handle == e.Handle && o.Method == "job/output" && o.Seq < e.Seq {
			b.Write(o.data())
		}
	}
	return b.String()
}

func TestWhatProgramsTellTheirTerminal(t *testing.T) {
	s := start(t)
	h := s.pty(`printf 'one \033]0;first\033\\ \007 two'; read x; printf '\033]7;file:///a%%20b\007\a\033]2;\a three'; read x`)
	e := s.change(h, "title", func(e event) bool { return e.Title != nil })
	equal(t, "title", str(e.Title), "first")
	if out := s.before(e); !strings.Contains(out, "first") {
		t.Errorf("the title comes after %q", out)
	}
	s.see(h, "two")
	info := s.get(h)
	equal(t, "title of the job", str(info.Title), "first")
	equal(t, "current directory", str(info.CurrentDirectory), "(absent)")
	s.write(h, "\n")
	e = s.change(h, "directory", func(e event) bool { return e.Cwd != nil })
	equal(t, "directory", str(e.Cwd), "/a b")
	e = s.change(h, "no title", func(e event) bool { return e.Title != nil && *e.Title == "" })
	e = s.change(h, "bell", func(e event) bool { return e.Bell != nil && *e.Bell == 2 })
	s.see(h, "three")
	info = s.get(h)
	equal(t, "title in the end", str(info.Title), "(absent)")
	equal(t, "current directory in the end", str(info.CurrentDirectory), "/a b")
	listed := do[schema.JobListResult](s, "job/list", nil).Jobs[0]
	equal(t, "current directory as listed", str(listed.CurrentDirectory), "/a b")
	s.kill(h)
	equal(t, "current directory after the end", str(s.get(h).CurrentDirectory), "/a b")
}

// TestAPipeTellsNothing: a pipe is not a terminal, so a title sequence in it is only output.
func TestAPipeTellsNothing(t *testing.T) {
	s := start(t)
	h := s.pipe(`printf '\033]0;title\a'`)
	equal(t, "exit", s.exit(h), "exited 0")
	s.event(h, "job/closed")
	info := s.get(h)
	if info.Title != nil || info.Foreground != nil || len(s.all(h, "job/stateChanged")) > 0 {
		t.Errorf("title %s, foreground %v", str(info.Title), info.Foreground)
	}
}

// TestNothingChanged: a command that does not change its terminal causes no job/stateChanged.
func TestNothingChanged(t *testing.T) {
	s := start(t)
	for _, argv := range [][]string{{"printf", "plain \x1b[31mred\x1b[0m"}, {"sh", "-c", "stty size; ls /"}, {"bash", "-c", "echo a | cat; exit 3"}} {
		needs(t, argv[0])
		h := do[schema.JobStartResult](s, "job/start", obj{"argv": argv}).Job.Handle
		s.event(h, "job/closed")
		if all := s.all(h, "job/stateChanged"); len(all) > 0 {
			t.Errorf("%v: %d changes, the first %+v", argv, len(all), all[0].stateChange)
		}
	}
}

func TestStopAndContinueAreTold(t *testing.T) {
	s := start(t)
	// A command that stops itself at once may be continued by its own start.
	h := s.pty("echo before; read x; kill -STOP $$; echo after; read x")
	s.see(h, "before")
	s.write(h, "\n")
	e := s.change(h, "stopped", func(e event) bool { return str(e.Status) == "stopped" })
	equal(t, "signal", str(e.Signal), "SIGSTOP")
	if out := s.before(e); !strings.HasPrefix(out, "before\r\n") || strings.Contains(out, "after") {
		t.Errorf("output before: %q", out)
	}
	equal(t, "status", s.get(h).Status, schema.StatusStopped)
	do[schema.JobSignalResult](s, "job/signal", obj{"handle": h, "signal": "CONT", "target": "tree"})
	e = s.change(h, "running", func(e event) bool { return str(e.Status) == "running" })
	equal(t, "signal", str(e.Signal), "(absent)")
	s.see(h, "after")
	p := s.pipe("read x; kill -TSTP $$; read x", "stdin", "open")
	s.write(p, "\n")
	equal(t, "signal in pipe mode", str(s.change(p, "stopped", func(e event) bool { return e.Status != nil }).Signal), "SIGTSTP")
	s.kill(p)
}

func TestResizeIsTold(t *testing.T) {
	s := start(t)
	h := s.pty("echo ready; read x")
	s.see(h, "ready")
	for _, size := range [][2]int{{80, 24}, {132, 43}, {132, 43}, {100, 30}} {
		do[schema.JobResizeResult](s, "job/resize", obj{"handle": h, "cols": size[0], "rows": size[1]})
	}
	s.write(h, "\n")
	s.event(h, "job/closed")
	var sizes []schema.Size
	for _, e := range s.all(h, "job/stateChanged") {
		if e.Size != nil {
			sizes = append(sizes, *e.Size)
		}
	}
	// The events of a client that reads slowly are merged: only the last one is certain.
	if n := len(sizes); n < 1 || n > 2 || sizes[n-1] != (schema.Size{Cols: 100, Rows: 30}) {
		t.Errorf("sizes %v, want 132x43 and 100x30", sizes)
	}
}

func TestEventsWithoutChanges(t *testing.T) {
	s := start(t)
	h := s.pty(`printf '\033]0;title\a shown'; read x`, "events", []string{"output", "exited", "closed"})
	s.see(h, "shown")
	do[schema.JobResizeResult](s, "job/resize", obj{"handle": h, "cols": 132, "rows": 43})
	s.kill(h)
	s.event(h, "job/closed")
	equal(t, "title", str(s.get(h).Title), "title")
	if all := s.all(h, "job/stateChanged"); len(all) > 0 {
		t.Errorf("%d changes were told", len(all))
	}
}

// TestChangesToASlowClient: a title that changes thousands of times while a client reads nothing is sent once.
func TestChangesToASlowClient(t *testing.T) {
	s := start(t)
	needs(t, "bash")
	done := newFifo(t)
	s.gate.let(false)
	c := s.begin("job/start", obj{"shell": "bash", "command": `for i in {1..20000}; do printf '\e]0;title %d\a' $i; done; read x <` + done.path})
	done.release() // received by a job that has written everything
	s.gate.let(true)
	h := result[schema.JobStartResult](c).Job.Handle
	s.event(h, "job/closed")
	all := s.all(h, "job/stateChanged")
	if len(all) == 0 || len(all) > 500 || str(all[len(all)-1].Title) != "title 20000" {
		t.Errorf("%d changes", len(all))
	}
	for _, e := range all {
		if out := s.before(e); e.Title != nil && !strings.Contains(out, "\x1b]0;"+*e.Title+"\a") {
			t.Errorf("the title %s comes after %d bytes, before the output that has it", *e.Title, len(out))
		}
	}
}

// TestKeysFollowTheModes: keys are encoded for the modes that the program has set.
func TestKeysFollowTheModes(t *testing.T) {
	needs(t, "od")
	s := start(t)
	read := `dd bs=3 count=1 2>/dev/null | od -An -c; `
	h := s.pty(`stty raw -echo; printf 'normal'; ` + read + `printf '\033[?1happlication'; ` + read + `printf '\033[!preset'; ` + read)
	for _, c := range []struct{ ready, shown string }{{"normal", `033\s+\[\s+A`}, {"application", `033\s+O\s+A`}, {"reset", `033\s+\[\s+A`}} {
		s.see(h, c.ready)
		do[schema.JobWriteResult](s, "job/write", obj{"handle": h, "keys": []string{"Up"}})
		s.see(h, c.ready+`\s+`+c.shown)
	}
}

// foreground returns the command line in a change of the foreground process.
func foreground(e event) string {
	var p *schema.Process
	if err := json.Unmarshal(e.Foreground, &p); err != nil || p == nil {
		return ""
	}
	return p.Command
}

func TestForeground(t *testing.T) {
	needs(t, "bash")
	s := start(t)
	r := do[schema.JobStartResult](s, "job/start", obj{"argv": []string{"bash", "--norc", "-i"}, "env": obj{"PS1": "READY> "},
		"wait": obj{"until": until(obj{"pattern": "READY> $"})}})
	h, leader := r.Job.Handle, r.Job.PID
	if f := r.Job.Foreground; f == nil || f.PID != leader || f.Command != "bash --norc -i" {
		t.Fatalf("foreground at the start: %+v", f)
	}
	// A program that writes causes an event, and so does the shell when it writes again.
	s.write(h, "sh -c 'echo inner; read x; :'\r")
	e := s.change(h, "the inner shell", func(e event) bool { return strings.HasPrefix(foreground(e), "sh -c") })
	s.see(h, "inner\r\n")
	s.write(h, "\r")
	s.change(h, "bash again", func(b event) bool { return b.Seq > e.Seq && foreground(b) == "bash --norc -i" })
	// A silent program is found when the client asks.
	silent := newFifo(t)
	s.write(h, "sh -c 'echo started >"+silent.path+"; read x; :'\r")
	silent.read()
	if f := s.get(h).Foreground; f == nil || f.PID == leader || !strings.HasPrefix(f.Command, "sh -c") {
		t.Errorf("foreground of one that is silent: %+v", f)
	}
	s.write(h, "\r", "wait", obj{"until": until(obj{"pattern": "READY> $"})})
	// If the first process of a pipeline has ended, another one represents it.
	started := newFifo(t)
	s.write(h, "true | sh -c 'cat; echo started >"+started.path+"; read x </dev/tty; :'\r")
	started.read()
	if f := s.get(h).Foreground; f == nil || f.PID == leader || !strings.HasPrefix(f.Command, "sh -c") {
		t.Errorf("foreground of a pipeline: %+v", f)
	}
	s.kill(h)
	if f := s.get(h).Foreground; f != nil {
		t.Errorf("foreground after the end: %+v", f)
	}
}

// TestAnEditorsTitle: vim switches to another screen, and sets a title that it restores at the end.
func TestAnEditorsTitle(t *testing.T) {
	needs(t, "vim")
	s := start(t)
	file := t.TempDir() + "/letter.txt"
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := s.pty(`printf '\033]2;mine\a'; vim -u NONE -N -i NONE --cmd 'set title titlestring=editing' `+file+`; echo gone; read x`, "env", obj{"TERM": "xterm-256color"})
	s.change(h, "vim's title", func(e event) bool { return str(e.Title) == "editing" })
	do[schema.JobWriteResult](s, "job/write", obj{"handle": h, "keys": []string{"Down"}})
	s.write(h, "dd:wq\r", "wait", obj{"until": until(obj{"pattern": "gone"})})
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\nthree\n" {
		t.Errorf("the arrow led elsewhere: %q, %v", text, err)
	}
	equal(t, "title after vim", str(s.get(h).Title), "mine")
}
