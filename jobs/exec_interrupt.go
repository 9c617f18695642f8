package jobs

import (
	"errors"
	"io/fs"
	"shelld/jobs/internal/shellmark"
	"syscall"
	"time"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/proc"
)

// A command whose time is over, or whose request is cancelled, is interrupted. One interrupt is not enough: a shell
// loses one that comes between two short commands of a loop, and a program does not see one that came before the
// shell had executed it. So interrupts are repeated while the command runs. But a program that has got one may be
// about to end, may ask whether it should, or may take a second one as the order to leave everything behind. So
// another one is sent only to processes that have not got the last one, or that show no reaction to it for a while.
//
// Processes that stay silent get a second one after a while, and no third: a program that tidies up may take that as the
// order to stop tidying. But a script loses interrupts as a shell does (bash drops one if the child that it waits for
// does not die of it), so a known shell gets one at every check after that. A script that writes all the time cannot be
// told from a program that reacts.

const (
	// interruptTime is how long a command that is interrupted has to end before it is told that it has not, or is
	// killed. killTime is the same for one that is killed.
	interruptTime = 2 * time.Second
	killTime      = 2 * time.Second
	// interruptEvery is the delay after an interrupt before the server checks whether another is needed.
	interruptEvery = 250 * time.Millisecond
	// interruptAgain is how long after their first interrupt the same processes get others, while they write nothing.
	interruptAgain = time.Second
	// interruptShells is the delay before the next check once they do, if a shell leads them: one that runs short
	// commands in a loop may lose several interrupts in a row.
	interruptShells = 100 * time.Millisecond
	// mostInterrupts is how many the same processes get, unless a shell leads them.
	mostInterrupts = 2
	// imageEnded stands for what a process executes that has ended.
	imageEnded = "ended"
)

// An interruption is what is known of the interrupts that a command is sent.
type interruption struct {
	until time.Time        // when they end; zero: none are sent
	due   time.Time        // of the next check whether another is needed
	kills bool             // interrupts have not ended the command: KILL is sent in their place
	last  foregroundSample // when the last one was sent
	any   bool             // there was one
}

// A foregroundSample is what was in the foreground when an interrupt was sent, or at a check.
type foregroundSample struct {
	group int    // the terminal's foreground group; 0: not known
	image string // what its first process executes (proc.Image)
	at    time.Time
	first time.Time // when the same processes got their first interrupt
	end   int64     // of the output
	sent  int       // interrupts that the same processes have got, with this one
	shell bool      // a known shell leads the group, or did when it got the first one
}

// has reports whether what is in the foreground now has got the last interrupt. A group's first process that has
// ended, as that of a pipeline may, is no other program.
func (last foregroundSample) has(now foregroundSample) bool {
	return now.group == last.group && (now.image == last.image || now.image == imageEnded)
}

// needsAnother reports whether another interrupt is needed, by what is in the foreground after the last one.
func (last foregroundSample) needsAnother(now foregroundSample) bool {
	if !last.has(now) {
		return true
	}
	return now.at.Sub(last.first) >= interruptAgain && now.end == last.end && (last.sent < mostInterrupts || last.shell)
}

// lead takes what leads a foreground group.
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

// giveTime is for one that is interrupted: it is awaited a little for what comes of that, and for nothing else.
func (r *execReq) giveTime(now time.Time) {
	r.stopped, r.deadline = true, now.Add(interruptTime)
	if r.opts.Kill {
		r.deadline = r.deadline.Add(killTime)
	}
	spec := *r.spec
	spec.Until = spec.Until[r.own:]
	r.spec, r.own = &spec, 0
}

// interruptExec interrupts what runs, and waits for what comes of it.
func (p *shellPart) interruptExec(r *execReq) {
	now := time.Now()
	r.giveTime(now)
	p.beginInterrupts(r, now)
	r.from = p.startOf(r)
	p.watch.again = append(p.watch.again, r) // waitsPart.review, in which this may be, arms nothing
}

// reviewUnwanted interrupts a command that was given up when the shell had it already. All that the
// shell has said is taken up by now: one that has ended meanwhile is not hit in place of what is next.
func (p *shellPart) reviewUnwanted() {
	if r := p.watch.running; r != nil && r.unwanted {
		r.unwanted = false
		p.beginInterrupts(r, time.Now())
	}
}

// beginInterrupts sends the first interrupt to a command that runs.
func (p *shellPart) beginInterrupts(r *execReq, now time.Time) {
	if r.command.Finished {
		return
	}
	r.interrupts = interruption{until: now.Add(interruptTime)}
	p.interruptForeground(r)
}

// reviewInterrupts sends the next interrupt when it is time for that, while the command runs.
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

// interruptDue is when reviewInterrupts has something to do; zero: when something has happened.
func (s *shellWatch) interruptDue() (t time.Time) {
	if r := s.running; r != nil && s.striking == 0 && !r.interrupts.until.IsZero() {
		t = earliest(r.interrupts.due, r.interrupts.until)
	}
	return t
}

// interruptForeground sends what runs another signal, if it needs one. Until it is done the shell is handed nothing:
// a command that ends by itself meanwhile leaves the signal to whatever is next.
func (p *shellPart) interruptForeground(r *execReq) {
	s := p.watch
	s.striking++
	s.strike()
	pr, term, st, shell, i := p.j.proc, p.j.term, p.j.output.streams[0], p.j.info.PID, r.interrupts
	p.j.output.loops.Go(func() { // /proc and the keeper may take their time
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
			err = pr.Signal(keeper.Foreground, interruptSignal)
		}
		if err != nil {
			p.j.log.Debug("nothing to interrupt", "job", p.j.id, "kill", i.kills, "error", err)
		}
		p.j.ask(interruptDone{req: r, sent: err == nil, now: now})
	})
}

// An interruptDone is that a signal of the server's own was sent to a command, or that none was needed or none could be
// sent.
type interruptDone struct {
	req  *execReq
	sent bool
	now  foregroundSample
}

func (m interruptDone) deliver(j *Job) { j.shell.onInterruptDone(m) }

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

// It is the line editor of a shell that takes what Exec and the environment have for it, by a key.
// Users can turn that off. The shell says so with each prompt, and nothing is handed to it then: it would
// take the keys for a command.

// editors are how a shell's line editor is turned off, and on again.
var editors = map[shellmark.Shell]struct{ off, on string }{
	shellmark.Bash: {"set +o emacs, or set +o vi", "set -o emacs"},
	shellmark.Zsh:  {"unsetopt zle", "setopt zle"},
}

// refuseDeaf answers all that waits for a shell that would not hear of it.
func (p *shellPart) refuseDeaf() {
	p.failExecs(p.isDeaf)
	p.failTasks(p.isDeaf)
}

// unlessDeaf is err, unless there is a better reason by now.
func (p *shellPart) unlessDeaf(err *Error) *Error {
	if p.watch.deaf {
		return p.isDeaf()
	}
	return err
}

func (p *shellPart) isDeaf() *Error {
	editor := editors[p.watch.kind]
	e := errorf(CodeShellIntegrationUnavailable, "the shell of job %d takes no commands: its line editor is off (%s), which takes them; turn it on with job/write, by the line %q, and send this again", p.j.id, editor.off, editor.on)
	e.Handle = p.j.id
	return e
}
