package jobs

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/roots"
)

// A confirmedMsg brings back a request after the answer of a person.
type confirmedMsg struct {
	cancelable
	err *Error // why it may not be carried out; nil: it may
}

type (
	// A deliverer delivers a message once more, after a person has allowed it.
	deliverer interface{ deliverAllowed(m message) }
	// A typist types the input that a person has allowed.
	typist interface {
		compose(in Input) (q *queued, partial int, refusal *Error)
		passWrite(m writeMsg) bool
		queueFull(format string, args ...any) *Error
	}
	// A denier refuses input that only a person may type.
	denier interface{ deny(q *queued) *Error }
)

// askingPart holds the requests that wait for the answer of the person at the client.
type askingPart struct {
	noPart
	j *base

	actor   deliverer
	input   typist
	waiting denier

	askedWrites []*askedWrite
	asking      map[*token]*askedRequest
}

// An askedRequest waits for a person. Its answer comes from the goroutine that asks.
type askedRequest struct {
	of   cancelable
	stop chan struct{} // closed when the question is not needed any more
	why  *Error        // the answer then; nil: it is needed
}

// drop withdraws the question.
func (a *askedRequest) drop(why *Error) {
	a.why = why
	close(a.stop)
}

// confirmFirst reports whether it has taken over a request: the request waits for a person, or was refused. If it
// returns false, the caller must go on with the request.
func (p *askingPart) confirmFirst(a Action, m cancelable, asker Asker) bool {
	if err := p.j.mgr.refuseUnasked(a, p.j.id); err != nil {
		m.fail(err)
		return true
	}
	if p.j.mgr.settings.confirm.verdict(a) != VerdictAsk {
		return false
	}
	shell, cwd := p.j.info.Shell, p.j.place
	p.askAbout(m, func() (*Question, *Error) {
		return p.question(a, asker, p.j.id, p.shownCommand(shell), cwd, rootsOf(&p.j.spec, plan{shell: shell}))
	})
	return true
}

// askAbout asks a person about a request, which is posted again with the answer. The question is made outside of the
// turn.
func (p *askingPart) askAbout(m cancelable, question func() (*Question, *Error)) {
	p.j.lock.Check()
	stop := make(chan struct{})
	if p.asking == nil {
		p.asking = map[*token]*askedRequest{}
	}
	p.asking[m.token()] = &askedRequest{of: m, stop: stop}
	p.j.background(func() {
		q, err := question()
		if err == nil {
			err = p.awaitAnswer(q, stop)
		}
		p.j.post(confirmedMsg{m, err})
	})
}

// awaitAnswer returns nil if the person allows the action. It returns nil as well if the job has ended: then the loop
// knows the right answer to the request.
func (p *askingPart) awaitAnswer(q *Question, stop <-chan struct{}) *Error {
	defer p.j.mgr.askPerson(q)()
	select {
	case a := <-q.answers:
		return q.denied(a)
	case <-stop:
		return p.j.canceled()
	case <-p.j.ended:
	case <-p.j.done: // The job was forgotten.
	case <-p.j.mgr.end.begun:
	}
	if isClosed(p.j.mgr.end.begun) { // this may be why the job has ended
		return errorf(CodeShuttingDown, "the server is shutting down; job %d is being ended", p.j.id)
	}
	return nil
}

func (p *askingPart) onConfirmed(m confirmedMsg) {
	a := p.asking[m.token()]
	delete(p.asking, m.token())
	if a != nil && a.why != nil {
		m.err = a.why // The answer may have come at the same time.
	}
	if m.err != nil {
		m.fail(m.err)
		return
	}
	switch r := m.cancelable.(type) {
	case killMsg:
		r.allowed = true
		p.actor.deliverAllowed(r)
	case signalMsg:
		r.allowed = true
		p.actor.deliverAllowed(r)
	case execMsg:
		r.allowed, r.at = true, time.Now() // its deadline has not run so far
		p.actor.deliverAllowed(r)
	case changeVariableMsg:
		r.allowed = true
		p.actor.deliverAllowed(r)
	}
}

