package jobs

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/shellfiles"
	"shelld.dev/shelld/jobs/internal/shellmark"
)

// A fakeShell is a simulated shell with integration: the test reads the commands handed to it, and writes its marks.
type fakeShell struct {
	*fakeJob
	look   *fakeLooker
	keys   *keyInput
	struck chan struct{} // receives a value when the server sends an interrupt
	send   chan struct{} // lets that interrupt through
	feed   *bufio.Reader
}

const fakeNonce = "0123456789abcdef0123456789abcdef"

// lineEditor is the result of a probe of a shell that reads a line.
var lineEditor = inputwait.Verdict{Waiting: true, State: inputwait.Reading, Kind: inputwait.Raw, Confidence: inputwait.Exact, PID: os.Getpid(), Turns: 1, Why: "it reads"}

// A keyInput keeps what is typed.
type keyInput struct {
	typed chan string
	pass  func() // called before each key; may be nil
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

// A struckProcess blocks an interrupt until the test lets it through.
type struckProcess struct {
	*fakeProcess
	struck, send chan struct{}
}

func (p *struckProcess) PID() int { return os.Getpid() } // The image of this process does not change.

func (p *struckProcess) Signal(keeper.Target, syscall.Signal) error {
	p.struck <- struct{}{}
	<-p.send
	return nil
}

func startFakeShell(t *testing.T) *fakeShell {
	t.Helper()
	files, err := shellfiles.Make()
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeShell{
		look: &fakeLooker{sees: works, began: time.Now()}, keys: &keyInput{typed: make(chan string, 64)},
		struck: make(chan struct{}, 8), send: make(chan struct{}), feed: bufio.NewReader(files.Read),
	}
	var m *Manager
	s.fakeJob = startFakeWith(t, &recorder{}, func(fake *Manager) { m = fake }, func(*Spec) {
		launch := m.launch
		m.launch = func(spec *Spec, p plan) (*launched, *Error) {
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

// tells makes the shell write marks.
func (s *fakeShell) tells(payloads ...string) {
	var text strings.Builder
	for _, p := range payloads {
		fmt.Fprintf(&text, "\x1b]633;shelld;%s;%s\a", fakeNonce, p)
	}
	s.says(text.String())
}

// heard returns when all marks of the shell are handled.
func (s *fakeShell) heard() {
	s.t.Helper()
	s.says("x") // When it is stored, the marks are there for the next turn.
	must(s.t, s.History())
	must(s.t, s.History()) // The turn that was already running cannot have answered this one.
}

// takes makes the shell read the text handed to it, and checks that.
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

// strikes types Ctrl-C.
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

// runsThrough runs one more command, from its request to its end.
func (s *fakeShell) runsThrough(id int64, command string) {
	s.t.Helper()
	one := s.runs(command, false)
	s.takes(fmt.Sprintf("n%d %s", id, command))
	s.tells(fmt.Sprintf("L;%d;0", id), fmt.Sprintf("B;%d", id), fmt.Sprintf("E;%d;0;/", id), "R")
	s.ended(one, id, 0)
}

// ended waits for the end of a command, and checks it.
func (s *fakeShell) ended(p Pending[ExecResult], id int64, exit int) {
	s.t.Helper()
	if c := must(s.t, p).Command; c.ID != id || c.ExitCode == nil || *c.ExitCode != exit {
		s.t.Errorf("%+v, want command %d with status %d", c, id, exit)
	}
}

// became waits for an error, and checks the fate of the command in it.
func (s *fakeShell) became(p Pending[ExecResult], id int64, fate CommandFate) {
	s.t.Helper()
	if e := refused(s.t, p, CodeCanceled); e.CommandID != id || e.Fate != fate {
		s.t.Errorf("%+v, want command %d to be %s", e, id, fate)
	}
}

// A mark counts only for the command with its number: late marks of a dropped command do not count for another one.
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

// If the begin mark of a command was lost, the command has still run, once.
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

// If an interrupt that was sent before a command drops it, the command is handed over again.
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

// The server's own interrupt is only for the running command: until it is sent, no further command is handed to the
// shell, and if the command has ended, no interrupt is sent.
func TestExecInterruptsNoOther(t *testing.T) {
	s := startFakeShell(t)
	one := s.runs("echo one", true)
	s.takes("n1 echo one")
	s.tells("L;1;0", "B;1")
	must(t, s.History()) // It counts as running, or will when it is cancelled.
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
	s.tells("L;2;0", "B;2", "E;2;0;/", "R") // It has ended before an interrupt could be sent.
	s.runsThrough(3, "echo three")
	if len(s.struck) > 0 {
		t.Error("an interrupt was sent for a command that had ended")
	}
}

// If the shell has read a command, and a probe shows that it reads a line again, the server asks the shell, and its
// answer decides.
func TestExecInDoubt(t *testing.T) {
	doubted := func(t *testing.T, struck bool) (*fakeShell, Pending[ExecResult]) {
		s := startFakeShell(t)
		one := s.runs("echo one", false)
		s.takes("n1 echo one")
		if struck {
			s.strikes()
		}
		// The shell stops waiting at the key that asks it.
		s.keys.pass = sync.OnceFunc(func() { s.look.set(works) })
		s.tells("L;1;0")
		s.look.set(lineEditor)
		s.takes("h2 ")
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

// A command that the shell has not read is taken back, and certainly does not run.
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

// If an interrupt has discarded the end mark of a command, and the prompt after it, no request waits forever: a probe
// shows that the shell reads, and the server asks it. If the command still runs, nothing more happens.
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
			likely.State, likely.Confidence = inputwait.Listening, inputwait.Likely // as if other processes ran
			s.look.set(likely)
			s.takes("h2 ")
			s.look.set(works)
			if runs {
				s.tells("B;1", "H;2;0")
				s.heard()
				s.look.set(likely)
				for range 3 {
					must(t, s.Info()) // It makes a probe.
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
