package jobs

import (
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// Only the person at the client should type a password, and no other party should see it. If the client answers
// password prompts, the server watches every job with a terminal:
//
//	a turn -> reviewHidden   is echo off? This check costs less than a microsecond
//	       -> beginLook      only then (waiting.go)
//	       -> askSecret      notifies the sink, behind the prompt, and when the wait is over
//	rpc    -> AnswerSecret   a write like others, with ifWaiting and secret

// A secretWatch is the state of the password watch. It is used in the job's turns.
type secretWatch struct {
	hidden bool      // echo was off when the terminal was last queried
	seen   activity  // the activity at the last review
	at     time.Time // when the terminal is queried next; zero: after the next activity

	asked   string // the wait for which the client is being asked; "" = none
	last    string // the last wait for which it was asked
	pid     int    // the process that waited then
	command string // its command
	attempt int    // the attempt then
}

// hiddenAfter has the delays after output or input at which the terminal's echo setting is queried. Programs turn echo
// off right before they print a prompt, or right after.
var hiddenAfter = []time.Duration{
	500 * time.Microsecond, 5 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond,
	400 * time.Millisecond, 1500 * time.Millisecond, 5 * time.Second,
}

// asksSecrets reports whether the client is to be asked for the passwords of this job.
func (p *waitingPart) asksSecrets() bool {
	return p.j.mgr.settings.secrets.asks() && p.j.term != nil && p.j.canWait()
}

// watchesEcho reports whether the echo setting matters: the client is to be asked for passwords, or input is queued
// that only the person at the client may type while echo is off.
func (p *waitingPart) watchesEcho() bool {
	return p.asksSecrets() || p.j.mgr.settings.secrets.ClientOnly && p.j.term != nil && p.j.canWait() && p.input.first() != nil
}

// hidesInput reports whether the terminal reads a line without echo, as for a password.
func (p *waitingPart) hidesInput() bool {
	attrs, err := p.j.term.Attrs()
	return err == nil && attrs.Canonical && !attrs.Echo
}

// reviewHidden queries the terminal's echo setting if that is due.
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
	if s.at.IsZero() && (s.hidden || p.input.first() != nil) {
		s.at = now.Add(slowestLook)
	}
	if s.hidden {
		p.denyBegun()
	}
}

// hiddenAt returns when reviewHidden is due. Zero: after the next activity.
func (p *waitingPart) hiddenAt() (t time.Time) {
	if p.watchesEcho() {
		t = p.secret.at
	}
	return t
}

// forSecret reports whether input probes are needed to ask for a password, or to detect that the password is no longer
// asked for.
func (p *waitingPart) forSecret() bool {
	return p.secret.asked != "" || p.asksSecrets() && p.secret.hidden
}

// asker returns a function that determines the foreground process, which asks for a password or keeps a shell from its
// first prompt. The function may run in any goroutine. asker returns nil if this information is not needed.
func (p *waitingPart) asker() func() *Process {
	if !p.forSecret() && !p.shell.starts() || p.j.term == nil {
		return nil
	}
	term, leader := p.j.term, p.j.info.PID
	return func() *Process {
		f, err := term.Foreground(leader)
		if err != nil {
			return nil
		}
		return p.j.redaction.foreground(f)
	}
}

// askSecret asks the client for a password that the job waits for, once for each wait. It also reports when that wait
// is over.
func (p *waitingPart) askSecret() {
	s, l := &p.secret, &p.watch
	w := p.j.waitingFor
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
	p.j.sink.Event(Event{After: p.j.barrier(), Secret: &SecretAsk{WaitID: w.ID, Prompt: w.Prompt, Command: command, Attempt: s.attempt}})
}

// askingCommand returns the command of the foreground process or, if that is not known, the command that the job was
// started with.
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

// secretRefused handles an answer of the person that cannot be typed. If the job still waits, the person is asked once
// more. The error is only logged.
func (p *waitingPart) secretRefused(err *Error) {
	if err.Code == CodeInputNotExpected || err.Code == CodeJobExited {
		return // The question is over.
	}
	p.j.log.Warn("the answer to client/secret cannot be typed; asking the client again", "job", p.j.id, "error", err)
	p.askAgain()
}

// askAgain asks the client once more for the last password, if the job still waits for it.
func (p *waitingPart) askAgain() { p.secret.asked, p.secret.last = "", "" }

// deny returns an error for an input that only the person at the client may type, while echo is off. Any client may
// send a signal key, since that leaves the prompt.
func (p *waitingPart) deny(q *queued) *Error {
	pr := &p.j.mgr.settings.secrets
	if !pr.ClientOnly || q.person || q.keysOnly || q.answer || len(q.data) == 0 {
		return nil
	}
	what := "wait until it is answered"
	if !pr.asks() {
		what = "this client does not support client/secret"
	}
	sent := "nothing was sent"
	if q.begun {
		sent = "bytesWritten counts the bytes sent before"
	}
	e := errorf(CodePolicyDenied, "job %d reads a line without echo, such as a password, which options.secretInput reserves for the person at the client (client/secret); %s, or send only Ctrl-C to leave the prompt; %s", p.j.id, what, sent)
	e.Handle, e.Name, e.Rule = p.j.id, "write", "secretInput"
	return e
}

// denyBegun is deny for an input of which a part was typed before echo was turned off. The rest is withdrawn, except
// for the bytes that the terminal has already received.
func (p *waitingPart) denyBegun() {
	if q := p.input.first(); q != nil && q.begun && q.end == nil {
		if err := p.deny(q); err != nil {
			p.input.withdraw(q, err)
		}
	}
}

// denyLate is deny for an input that was queued while echo was on, and that is next now. It reports whether it has
// withdrawn the input.
func (p *waitingPart) denyLate(q *queued) bool {
	if !p.j.mgr.settings.secrets.ClientOnly || q.begun || q.attrs != nil || p.j.term == nil || !p.hidesInput() {
		return false
	}
	err := p.deny(q)
	if err != nil {
		p.input.withdraw(q, err)
	}
	return err != nil
}