// cancelAsked cancels a request that waits for a person.
func (p *askingPart) cancelAsked(tok *token) bool {
	a := p.asking[tok]
	if a != nil && a.why == nil {
		a.drop(p.j.canceled())
	}
	return a != nil
}

func (p *askingPart) cancel(tok *token) bool { return p.cancelAsked(tok) || p.cancelAskedWrite(tok) }

// pending includes the requests of a closed job: a request that waits for a person is still handled after the job is
// forgotten.
func (p *askingPart) pending() int { return len(p.askedWrites) + len(p.asking) }

func (p *askingPart) fail(err *Error) { p.dropAsked(func() *Error { return err }) }

func (p *askingPart) shutdown(why func() *Error) { p.dropAsked(why) }

func (p *askingPart) exited(why func() *Error) { p.dropAsked(why) }

// question makes the question about a command.
func (p *askingPart) question(a Action, asker Asker, handle ID, command, cwd string, found roots.Found) (*Question, *Error) {
	if len(command) > mostAsked {
		e := policyDenied(string(a), "confirm", "a command of %d bytes is too long to be confirmed, over %d; put it into a file and run that", len(command), mostAsked)
		e.Handle = handle
		return nil, e
	}
	q := &Question{
		Action: a, Command: p.j.redaction.text(command), Roots: p.j.redaction.texts(found.Roots), Unknown: found.Unknown(),
		Asker: asker, Handle: handle, Cwd: p.j.redaction.text(cwd),
		of: &p.j.mgr.confirms, key: alwaysKey(a, asker.Client, cwd, found), answers: make(chan Answer, 1),
	}
	if a == ActionStart {
		q.StdinFile, q.StdoutFile, q.StderrFile = p.j.redaction.text(p.j.spec.StdinFile), p.j.redaction.text(p.j.spec.StdoutFile), p.j.redaction.text(p.j.spec.StderrFile)
		if q.StdinFile+q.StdoutFile+q.StderrFile != "" {
			q.key = ""
		}
	}
	if q.Command != command && a != ActionWrite || !slices.Equal(q.Roots, found.Roots) {
		q.Unknown, q.key = true, "" // A person cannot allow what the question does not show.
	}
	return q, nil
}

// shownCommand returns the job's command as a shell reads it. Secret values are removed from arguments before the
// arguments are quoted, since quoting would change how the values are written.
func (p *askingPart) shownCommand(shell string) string {
	argv := p.j.redaction.texts(p.j.spec.Argv)
	switch {
	case p.j.spec.Command != nil:
		return *p.j.spec.Command
	case len(argv) == 0:
		argv = []string{shell}
	}
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = quoted(word)
	}
	return strings.Join(words, " ")
}

// quoted returns a word as a POSIX shell reads it.
func quoted(word string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("%+,-./:=@_", c)
	}
	if word != "" && !strings.ContainsFunc(word, func(c rune) bool { return !plain(c) }) {
		return word
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(word, "'", `'\''`))
}

