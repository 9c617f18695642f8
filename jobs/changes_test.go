package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/screen"
)

// changes returns the changes reported to a sink, each with the offset that it follows.
func (r *recorder) changes() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Changed != nil {
			all = append(all, fmt.Sprintf("%s after %d", describe(e.Changed), e.After[PTY]))
		}
	}
	return all
}

func describe(c *Changed) string {
	var parts []string
	add := func(w Change, format string, args ...any) {
		if c.What&w != 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(ChangeStatus, "%s %s", c.Status, c.Signal)
	add(ChangeTitle, "title %q", c.Title)
	add(ChangeDirectory, "directory %q", c.Directory)
	add(ChangeBell, "bells %d", c.Bells)
	add(ChangeSize, "size %dx%d", c.Cols, c.Rows)
	add(ChangeForeground, "foreground %v", c.Foreground)
	add(ChangeOutputFile, "file %s", c.OutputFile.Path)
	add(ChangeIntegration, "integration %q", c.Integration)
	return strings.Join(parts, ", ")
}

func TestChangesComeAfterTheirOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFake(t, sink)
		step := func(want string, do func()) {
			t.Helper()
			before := len(sink.changes())
			do()
			synctest.Wait()
			if got := sink.changes()[before:]; strings.Join(got, "; ") != want {
				t.Errorf("changes %q, want %q", got, want)
			}
		}
		out := func(s string) func() { return func() { f.out.data <- []byte(s) } }
		step(``, out("plain"))
		step(``, out("\x1b]0;ti"))
		step(`title "title" after 15`, out("tle\a"))
		step(``, out("\x1b]2;title\a"))
		step(`directory "/x", bells 1 after 40`, out("\x1b]7;file:///x\a\a"))
		step(`title "" after 45`, out("\x1b]2;\a"))
		step(`stopped SIGTSTP after 45`, func() { f.proc.tell(keeper.Event{Kind: keeper.Stopped, Signal: 20}) })
		step(``, func() { f.proc.tell(keeper.Event{Kind: keeper.Stopped, Signal: 20}) })
		step(`running  after 45`, func() { f.proc.tell(keeper.Event{Kind: keeper.Continued}) })
		step(`size 100x30 after 45`, func() { must(t, f.Resize(100, 30, "")) })
		step(``, func() { must(t, f.Resize(100, 30, "")) })
		// A title in the last output is reported before the exit.
		step(`title "last" after 54`, func() {
			f.out.data <- []byte("\x1b]2;last")
			f.out.data <- []byte("\a")
			f.proc.exit(0)
			f.proc.gone()
		})
		sink.mu.Lock()
		if last := sink.events[len(sink.events)-3]; last.Changed == nil {
			t.Errorf("before exited and closed there is %+v", last)
		}
		sink.mu.Unlock()
		if info := must(t, f.Info()); info.Title != "last" || info.CurrentDirectory != "/x" || info.Foreground != nil {
			t.Errorf("info at the end %+v", info)
		}
		f.finish()
	})
}

// Info has the title and the modes of output that has just been read, even before the change is reported.
func TestInfoIsNotBehindTheOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.out.data <- []byte("x")
		synctest.Wait()
		f.display.j.heard.read([]byte("\x1b]0;new\a\x1b[?1h")) // the readLoop waits for data
		if info := must(t, f.Info()); info.Title != "new" {
			t.Errorf("title %q", info.Title)
		}
		if m := f.display.j.modes(); m != (screen.Modes{ApplicationCursor: true}) {
			t.Errorf("modes %+v", m)
		}
		f.end()
	})
}

func TestUnsettled(t *testing.T) {
	bash := &Process{1, "bash"}
	for _, c := range []struct {
		now, before *Process
		want        bool
	}{
		{nil, nil, false}, {nil, bash, false}, {bash, nil, false}, {&Process{2, "vim"}, bash, false},
		{&Process{2, "bash"}, bash, true}, {&Process{2, "[vim]"}, bash, true}, {&Process{2, "[vim]"}, nil, true},
	} {
		if got := c.now.unsettled(c.before); got != c.want {
			t.Errorf("%v after %v: %v", c.now, c.before, got)
		}
	}
}

