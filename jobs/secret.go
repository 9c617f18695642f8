package jobs

import (
	"strings"
	"time"

	"shelld/jobs/internal/inputwait"
)

// A password is for the person at the client to type, and for nobody else to see. Where the
// client answers for them, every job on a terminal is watched:
//
//	a turn -> reviewHidden   is echo off? That costs less than a microsecond
//	       -> beginLook      only then (waiting.go)
//	       -> askSecret      the sink is told, behind the prompt; and when the wait is over
//	rpc    -> AnswerSecret   a write like others, with ifWaiting and secret

// A SecretPolicy says who types the passwords that programs ask for.
type SecretPolicy struct {
	Ask        bool // the client is asked for them
	ClientOnly bool // nobody else may type them
}

// A SecretAsk says that a job waits for a password, which the client is to be asked for; or,
// where Over is true, that the wait with this ID is over.
type SecretAsk struct {
	WaitID  string
	Over    bool
	Prompt  string
	Command string // that asks
	Attempt int    // how many it has asked for in a row
}

// A secretWatch is what the job's turns know of this.
type secretWatch struct {
	hidden bool      // echo was off when the terminal was asked
	seen   activity  // at the last review
	at     time.Time // when the terminal is asked next; zero: when something has happened

	asked   string // the wait that the client is being asked for; "" = none
	last    string // the one that it was asked for last
	pid     int    // who has asked then
	command string // the same
	attempt int    // of those
}

// hiddenAfter is when the terminal is asked whether it shows what is typed, after output or
// input: programs switch echo off right before they print a prompt, or right after.
var hiddenAfter = []time.Duration{
	500 * time.Microsecond, 5 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond,
	400 * time.Millisecond, 1500 * time.Millisecond, 5 * time.Second,
}

// asksSecrets says whether the client is to be asked for the passwords of this job.
func (p *waitingPart) asksSecrets() bool {
	return p.j.mgr.settings.secrets.Ask && p.j.term != nil && p.canWait()
}

// watchesEcho says whether it matters that input is hidden: the client is to be asked, or what
// is being typed is for nobody else to type.
func (p *waitingPart) watchesEcho() bool {
	return p.asksSecrets() || p.j.mgr.settings.secrets.ClientOnly && p.j.term != nil && p.canWait() && len(p.j.input.queue.items) > 0
}

// hidesInput says whether the terminal reads a line and shows nothing of it, as where a
// password is asked for.
func (p *waitingPart) hidesInput() bool {
	attrs, err := p.j.term.Attrs()
	return err == nil && attrs.Canonical && !attrs.Echo
}

// reviewHidden asks the terminal, where it is time for that.
func (p *waitingPart) reviewHidden(now time.Time) {
	s := &p.secret
	if !p.watchesEcho() {
		return
	}
	if a := p.activity(); a != s.seen {
		s.seen, s.at = a, p.activeAt().Add(hiddenAfter[0])
	}
	if s.at.IsZero() || now.Before(s.at) {
		return
	}
	s.hidden, s.at = p.hidesInput(), nextOf(hiddenAfter, p.activeAt(), now)
	if s.at.IsZero() && (s.hidden || len(p.j.input.queue.items) > 0) {
		s.at = now.Add(slowestLook)
	}
	if s.hidden {
		p.denyBegun()
	}
}

// hiddenAt is when reviewHidden has something to do; zero: when something has happened.
func (p *waitingPart) hiddenAt() (t time.Time) {
	if p.watchesEcho() {
		t = p.secret.at
	}
	return t
}

// forSecret says whether looks are needed to ask for a password, or to see that it is not
// asked for any more.
func (p *waitingPart) forSecret() bool {
	return p.secret.asked != "" || p.asksSecrets() && p.secret.hidden
}

// asker returns what finds out who asks for a password, or keeps a shell from its first prompt, in any
// goroutine; nil where nobody wants to know.
func (p *waitingPart) asker() func() *Process {
	if !p.forSecret() && !p.j.shell.watch.starts() || p.j.term == nil {
		return nil
	}
	term, leader := p.j.term, p.j.info.PID
	return func() *Process {
		f, err := term.Foreground(leader)
		if err != nil {
			return nil
		}
		return p.j.changes.somebody(f)
	}
}