// alwaysKey returns the key for which an answer "always" counts: the action, the client and the set of roots, and, if one of the
// roots is a relative path, the directory as well. It returns "" if the roots are not known, if another root may change
// the directory before, if there are no roots, or if the line writes into files, because then the roots are not what
// matters.
func alwaysKey(a Action, client, cwd string, found roots.Found) string {
	if found.Unknown() || found.Files || len(found.Roots) == 0 {
		return ""
	}
	set := slices.Sorted(slices.Values(found.Roots))
	key := append([]string{string(a), client}, slices.Compact(set)...)
	if slices.ContainsFunc(set, func(r string) bool { return strings.ContainsAny(r, `/\`) && !filepath.IsAbs(r) }) {
		if slices.ContainsFunc(set, roots.MovesDirectory) {
			return ""
		}
		key = append(key, "", cwd)
	}
	return strings.Join(key, "\x00") // no part of the key contains NUL
}

// mostAsked bounds the length of a command that a person can be expected to read.
const mostAsked = 64 << 10

// addEnvironment adds the effects of the environment to the question about a start: the variables that change which
// commands run, and a digest of all variables.
func (q *Question) addEnvironment(j *base, env []string) *Error {
	q.Variables, q.Environment = steeringVariables(&j.spec), environmentDigest(env)
	size := len(q.Command)
	for name, value := range q.Variables {
		size += len(name)
		if value == nil {
			continue
		}
		size += len(*value)
		shown := j.redaction.text(*value)
		if IsSecret(name, j.spec.from.client[proc.NameKey(name)].secret) {
			shown = "***"
		}
		if shown != *value {
			q.Variables[name] = &shown
			q.Unknown, q.key = true, "" // A person cannot allow what the question does not show.
		}
	}
	if size > mostAsked {
		return policyDenied(string(q.Action), "confirm", "the command and the variables that change which commands run have %d bytes, and at most %d can be confirmed; set shorter values", size, mostAsked)
	}
	return nil
}

// steeringVariables returns the variables that the client has set or unset for a start and that change which commands
// run. It leaves out a variable whose value is known to change nothing.
func steeringVariables(s *Spec) map[string]*string {
	var vars map[string]*string
	for _, name := range setNames(s) {
		value, own := s.Env[name]
		if !own {
			value = s.from.client[proc.NameKey(name)].value
		}
		if !Steers(name) || own && value != nil && isHarmless(name, *value) {
			continue
		}
		if vars == nil {
			vars = map[string]*string{}
		}
		vars[name] = value
	}
	return vars
}

func isHarmless(name, value string) bool {
	given := roots.Given(name, value)
	return !given.Unknown() && len(given.Roots) == 0
}

// environmentKey keeps a client from finding out a variable's value by digests of guesses.
var environmentKey = sync.OnceValue(func() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // It never returns an error.
	return key
})

// environmentDigest returns the same digest for equal environments of this process's jobs.
func environmentDigest(env []string) string {
	h := hmac.New(sha256.New, environmentKey())
	for _, entry := range env {
		_, _ = io.WriteString(h, entry+"\x00") // No entry contains a NUL.
	}
	return hex.EncodeToString(h.Sum(nil))
}

// allowStart returns nil once a start that passed all checks may be made, or the error why it may not.
func (p *askingPart) allowStart(pl plan, await func(<-chan Answer) (Answer, *Error)) *Error {
	if p.j.mgr.settings.confirm.Start != VerdictAsk {
		return nil
	}
	q, err := p.question(ActionStart, p.j.spec.Asker, 0, p.shownCommand(pl.shell), pl.place(), rootsOf(&p.j.spec, pl))
	if err != nil {
		return err
	}
	if err := q.addEnvironment(p.j, pl.env); err != nil {
		return err
	}
	if err := p.awaitPerson(q, await); err != nil {
		return err
	}
	return p.checkAgain(pl)
}

// checkAgain checks a start once more after a person has allowed it: the path may lead to another directory by now, or
// to one that is not allowed any more.
func (p *askingPart) checkAgain(asked plan) *Error {
	now, err := p.j.mgr.system.plan(&p.j.spec)
	if err != nil {
		return err
	}
	defer now.at.Close()
	return sameDirectory(asked, now)
}

func (p *askingPart) awaitPerson(q *Question, await func(<-chan Answer) (Answer, *Error)) *Error {
	defer p.j.mgr.askPerson(q)()
	a, err := await(q.answers)
	if err != nil {
		return err
	}
	return q.denied(a)
}

// dropOthers drops the input, commands and changes of variables of others that wait for a person.
func (p *askingPart) dropOthers(holder string, why func() *Error) {
	for _, h := range slices.Backward(p.askedWrites) { // so that none of them comes first, and is typed
		if isOthers(h.msg.in.Owner, holder) {
			p.dropAskedWrite(h, why())
		}
	}
	for _, a := range p.asking {
		if isOthers(a.owner(), holder) && a.why == nil {
			a.drop(why())
		}
	}
}

// owner returns the client whose request it is, if the request needs the input of the job.
func (a *askedRequest) owner() string {
	switch m := a.of.(type) {
	case execMsg:
		return m.opts.Owner
	case changeVariableMsg:
		return m.owner
	}
	return ""
}
