package jobs

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/shellmark"
)

// A fakeShell is a shell with integration that the test plays: it reads what is handed to it, and says
// what it does.
type fakeShell struct {
	*fakeJob
	look   *fakeLooker
	keys   *keyInput
	struck chan struct{} // an interrupt is to be sent
	send   chan struct{} // it may be
	feed   *bufio.Reader
}

const fakeNonce = "0123456789abcdef0123456789abcdef"

// lineEditor is a shell that reads a line, as a look sees it.
var lineEditor = inputwait.Verdict{Waiting: true, State: inputwait.Reading, Kind: inputwait.Raw, Confidence: inputwait.Exact, PID: os.Getpid(), Turns: 1, Why: "it reads"}

// A keyInput keeps what is typed.
type keyInput struct {
	typed chan string
	pass  func() // called before a key is; nil: nothing is
}

func (i *keyInput) Write(p []byte) (int, error) {
	if i.pass != nil {
		i.pass()
	}
	i.typed <- string(p)
	return len(p), nil
}

func (i *keyInput) WriteNow([]byte) (int, error) { return 0, nil }
func (i *keyInput) Interrupt(uint64)             {}
func (i *keyInput) GiveUp(uint64)                {}
func (i *keyInput) Close() error                 { return nil }

// A struckProcess lets the test see an interrupt before it is sent.
type struckProcess struct {
	*fakeProcess
	struck, send chan struct{}
}

func (p *struckProcess) PID() int { return os.Getpid() } // which goes on executing the same program

func (p *struckProcess) Signal(keeper.Target, syscall.Signal) error {
	p.struck <- struct{}{}
	<-p.send
	return nil
}

func startFakeShell(t *testing.T) *fakeShell {
	t.Helper()
	files := &shellFiles{}
	if _, err := files.open(); err != nil {
		t.Fatal(err)
	}
	s := &fakeShell{
		look: &fakeLooker{sees: works, began: time.Now()}, keys: &keyInput{typed: make(chan string, 64)},
		struck: make(chan struct{}, 8), send: make(chan struct{}), feed: bufio.NewReader(files.read),
	}
	var m *Manager
	s.fakeJob = startFakeWith(t, &recorder{}, func(fake *Manager) { m = fake }, func(*Spec) {
		launch := m.system.launch
		m.system.launch = func(spec *Spec, p plan) (*launched, *Error) {
			l, err := launch(spec, p)
			l.proc = &struckProcess{l.proc.(*fakeProcess), s.struck, s.send}
			l.input, l.looker = s.keys, s.look
			l.term = fakeTerminal{proc.Attrs{Echo: false, Signals: true, Intr: 3}}
			l.shell = &shellLaunch{
				watch:  &shellWatch{kind: shellmark.Zsh, files: files, feed: make(chan []byte, 2), secrets: map[string]bool{}},
				reader: shellmark.NewReader(fakeNonce),
			}
			return l, err
		}
	})
	t.Cleanup(s.end)
	s.tells("R")
	return s
}

// tells has the shell write marks.
func (s *fakeShell) tells(payloads ...string) {
	var text strings.Builder
	for _, p := range payloads {
		fmt.Fprintf(&text, "\x1b]633;shelld;%s;%s\a", fakeNonce, p)
	}
	s.says(text.String())
}

// heard returns when all that the shell has told was taken up.
func (s *fakeShell) heard() {
	s.t.Helper()
	s.says("x") // behind which the marks are there for the next turn
	must(s.t, s.History())
	must(s.t, s.History()) // which the turn under way cannot have answered
}

// takes has the shell read what is handed to it.
func (s *fakeShell) takes(want string) {
	s.t.Helper()
	key := string(shellmark.Zsh.Trigger())
	if want[0] == 'h' {
		key = string(shellmark.Zsh.HiddenTrigger())
	}
	if got := <-s.keys.typed; got != key {
		s.t.Fatalf("%q was typed, want %q", got, key)
	}
	head, err := s.feed.ReadString(0)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := s.feed.ReadString(0)
	if err != nil {
		s.t.Fatal(err)
	}
	if got := strings.TrimSuffix(head, "\x00") + " " + strings.Trim(text, "\x04\x00"); got != want {
		s.t.Fatalf("it was handed %q, want %q", got, want)
	}
}

