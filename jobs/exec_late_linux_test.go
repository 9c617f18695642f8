package jobs

import (
	"os"
	"testing"
	"time"

	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/shellmark"
)

// A command whose time is over when the shell has it and has not begun it is interrupted as one that runs:
// the answer tells what comes of that.
func TestExecLateHanded(t *testing.T) {
	for _, c := range []struct {
		name  string
		first []string // what the shell tells before an interrupt is sent
		then  []string // and behind it; nil: none is sent
		exit  int      // -1: none
		late  bool     // it is told as interrupted
	}{
		{"it begins", []string{"L;1;0", "B;1"}, []string{"E;1;130;/", "R"}, 130, true},
		{"it ends at once", []string{"L;1;0", "B;1", "E;1;0;/", "R"}, nil, 0, false},
		{"it is dropped", []string{"L;1;0", "D;1", "R"}, nil, -1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startFakeShell(t)
			s.heard() // so that it is handed in the turn in which its time is over
			one, err := s.Exec(ExecOptions{Command: "echo one", Wait: execWait(0), Interrupt: true})
			if err != nil {
				t.Fatal(err)
			}
			s.takes("n1 echo one")
			s.heard()
			select {
			case r := <-one.C:
				t.Fatalf("%+v, %v was told of what the shell was to begin", r.Value, r.Err)
			default:
			}
			s.tells(c.first...)
			if c.then != nil {
				<-s.struck
				s.send <- struct{}{}
				s.tells(c.then...)
			}
			r := must(t, one)
			reason := map[bool]string{true: "timeout", false: "command"}[c.late]
			if exit := r.Command.ExitCode; r.Outcome.Reason != reason || r.Interrupt != c.late || !r.Command.Finished || (exit == nil) != (c.exit < 0) || exit != nil && *exit != c.exit {
				t.Errorf("%+v", r)
			}
			s.runsThrough(2, "echo two")
			if len(s.struck) > 0 {
				t.Error("an interrupt was sent for what had ended")
			}
		})
	}
}

// Where the shell does not begin it in the time that an interrupt has, it is told as one in line, and is
// interrupted if it ever begins.
func TestExecLateNotBegun(t *testing.T) {
	t.Parallel()
	s := startFakeShell(t)
	s.heard()
	one, err := s.Exec(ExecOptions{Command: "echo one", Wait: execWait(0), Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	s.takes("n1 echo one")
	if r := must(t, one); r.Outcome.Reason != "timeout" || !r.Interrupt || r.Command.Finished || !r.Command.StartedAt.IsZero() {
		t.Errorf("%+v", r)
	}
	s.tells("L;1;0", "B;1")
	<-s.struck
	s.send <- struct{}{}
	s.tells("E;1;130;/", "R")
	s.runsThrough(2, "echo two")
}

// Output that a mark of the shell sets free has come then, and not when a pause would have done that: the
// shell is looked at at once.
func TestExecHeldOutput(t *testing.T) {
	s := startFakeShell(t)
	s.says("\r") // may be the erasing of the line for a key of ours
	s.tells("R")
	s.says("") // behind which that was stored
	s.inTurn(func() {
		if at, now := s.waiting.activeAt(), time.Now(); at.After(now) {
			t.Errorf("output came %v from now", at.Sub(now))
		}
	})
}

// What the shell shows of a command is held back until that runs. Where an interrupt has taken the key that
// runs it, the shell is seen to read, and asked, before that is shown.
func TestExecHeldLine(t *testing.T) {
	s := startFakeShell(t)
	s.keys.pass = func() { s.look.set(works) } // A shell that gets a key works from then on, however late it answers.
	one := s.runs("echo one", false)
	s.takes("n1 echo one")
	s.tells("L;1;1")
	s.says("echo one")
	s.look.set(lineEditor)
	s.takes("h2 ")
	s.inTurn(func() {
		if got := s.output.stream(PTY).holding.Load(); got != holdsLine {
			t.Errorf("%d is held back, and that had to be awaited", got)
		}
	})
	s.strikes()
	s.tells("D;1", "H;2;0")
	s.became(one, 1, CommandDropped)
}

// While something runs in the background, a shell is seen to read only when all was quiet for long; that its
// line editor reads, and has done nothing with what was handed to it, is seen at once.
func TestExecReadsBesideOthers(t *testing.T) {
	t.Parallel()
	editor := inputwait.Verdict{Reader: os.Getpid(), Again: time.Hour, Why: "it reads while another runs"}
	other := editor
	other.Reader++
	t.Run("a command is lost", func(t *testing.T) {
		s := startFakeShell(t)
		s.says("\x1b[?2004h")
		one := s.runs("echo one", false)
		s.takes("n1 echo one")
		s.tells("L;1;0")
		s.look.set(other)
		for range 3 {
			must(t, s.Info()) // which looks
		}
		if len(s.keys.typed) > 0 {
			t.Fatalf("%q was typed when another process had read", <-s.keys.typed)
		}
		s.look.set(editor)
		s.takes("h2 ")
		s.look.set(works)
		s.strikes()
		s.tells("D;1", "H;2;0")
		s.became(one, 1, CommandDropped)
	})
	t.Run("an end is lost, and with it what asks for pasted text in brackets", func(t *testing.T) {
		s := startFakeShell(t)
		s.inTurn(func() { s.shell.watch.kind = shellmark.Fish })
		one := s.runs("echo one", false)
		s.takes("e1 echo one")
		s.tells("L;1;1", "B;1")
		s.strikes()
		s.look.set(editor)
		s.takes("h2 ")
		s.look.set(works)
		s.tells("E;1;130;/", "H;2;0")
		s.ended(one, 1, 130)
	})
	t.Run("an end is lost", func(t *testing.T) {
		s := startFakeShell(t)
		one := s.runs("echo one", false)
		s.takes("n1 echo one")
		s.tells("L;1;0", "B;1")
		s.strikes()
		s.says("\x1b[?2004h")
		s.look.set(editor)
		s.takes("h2 ")
		s.look.set(works)
		s.tells("E;1;130;/", "H;2;0")
		s.ended(one, 1, 130)
	})
}
