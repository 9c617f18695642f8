package jobs

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/shellmark"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

// A command is interrupted when it times out or its request is canceled. One interrupt is not enough: a shell loses one
// that comes between two short commands of a loop, and a program does not see one that came before the shell had
// executed it. So interrupts are repeated while the command runs. But a program that has got one may be about to end,
// may ask whether it should, or may take a second one as the order to leave everything behind. So another one is sent
// only to processes that have not got the last one, or that show no reaction to it for a while.
//
// Processes that stay silent get a second interrupt after a while, and no third: a program that cleans up may take it
// as the order to stop cleaning up. But a script loses interrupts as a shell does (bash drops one if the child that it
// waits for does not die of it). So if a known shell leads the processes, it gets one at every check after that. A
// script that writes all the time cannot be told from a program that reacts.

const (
	// interruptTime is how long a command has to end after its first interrupt. After that it is reported as running,
	// or killed. killTime is the same after the kill.
	interruptTime = 2 * time.Second
	killTime      = 2 * time.Second
	// interruptEvery is the delay after an interrupt before the server checks whether another is needed.
	interruptEvery = 250 * time.Millisecond
	// interruptAgain is the time after their first interrupt from which the same processes get more of them, if they
	// write nothing.
	interruptAgain = time.Second
	// interruptShells is the delay between checks from then on if a shell leads the processes: a shell that runs short
	// commands in a loop may lose several interrupts in a row.
	interruptShells = 100 * time.Millisecond
	// mostInterrupts is the number of interrupts that the same processes get, unless a shell leads them.
	mostInterrupts = 2
	// imageEnded stands for the image of a process that has ended.
	imageEnded = "ended"
)

// An interruption is the state of the interrupts that are sent to a command.
type interruption struct {
	until time.Time        // end of the interrupts; zero: none are sent
	due   time.Time        // time of the next check whether another is needed
	kills bool             // interrupts have not ended the command: KILL is sent instead
	last  foregroundSample // taken when the last one was sent
	any   bool             // one was sent
}

// A foregroundSample describes the foreground processes at the time of an interrupt or of a check.
type foregroundSample struct {
	group int    // the terminal's foreground group; 0: not known
	image string // image of the group's first process (proc.Image)
	at    time.Time
	first time.Time // when the same processes got their first interrupt
	end   int64     // of the output
	sent  int       // interrupts that the same processes have got, including this one
	shell bool      // a known shell leads the group, or did so at the first interrupt
}

// has reports whether the processes that are in the foreground now have got the last interrupt. If the first process of
// a group has ended, as that of a pipeline may, the group is still the same program.
func (last foregroundSample) has(now foregroundSample) bool {
	return now.group == last.group && (now.image == last.image || now.image == imageEnded)
}

// needsAnother reports whether the processes in the foreground now need another interrupt after the last one.
func (last foregroundSample) needsAnother(now foregroundSample) bool {
	if !last.has(now) {
		return true
	}
	return now.at.Sub(last.first) >= interruptAgain && now.end == last.end && (last.sent < mostInterrupts || last.shell)
}

// lead fills in the group and its first process.
func (now *foregroundSample) lead(group int) {
	now.group, now.image, now.shell = group, imageUnknown, proc.RunsShell(group)
	image, err := proc.Image(group)
	switch {
	case err == nil:
		now.image = image
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		now.image = imageEnded
	}
}

// giveTime gives an interrupted command a little more time. Its wait now ends only with the command or at the new
// deadline: the other conditions are dropped.
func (r *execReq) giveTime(now time.Time) {
	r.stopped, r.deadline = true, now.Add(interruptTime)
	if r.opts.Kill {
		r.deadline = r.deadline.Add(killTime)
	}
	spec := *r.spec
	spec.Until = spec.Until[r.own:]
	r.spec, r.own = &spec, 0
}

// interruptExec interrupts a running command and waits for the effect.
func (p *shellPart) interruptExec(r *execReq) {
	now := time.Now()
	r.giveTime(now)
	p.beginInterrupts(r, now)
	r.from = p.startOf(r)
	p.watch.again = append(p.watch.again, r) // the caller may be waitsPart.review, during which no wait may be armed
}

// reviewUnwanted interrupts a command that was given up after it had been handed to the shell. The turn has handled all
// marks of the shell before: if the command has ended meanwhile, the interrupt does not hit the next one instead.
func (p *shellPart) reviewUnwanted() {
	if r := p.watch.running; r != nil && r.unwanted {
		r.unwanted = false
		p.beginInterrupts(r, time.Now())
	}
}