func (s *fakeShell) runs(command string, interrupt bool) Pending[ExecResult] {
	s.t.Helper()
	p, err := s.Exec(ExecOptions{Command: command, Wait: execWait(-1), Interrupt: interrupt})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// strikes has somebody press Ctrl-C.
func (s *fakeShell) strikes() {
	s.t.Helper()
	w, err := s.Write(Input{Keys: []string{"Ctrl-C"}})
	if err != nil {
		s.t.Fatal(err)
	}
	must(s.t, w)
	if got := <-s.keys.typed; got != "\x03" {
		s.t.Fatalf("%q was typed", got)
	}
}

// runsThrough has the shell run one more command, from its request to its end.
func (s *fakeShell) runsThrough(id int64, command string) {
	s.t.Helper()
	one := s.runs(command, false)
	s.takes(fmt.Sprintf("n%d %s", id, command))
	s.tells(fmt.Sprintf("L;%d;0", id), fmt.Sprintf("B;%d", id), fmt.Sprintf("E;%d;0;/", id), "R")
	s.ended(one, id, 0)
}

// ended awaits the end of a command.
func (s *fakeShell) ended(p Pending[ExecResult], id int64, exit int) {
	s.t.Helper()
	if c := must(s.t, p).Command; c.ID != id || c.ExitCode == nil || *c.ExitCode != exit {
		s.t.Errorf("%+v, want command %d with status %d", c, id, exit)
	}
}

// became awaits an error that says what has become of a command.
func (s *fakeShell) became(p Pending[ExecResult], id int64, fate CommandFate) {
	s.t.Helper()
	if e := refused(s.t, p, CodeCanceled); e.CommandID != id || e.Fate != fate {
		s.t.Errorf("%+v, want command %d to be %s", e, id, fate)
	}
}

// A mark speaks of the command that has its number: what is left of one that was dropped is told of no other.
func TestExecPairsByNumber(t *testing.T) {
	s := startFakeShell(t)
	one, two := s.runs("echo one", false), s.runs("echo two", false)
	s.takes("n1 echo one")
	s.tells("L;1;0")
	s.strikes()
	s.tells("D;1", "R")
	s.became(one, 1, CommandDropped)
	s.takes("n2 echo two")
	s.tells("L;2;0", "B;1", "E;1;5;/", "D;1", "E;1;5;/", "R")
	s.tells("B;2", "E;2;3;/", "R")
	s.ended(two, 2, 3)
}

// A command whose beginning was lost on the way has run all the same, once.
func TestExecBeginningIsLost(t *testing.T) {
	s := startFakeShell(t)
	one := s.runs("echo one", false)
	s.takes("n1 echo one")
	s.strikes()
	s.tells("E;1;130;/", "R", "E;1;130;/", "R")
	s.ended(one, 1, 130)
	if all := must(t, s.History()); len(all) != 1 || all[0].ID != 1 || all[0].Typed {
		t.Errorf("%+v", all)
	}
}

// One that an interrupt has hit that was sent before it is handed once more.
func TestExecHandedOnceMore(t *testing.T) {
	s := startFakeShell(t)
	s.strikes()
	one := s.runs("echo one", false)
	s.takes("n1 echo one")
	s.tells("L;1;0", "D;1", "R")
	s.takes("n2 echo one")
	s.tells("L;2;0", "B;2", "E;2;0;/", "R")
	s.ended(one, 1, 0)
}

// The server's own interrupt is for the command that runs: until it is sent, nothing is handed to the
// shell, and none is sent where the command has ended.
func TestExecInterruptsNoOther(t *testing.T) {
	s := startFakeShell(t)
	one := s.runs("echo one", true)
	s.takes("n1 echo one")
	s.tells("L;1;0", "B;1")
	must(t, s.History()) // it is taken to run, or will be when it is cancelled
	one.Cancel()
	refused(t, one, CodeCanceled)
	<-s.struck
	s.tells("E;1;0;/", "R")
	two := s.runs("echo two", true)
	s.heard()
	s.inTurn(func() {
		if s.shell.watch.session.Phase() != shellmark.PhaseReady || len(s.shell.watch.queue) != 1 {
			t.Errorf("in phase %d, with %d commands, while an interrupt was being sent", s.shell.watch.session.Phase(), len(s.shell.watch.queue))
		}
	})
	s.send <- struct{}{}
	s.takes("n2 echo two")
	two.Cancel()
	s.became(two, 2, CommandInterrupted)
	s.tells("L;2;0", "B;2", "E;2;0;/", "R") // it has ended before anybody could
	s.runsThrough(3, "echo three")
	if len(s.struck) > 0 {
		t.Error("an interrupt was sent for a command that had ended")
	}
}

// Where the shell has read a command and is seen to read on, it is asked, and its answer decides.
func TestExecInDoubt(t *testing.T) {
	doubted := func(t *testing.T, struck bool) (*fakeShell, Pending[ExecResult]) {
		s := startFakeShell(t)
		one := s.runs("echo one", false)
		s.takes("n1 echo one")
		if struck {
			s.strikes()
		}
		s.tells("L;1;0")
		s.look.set(lineEditor)
		s.takes("h2 ")
		s.look.set(works)
		return s, one
	}
	for _, c := range []struct {
		name   string
		answer []string
		then   func(s *fakeShell, one Pending[ExecResult])
	}{
		{"it has run", []string{"E;1;7;/", "H;2;0"}, func(s *fakeShell, one Pending[ExecResult]) { s.ended(one, 1, 7) }},
		{"it was dropped", []string{"D;1", "H;2;0"}, func(s *fakeShell, one Pending[ExecResult]) { s.became(one, 1, CommandDropped) }},
		{"it was never read", []string{"E;0;0;/", "H;2;0"}, func(s *fakeShell, one Pending[ExecResult]) { s.became(one, 1, CommandDropped) }},
		{"it runs", []string{"B;1", "H;2;0", "E;1;3;/", "R"}, func(s *fakeShell, one Pending[ExecResult]) { s.ended(one, 1, 3) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, one := doubted(t, true)
			s.tells(c.answer...)
			c.then(s, one)
			two := s.runs("echo two", false)
			s.takes("n3 echo two")
			s.tells("L;3;0", "B;3", "E;3;0;/", "R")
			s.ended(two, 2, 0)
		})
	}
	t.Run("it was dropped unasked", func(t *testing.T) {
		s, one := doubted(t, false)
		s.tells("D;1", "H;2;0")
		s.takes("n3 echo one")
		s.tells("L;3;0", "B;3", "E;3;0;/", "R")
		s.ended(one, 1, 0)
	})
	t.Run("no answer, and it runs later", func(t *testing.T) {
		s, one := doubted(t, true)
		s.look.set(lineEditor)
		s.became(one, 1, CommandUnknown)
		s.look.set(works)
		s.tells("B;1", "E;1;6;/", "R")
		two := s.runs("echo two", false)
		s.takes("n3 echo two")
		s.tells("L;3;0", "B;3", "E;3;0;/", "R")
		s.ended(two, 2, 0)
		all := must(t, s.History())
		if len(all) != 2 || all[0].ID != 1 || deref(t, all[0].ExitCode) != 6 || !all[0].Finished || all[0].Typed {
			t.Errorf("%+v", all)
		}
	})
}

// What the shell has not read of a command is taken back, and certainly does not run.
func TestExecNotRead(t *testing.T) {
	s := startFakeShell(t)
	one := s.runs("echo one", false)
	if got := <-s.keys.typed; got != string(shellmark.Zsh.Trigger()) {
		t.Fatalf("%q", got)
	}
	s.strikes()
	s.look.set(lineEditor)
	s.became(one, 1, CommandDropped)
	two := s.runs("echo two", false)
	s.look.set(works)
	<-s.keys.typed
	head, err := s.feed.ReadString(0)
	if err != nil {
		t.Fatal(err)
	}
	seq := strings.Trim(head, "n\x00")
	if text, _ := s.feed.ReadString(0); text != "\x04echo two\x04\x00" {
		t.Fatalf("%q", text)
	}
	s.tells("L;"+seq+";0", "B;"+seq, "E;"+seq+";0;/", "R")
	s.ended(two, 2, 0)
}

// A command whose end an interrupt has taken away, with the prompt behind it, keeps nobody waiting: the
// shell is seen to read, and asked. Where it runs on, that is all.
func TestExecEndIsLost(t *testing.T) {
	for _, runs := range []bool{false, true} {
		t.Run(fmt.Sprintf("runs=%v", runs), func(t *testing.T) {
			s := startFakeShell(t)
			one := s.runs("echo one", false)
			s.takes("n1 echo one")
			s.tells("L;1;0", "B;1")
			s.strikes()
			s.says("\x1b[?2004h")
			two := s.runs("echo two", false)
			likely := lineEditor
			likely.State, likely.Confidence = inputwait.Listening, inputwait.Likely // while others run
			s.look.set(likely)
			s.takes("h2 ")
			s.look.set(works)
			if runs {
				s.tells("B;1", "H;2;0")
				s.heard()
				s.look.set(likely)
				for range 3 {
					must(t, s.Info()) // which looks
				}
				if len(s.keys.typed) > 0 {
					t.Fatalf("%q was typed into what runs", <-s.keys.typed)
				}
				s.look.set(works)
				s.tells("E;1;9;/", "R")
				s.ended(one, 1, 9)
			} else {
				s.tells("E;1;130;/", "H;2;0")
				s.ended(one, 1, 130)
			}
			s.takes("n3 echo two")
			s.tells("L;3;0", "B;3", "E;3;0;/", "R")
			s.ended(two, 2, 0)
			ids := []int64{}
			for _, c := range must(t, s.History()) {
				ids = append(ids, c.ID)
			}
			if !slices.Equal(ids, []int64{1, 2}) {
				t.Errorf("commands %v have run", ids)
			}
		})
	}
}
