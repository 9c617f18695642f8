package jobs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"shelld/jobs/internal/roots"
)

// Before something is done, the person at the client may be asked. Whoever waits for that has
// a goroutine of his own, and no turn:
//
//	a start        run itself, between plan and launch (confirm_env.go)
//	a kill, a signal, a write   one per request, which brings it back to the loop (confirm_ask.go)
//
// He waits for the answer, for an answer to somebody else that counts for him too, for his
// request to be cancelled, and for the end of the job or the server; and for no time.

// A Verdict is what a policy says of an action; "" is VerdictAllow.
type Verdict string

const (
	VerdictAllow Verdict = "allow"
	VerdictAsk   Verdict = "ask"
	VerdictDeny  Verdict = "deny"
)

// An Action is what may have to be allowed.
type Action string

const (
	ActionStart Action = "start"
	ActionWrite Action = "write"
	ActionKill  Action = "kill" // and signals
)

// A ConfirmPolicy says which actions the person at the client is asked about.
type ConfirmPolicy struct {
	Start, Write, Kill Verdict
	// Ask has the person asked, and returns what takes the question back; that does nothing
	// once it is answered. Neither may block. Nil: nobody can be asked, and ask means deny.
	Ask func(*Question) (withdraw func())
}

func (c *ConfirmPolicy) verdict(a Action) Verdict {
	return map[Action]Verdict{ActionStart: c.Start, ActionWrite: c.Write, ActionKill: c.Kill}[a]
}

// InEffect is what becomes of an action: where nobody can be asked, ask means deny.
func (c *ConfirmPolicy) InEffect(a Action) Verdict {
	switch v := c.verdict(a); {
	case v == "":
		return VerdictAllow
	case v == VerdictAsk && c.Ask == nil:
		return VerdictDeny
	default:
		return v
	}
}

// An Asker is what the caller knows a request by, for which a person may have to be asked.
// It means nothing here.
type Asker string

// A Question is what a person is asked. Nothing of it is secret.
type Question struct {
	Action  Action
	Asker   Asker    // of the request that wants it
	Command string   // as a shell reads it
	Roots   []string // what it runs (package roots)
	Unknown bool     // not all of the roots are known
	Handle  ID       // 0: of a start, which has made no job yet
	Cwd     string

	StdinFile, StdoutFile, StderrFile string // of a start, as it names them; "" = none

	// Of a start (confirm_env.go):
	Variables   map[string]*string // those the client has set that change which commands run; nil value: unset
	Environment string             // equal for starts that get the same variables; tells nothing of them

	mgr     *Manager
	key     string      // those with the same are answered by one always; "" = nothing else is
	answers chan Answer // has room for the one that counts
}

// An Answer is what a person says.
type Answer string

const (
	AnswerOnce   Answer = "once"
	AnswerAlways Answer = "always" // this action and these roots, as long as the server lives
	AnswerDeny   Answer = "deny"
	AnswerNone   Answer = "none" // the client has none that counts: nobody has said yes
)

// AlwaysKept reports whether an answer of always is kept. Otherwise it counts as once.
func (q *Question) AlwaysKept() bool { return q.key != "" }

// Answer is called by whoever was told to ask. The first one counts. It does not block.
func (q *Question) Answer(a Answer) {
	if a == AnswerAlways && q.key != "" {
		q.mgr.confirms.allow(q.key)
	}
	q.settle(a)
}

func (q *Question) settle(a Answer) {
	select {
	case q.answers <- a:
	default: // it was answered
	}
}

// confirms are the questions of a server.
type confirms struct {
	mu      sync.Mutex
	always  map[string]bool // by the key of a question
	waiting map[*Question]bool
}

// allow has all questions with a key be answered, those that are asked now among them.
func (c *confirms) allow(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.always == nil {
		c.always = map[string]bool{}
	}
	c.always[key] = true
	for q := range c.waiting {
		if q.key == key {
			q.settle(AnswerOnce)
		}
	}
}

// begin enters a question; it returns false for one that is answered for good.
func (c *confirms) begin(q *Question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.key != "" && c.always[q.key] {
		return false
	}
	if c.waiting == nil {
		c.waiting = map[*Question]bool{}
	}
	c.waiting[q] = true
	return true
}

func (c *confirms) end(q *Question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, q)
}

