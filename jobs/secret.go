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
func (j *Job) asksSecrets() bool { return j.mgr.secrets.Ask && j.term != nil && j.canWait() }

// watchesEcho says whether it matters that input is hidden: the client is to be asked, or what
// is being typed is for nobody else to type.
func (j *Job) watchesEcho() bool {
	return j.asksSecrets() || j.mgr.secrets.ClientOnly && j.term != nil && j.canWait() && len(j.input.queue.items) > 0
}

// hidesInput says whether the terminal reads a line and shows nothing of it, as where a
// password is asked for.
func (j *Job) hidesInput() bool {
	attrs, err := j.term.Attrs()
	return err == nil && attrs.Canonical && !attrs.Echo
}

// reviewHidden asks the terminal, where it is time for that.
func (j *Job) reviewHidden(now time.Time) {
	s := &j.secret
	if !j.watchesEcho() {
		return
	}
	if a := j.activity(); a != s.seen {
		s.seen, s.at = a, j.activeAt().Add(hiddenAfter[0])
	}
	if s.at.IsZero() || now.Before(s.at) {
		return
	}
	s.hidden, s.at = j.hidesInput(), nextOf(hiddenAfter, j.activeAt(), now)
	if s.at.IsZero() && (s.hidden || len(j.input.queue.items) > 0) {
		s.at = now.Add(slowestLook)
	}
	if s.hidden {
		j.denyBegun()
	}
}

// hiddenAt is when reviewHidden has something to do; zero: when something has happened.
func (j *Job) hiddenAt() (t time.Time) {
	if j.watchesEcho() {
		t = j.secret.at
	}
	return t
}

// forSecret says whether looks are needed to ask for a password, or to see that it is not
// asked for any more.
func (j *Job) forSecret() bool { return j.secret.asked != "" || j.asksSecrets() && j.secret.hidden }

// asker returns what finds out who asks for a password, or keeps a shell from its first prompt, in any
// goroutine; nil where nobody wants to know.
func (j *Job) asker() func() *Process {
	if !j.forSecret() && !j.shell.starts() || j.term == nil {
		return nil
	}
	term, leader := j.term, j.info.PID
	return func() *Process {
		f, err := term.Foreground(leader)
		if err != nil {
			return nil
		}
		return j.changes.somebody(f)
	}
}

// askSecret has the client asked for a password that the job waits for, once for each wait,
// and tells when that is over.
func (j *Job) askSecret() {
	s, l := &j.secret, &j.inputs
	w := l.now
	if s.asked != "" && (w == nil || w.ID != s.asked) {
		j.sink.Event(Event{Secret: &SecretAsk{WaitID: s.asked, Over: true}})
		s.asked = ""
	}
	if w == nil || w.ID == s.last || w.Kind != InputPassword || rank(w.Confidence) < rank(inputwait.Likely) || !j.asksSecrets() || l.of != j.activity() {
		return
	}
	command := j.askingCommand()
	if s.attempt > 0 && (w.PID != 0 && w.PID == s.pid || command == s.command) {
		s.attempt++
	} else {
		s.attempt = 1
	}
	s.asked, s.last, s.pid, s.command = w.ID, w.ID, w.PID, command
	j.sink.Event(Event{After: j.waits.barrier(), Secret: &SecretAsk{WaitID: w.ID, Prompt: w.Prompt, Command: command, Attempt: s.attempt}})
}

// askingCommand is what runs in the foreground, or what the job was started with.
func (j *Job) askingCommand() string {
	switch f := j.inputs.asker; {
	case f != nil:
		return f.Command
	case j.info.Foreground != nil:
		return j.info.Foreground.Command
	case j.info.Command != nil:
		return j.redaction.text(*j.info.Command)
	}
	return j.redaction.text(strings.Join(j.info.Argv, " "))
}

// AnswerSecret types what the person at the client has answered for a wait, and a line end.
// Nothing is typed where that is over. It takes value over, and wipes it.
func (j *Job) AnswerSecret(waitID string, value []byte) {
	in := Input{Send: []SendItem{{Bytes: value}}, AppendNewline: true, Secret: true, IfWaiting: waitID, person: true}
	j.ask(writeMsg{in, newReply[WriteResult](), time.Now()})
}

// secretRefused is told that what the person has answered cannot be typed. Where the job
// waits on, the person is asked once more; what was wrong is for the log.
func (j *Job) secretRefused(err *Error) {
	if err.Code == CodeInputNotExpected || err.Code == CodeJobExited {
		return // The question is over.
	}
	j.log.Warn("the answer to client/secret cannot be typed, and the client is asked again", "job", j.id, "error", err)
	j.askAgain()
}

// askAgain has the client asked once more for what it was asked for last, if the job waits on.
func (j *Job) askAgain() { j.secret.asked, j.secret.last = "", "" }

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
func (j *Job) deny(q *queued) *Error {
	p := &j.mgr.secrets
	if !p.ClientOnly || q.person || q.keysOnly || q.answer || len(q.data) == 0 {
		return nil
	}
	what := "wait until it is answered"
	if !p.Ask {
		what = "this client answers none"
	}
	sent := "nothing was sent"
	if q.begun {
		sent = "what was sent before that is in bytesWritten"
	}
	e := errorf(CodePolicyDenied, "job %d reads a line and shows nothing of it, as for a password, which options.secretInput leaves to the person at the client (client/secret); %s, or send Ctrl-C alone to leave the prompt; %s", j.id, what, sent)
	e.Handle, e.Name, e.Rule = j.id, "write", "secretInput"
	return e
}

// denyBegun is deny for an input of which a part was typed before input was hidden: the rest
// is withdrawn, but for what the terminal has been given by then.
func (j *Job) denyBegun() {
	if len(j.input.queue.items) == 0 {
		return
	}
	if q := j.input.queue.items[0]; q.begun && q.end == nil {
		if err := j.deny(q); err != nil {
			j.input.withdraw(q, err)
		}
	}
}

// denyLate is deny for an input that was queued while input was shown, and whose turn has
// come.
func (j *Job) denyLate(q *queued) bool {
	if !j.mgr.secrets.ClientOnly || q.begun || q.attrs != nil || j.term == nil || !j.hidesInput() {
		return false
	}
	err := j.deny(q)
	if err != nil {
		j.input.withdraw(q, err)
	}
	return err != nil
}