// Many titles in one piece of output are one event, with the last title.
func TestManyTitlesAreFewEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFake(t, sink)
		var b strings.Builder
		for i := range 200 {
			fmt.Fprintf(&b, "\x1b]0;title %d\a", i)
		}
		f.out.data <- []byte(b.String())
		synctest.Wait()
		if got := sink.changes(); !slices.Equal(got, []string{fmt.Sprintf(`title "title 199" after %d`, b.Len())}) {
			t.Errorf("changes %q", got)
		}
		f.end()
	})
}

func TestForegroundLooksComeInAnyOrder(t *testing.T) {
	j := newJob(newManager(nil), 1, Spec{})
	defer j.timer.Stop()
	j.st.status = StatusRunning
	find := func(number uint64, p *Process) { j.changes.onForeground(foregroundMsg{number: number, foreground: p}) }
	vim, vim2 := &Process{5, "vim"}, &Process{5, "vim"}
	find(2, vim)
	find(1, &Process{4, "older"})
	if got := describe(&j.untold); got != "foreground &{5 vim}" || j.info.Foreground != vim {
		t.Errorf("changed: %s; foreground %v", got, j.info.Foreground)
	}
	j.untold = Changed{}
	find(3, vim2)
	j.changes.onForeground(foregroundMsg{number: 4, failed: true})
	if j.untold.What != 0 {
		t.Errorf("changed: %s, though nothing has", describe(&j.untold))
	}
	find(5, nil)
	if got := describe(&j.untold); got != "foreground <nil>" {
		t.Errorf("changed: %s", got)
	}
	// A late answer has the info of the time of the request, with the foreground found since.
	r := newReply[Info]()
	j.changes.onForeground(foregroundMsg{number: 6, foreground: vim, asked: &infoMsg{r}, info: Info{Title: "then"}})
	if info := (<-r.c).Value; info.Title != "then" || info.Foreground != vim {
		t.Errorf("answer %+v", info)
	}
	// The request is answered even if the job's loop has ended.
	r = newReply[Info]()
	j.refuse(foregroundMsg{asked: &infoMsg{r}, info: Info{Title: "then"}}, j.gone())
	if a := <-r.c; a.Err != nil || a.Value.Title != "then" {
		t.Errorf("answer of nobody %+v", a)
	}
}

func TestChangedAdd(t *testing.T) {
	all := Changed{
		What:   ChangeStatus | ChangeTitle | ChangeDirectory | ChangeBell | ChangeSize | ChangeForeground | ChangeOutputFile | ChangeIntegration,
		Status: StatusStopped, Signal: "SIGSTOP", Title: "t", Directory: "/d", Bells: 3, Cols: 1, Rows: 2,
		Foreground: &Process{1, "x"}, OutputFile: OutputFileError{"/f", "full"}, Integration: "bash",
	}
	var c Changed
	c.Add(all)
	if c != all {
		t.Errorf("%+v, want %+v", c, all)
	}
	c.Add(Changed{What: ChangeStatus, Status: StatusRunning, Title: "not this one"})
	want := all
	want.Status, want.Signal = StatusRunning, ""
	if c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	e := Event{After: map[Stream]int64{PTY: 5, Stdout: 1}, Changed: &Changed{What: ChangeTitle, Title: "a"}}
	first := e.Changed
	e.Join(Event{After: map[Stream]int64{PTY: 4, Stderr: 2}, Changed: &Changed{What: ChangeTitle, Title: "b"}})
	if e.Changed.Title != "b" || first.Title != "a" || fmt.Sprint(e.After) != "map[pty:5 stderr:2 stdout:1]" {
		t.Errorf("joined %+v %v; the first is %+v", e.Changed, e.After, first)
	}
}
