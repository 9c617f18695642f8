package jobs

import (
	"os"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/shellmark"
)

// If a command times out when the shell has it but has not begun it, it is interrupted like a running one. The answer
// has the result.
func TestExecLateHanded(t *testing.T) {
	for _, c := range []struct {
		name  string
		first []string // the shell's marks before an interrupt is sent
		then  []string // its marks after that; nil: no interrupt is sent
		exit  int      // -1: none
		late  bool     // it is reported as interrupted, or dropped if it has no exit status
	}{
		{"it begins", []string{"L;1;0", "B;1"}, []string{"E;1;130;/", "R"}, 130, true},
		{"it ends at once", []string{"L;1;0", "B;1", "E;1;0;/", "R"}, nil, 0, false},
		{"it is dropped", []string{"L;1;0", "D;1", "R"}, nil, -1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startFakeShell(t)
			s.heard() // The command is then handed over in the turn in which it times out.
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
			if exit := r.Command.ExitCode; r.Outcome.Reason != reason || r.Interrupt != (c.late && c.exit >= 0) || r.Dropped != (c.exit < 0) || !r.Command.Finished || (exit == nil) != (c.exit < 0) || exit != nil && *exit != c.exit {
				t.Errorf("%+v", r)
			}
			s.runsThrough(2, "echo two")
			if len(s.struck) > 0 {
				t.Error("an interrupt was sent for what had ended")
			}
		})
	}
}

// If the shell does not begin the command within the time for an interrupt, the command is reported as queued, and is
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

// If a mark of the shell releases held back output, the output counts from that moment, and not from the time at which
// it would have been due: the shell is probed at once.
func TestExecHeldOutput(t *testing.T) {
	s := startFakeShell(t)
	s.says("\r") // may be the erasing of the line for a key that the server has sent
	s.tells("R")
	s.says("") // When it returns, the output before it is stored.
	s.inTurn(func() {
		if at, now := s.waiting.activeAt(), time.Now(); at.After(now) {
			t.Errorf("output came %v from now", at.Sub(now))
		}
	})
}

// The shell's echo of a command is held back until the command runs. If an interrupt has discarded the key that runs
// it, a probe finds the shell reading, and the server asks the shell before that echo is shown.
func TestExecHeldLine(t *testing.T) {
	s := startFakeShell(t)
	s.keys.pass = func() { s.look.set(works) } // From a key on the shell works, however late it answers.
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

// If a background process runs, a probe reports a shell as reading only after a long quiet time. But if its line editor
// reads, and has not processed the command handed to it, the server detects that at once.
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
			must(t, s.Info()) // It makes a probe.
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

// The result of a command that goes on names the process that the shell waits for, and so does that of a command behind
// it that was dropped.
func TestExecTellsTheForeground(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	p := beginAsleep(t, j, ExecOptions{Interrupt: true})
	for _, interrupt := range []bool{false, true} {
		late, err := j.Exec(ExecOptions{Command: "echo never", Wait: execWait(0), Interrupt: interrupt})
		if err != nil {
			t.Fatal(err)
		}
		r := must(t, late)
		if r.Dropped != interrupt || r.Command.Finished != interrupt || r.Interrupt || r.Foreground == nil || r.Foreground.PID == j.info.PID {
			t.Errorf("%+v, %+v", r, r.Foreground)
		}
	}
	p.Cancel()
	refused(t, p, CodeCanceled)
}