// beginInterrupts sends the first interrupt to a running command.
func (p *shellPart) beginInterrupts(r *execReq, now time.Time) {
	if r.command.Finished {
		return
	}
	r.interrupts = interruption{until: now.Add(interruptTime)}
	p.interruptForeground(r)
}

// reviewInterrupts sends the next interrupt or kill to a running command if it is due.
func (p *shellPart) reviewInterrupts(now time.Time) {
	s := p.watch
	r := s.running
	if r == nil || r.interrupts.until.IsZero() || s.striking > 0 {
		return
	}
	i := &r.interrupts
	if !now.Before(i.until) {
		if !r.opts.Kill || i.kills {
			i.until = time.Time{}
			return
		}
		i.kills, i.until, i.due = true, now.Add(killTime), now
	}
	if !now.Before(i.due) {
		p.interruptForeground(r)
	}
}

// interruptDue is the time of the next action of reviewInterrupts; zero: none until something happens.
func (s *shellWatch) interruptDue() (t time.Time) {
	if r := s.running; r != nil && s.striking == 0 && !r.interrupts.until.IsZero() {
		t = earliest(r.interrupts.due, r.interrupts.until)
	}
	return t
}

// interruptForeground sends the foreground another signal if it needs one. Until that is done, nothing is handed to the
// shell: if the command ended by itself meanwhile, the signal would hit the next one.
func (p *shellPart) interruptForeground(r *execReq) {
	s := p.watch
	s.striking++
	s.strike()
	pr, term, st, shell, i := p.j.proc, p.j.term, p.j.output.streams[0], p.j.info.PID, r.interrupts
	p.j.background(func() { // /proc and the keeper may be slow
		now := foregroundSample{at: time.Now(), end: st.spool.End()}
		if group, err := term.ForegroundGroup(); err == nil {
			now.lead(group)
		}
		if now.first, now.sent = now.at, 1; i.any && i.last.has(now) {
			now.first, now.sent, now.shell = i.last.first, i.last.sent+1, i.last.shell
		}
		var err error
		switch {
		case i.kills && now.group == shell, !i.kills && i.any && !i.last.needsAnother(now):
			p.j.ask(interruptDone{req: r})
			return
		case i.kills:
			r.killed.Store(true) // first: the end of the command may be seen before this is
			err = pr.Signal(keeper.ForegroundChild, syscall.SIGKILL)
		default:
			err = pr.Signal(keeper.Foreground, syscall.SIGINT)
		}
		if err != nil {
			p.j.log.Debug("nothing to interrupt", "job", p.j.id, "kill", i.kills, "error", err)
		}
		p.j.ask(interruptDone{req: r, sent: err == nil, now: now})
	})
}

// An interruptDone reports that the server sent a signal to a command, that none was needed, or that none could be
// sent.
type interruptDone struct {
	req  *execReq
	sent bool
	now  foregroundSample
}

func (interruptDone) message() {}

func (p *shellPart) onInterruptDone(m interruptDone) {
	s, i := p.watch, &m.req.interrupts
	s.striking--
	s.strike() // It may have been sent only now.
	if m.sent {
		i.any, i.last = true, m.now
	}
	now := time.Now()
	i.due = now.Add(interruptEvery)
	if i.last.shell && now.Sub(i.last.first) >= interruptAgain {
		i.due = now.Add(interruptShells)
	}
}

// The line editor of a shell accepts the commands of Exec and the changes of the environment, by a key. Users can turn
// the line editor off. The shell reports that with each prompt, and then nothing is handed to it: without the line
// editor it would take the keys for a command.

// editors has the commands that turn a shell's line editor off and on again.
var editors = map[shellmark.Shell]struct{ off, on string }{
	shellmark.Bash: {"set +o emacs, or set +o vi", "set -o emacs"},
	shellmark.Zsh:  {"unsetopt zle", "setopt zle"},
}

// refuseDeaf answers all requests that wait for a shell whose line editor is off.
func (p *shellPart) refuseDeaf() {
	p.failExecs(p.isDeaf)
	p.failTasks(p.isDeaf)
}

// unlessDeaf returns err, or the error for a line editor that is off by now.
func (p *shellPart) unlessDeaf(err *Error) *Error {
	if p.watch.deaf {
		return p.isDeaf()
	}
	return err
}

func (p *shellPart) isDeaf() *Error {
	editor := editors[p.watch.kind]
	e := errorf(CodeShellIntegrationUnavailable, "the shell of job %d takes no commands: its line editor is off (%s); turn it on by typing %q with job/write, then retry", p.j.id, editor.off, editor.on)
	e.Handle = p.j.id
	return e
}