// askSecret has the client asked for a password that the job waits for, once for each wait,
// and tells when that is over.
func (p *waitingPart) askSecret() {
	s, l := &p.secret, &p.watch
	w := l.now
	if s.asked != "" && (w == nil || w.ID != s.asked) {
		p.j.sink.Event(Event{Secret: &SecretAsk{WaitID: s.asked, Over: true}})
		s.asked = ""
	}
	if w == nil || w.ID == s.last || w.Kind != InputPassword || rank(w.Confidence) < rank(inputwait.Likely) || !p.asksSecrets() || l.of != p.activity() {
		return
	}
	command := p.askingCommand()
	if s.attempt > 0 && (w.PID != 0 && w.PID == s.pid || command == s.command) {
		s.attempt++
	} else {
		s.attempt = 1
	}
	s.asked, s.last, s.pid, s.command = w.ID, w.ID, w.PID, command
	p.j.sink.Event(Event{After: p.j.waits.barrier(), Secret: &SecretAsk{WaitID: w.ID, Prompt: w.Prompt, Command: command, Attempt: s.attempt}})
}

// askingCommand is what runs in the foreground, or what the job was started with.
func (p *waitingPart) askingCommand() string {
	switch f := p.watch.asker; {
	case f != nil:
		return f.Command
	case p.j.info.Foreground != nil:
		return p.j.info.Foreground.Command
	case p.j.info.Command != nil:
		return p.j.redaction.text(*p.j.info.Command)
	}
	return p.j.redaction.text(strings.Join(p.j.info.Argv, " "))
}

// secretRefused is told that what the person has answered cannot be typed. Where the job
// waits on, the person is asked once more; what was wrong is for the log.
func (p *waitingPart) secretRefused(err *Error) {
	if err.Code == CodeInputNotExpected || err.Code == CodeJobExited {
		return // The question is over.
	}
	p.j.log.Warn("the answer to client/secret cannot be typed, and the client is asked again", "job", p.j.id, "error", err)
	p.askAgain()
}

// askAgain has the client asked once more for what it was asked for last, if the job waits on.
func (p *waitingPart) askAgain() { p.secret.asked, p.secret.last = "", "" }

// wipe overwrites what of a secret input can be.
func (in *Input) wipe() {
	if !in.Secret {
		return
	}
	for _, item := range in.Send {
		clear(item.Bytes)
	}
}

// fail answers a write that was never queued.
func (m writeMsg) fail(err error) {
	m.in.wipe()
	m.reply.fail(err)
}

// deny refuses what nobody but the person at the client may type, while input is hidden. A
// signal key leaves the prompt, and anybody may press one.
func (p *waitingPart) deny(q *queued) *Error {
	pr := &p.j.mgr.settings.secrets
	if !pr.ClientOnly || q.person || q.keysOnly || q.answer || len(q.data) == 0 {
		return nil
	}
	what := "wait until it is answered"
	if !pr.Ask {
		what = "this client answers none"
	}
	sent := "nothing was sent"
	if q.begun {
		sent = "what was sent before that is in bytesWritten"
	}
	e := errorf(CodePolicyDenied, "job %d reads a line and shows nothing of it, as for a password, which options.secretInput leaves to the person at the client (client/secret); %s, or send Ctrl-C alone to leave the prompt; %s", p.j.id, what, sent)
	e.Handle, e.Name, e.Rule = p.j.id, "write", "secretInput"
	return e
}

// denyBegun is deny for an input of which a part was typed before input was hidden: the rest
// is withdrawn, but for what the terminal has been given by then.
func (p *waitingPart) denyBegun() {
	if len(p.j.input.queue.items) == 0 {
		return
	}
	if q := p.j.input.queue.items[0]; q.begun && q.end == nil {
		if err := p.deny(q); err != nil {
			p.j.input.withdraw(q, err)
		}
	}
}

// denyLate is deny for an input that was queued while input was shown, and whose turn has
// come.
func (p *waitingPart) denyLate(q *queued) bool {
	if !p.j.mgr.settings.secrets.ClientOnly || q.begun || q.attrs != nil || p.j.term == nil || !p.hidesInput() {
		return false
	}
	err := p.deny(q)
	if err != nil {
		p.j.input.withdraw(q, err)
	}
	return err != nil
}