// askPerson has a person asked, unless he has answered for good. The answer comes on q.answers;
// end is called when nobody waits for it any more.
func (m *Manager) askPerson(q *Question) (end func()) {
	if !m.confirms.begin(q) {
		q.settle(AnswerOnce)
		return func() {}
	}
	withdraw := m.settings.confirm.Ask(q)
	return func() {
		m.confirms.end(q)
		withdraw()
	}
}

// mostAsked bounds the command that anybody can be expected to read.
const mostAsked = 64 << 10

// refuseUnasked refuses an action of which nobody is asked: because none is allowed, or
// nobody can be asked. Nil: somebody is, or need not be.
func (m *Manager) refuseUnasked(a Action, handle ID) *Error {
	var e *Error
	switch v := m.settings.confirm.verdict(a); {
	case v == VerdictDeny:
		e = policyDenied(string(a), "confirm", "options.confirm.%s of initialize is deny, which allows none; ask whoever starts this server's client to change that", a)
	case v == VerdictAsk && m.settings.confirm.Ask == nil:
		e = policyDenied(string(a), "confirm", "options.confirm.%s of initialize is ask, and this client answers no client/confirm; have it do so, and say so in capabilities.confirm", a)
	default:
		return nil
	}
	e.Handle = handle
	return e
}

// question makes one of what is known of a command.
func (p *askingPart) question(a Action, asker Asker, handle ID, command, cwd string, found roots.Found) (*Question, *Error) {
	if len(command) > mostAsked {
		e := policyDenied(string(a), "confirm", "nobody can be asked about a command of %d bytes, over %d; put it into a file, and run that", len(command), mostAsked)
		e.Handle = handle
		return nil, e
	}
	q := &Question{
		Action: a, Command: p.j.redaction.text(command), Roots: p.j.redaction.texts(found.Roots), Unknown: found.Unknown(),
		Asker: asker, Handle: handle, Cwd: p.j.redaction.text(cwd),
		mgr: p.j.mgr, key: alwaysKey(a, cwd, found), answers: make(chan Answer, 1),
	}
	if a == ActionStart {
		q.StdinFile, q.StdoutFile, q.StderrFile = p.j.redaction.text(p.j.spec.StdinFile), p.j.redaction.text(p.j.spec.StdoutFile), p.j.redaction.text(p.j.spec.StderrFile)
		if q.StdinFile+q.StdoutFile+q.StderrFile != "" {
			q.key = ""
		}
	}
	if q.Command != command && a != ActionWrite || !slices.Equal(q.Roots, found.Roots) {
		q.Unknown, q.key = true, "" // Nobody can allow what he is not shown.
	}
	return q, nil
}

// alwaysKey is what an answer for always stands for: the action and the set of roots, and
// where one of them is a path that begins in the directory, that as well. "" where the roots
// are not known, or another one may have changed the directory before; where there are none,
// or the line writes into files, since then it is not the roots that matter.
func alwaysKey(a Action, cwd string, found roots.Found) string {
	if found.Unknown() || found.Files || len(found.Roots) == 0 {
		return ""
	}
	set := slices.Sorted(slices.Values(found.Roots))
	key := append([]string{string(a)}, slices.Compact(set)...)
	if slices.ContainsFunc(set, func(r string) bool { return strings.ContainsAny(r, `/\`) && !filepath.IsAbs(r) }) {
		if slices.ContainsFunc(set, roots.MovesDirectory) {
			return ""
		}
		key = append(key, "", cwd)
	}
	return strings.Join(key, "\x00") // which is in none of them
}

// denied is what is answered where the person has said no; nil where he has not.
func (q *Question) denied(a Answer) *Error {
	var e *Error
	switch a {
	case AnswerDeny:
		e = errorf(CodeConfirmationDenied, "the person at the client did not allow this %s; do not try again without asking what to do instead", q.Action)
	case AnswerNone:
		e = errorf(CodeConfirmationDenied, "the client did not answer client/confirm with an outcome, so nobody has allowed this %s; see to the client, or leave options.confirm out", q.Action)
	default:
		return nil
	}
	e.Name, e.Handle = string(q.Action), q.Handle
	return e
}

// shownCommand is the job's command as a shell reads it. What is secret among arguments goes
// before they are quoted, which would be another way to write it.
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

// quoted is a word as a POSIX shell reads it.
func quoted(word string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("%+,-./:=@_", c)
	}
	if word != "" && !strings.ContainsFunc(word, func(c rune) bool { return !plain(c) }) {
		return word
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(word, "'", `'\''`))
}
