package jobs

import (
	"sync"
)

// Before an action, the person at the client may have to confirm it. A goroutine waits for the answer outside of the
// turn:
//
//	a start               run itself, between plan and launch (allowStart)
//	a kill, a signal, a write, a command for a shell, a change of its variables
//	                      one per request, which posts the request to the loop again (confirm_ask.go)
//
// It waits for the answer, for an answer "always" to another question that covers this one, for the request to be
// canceled, and for the end of the job or the server. There is no timeout.

// A Verdict is the decision of a policy on an action; "" is VerdictAllow.
type Verdict string

const (
	VerdictAllow Verdict = "allow"
	VerdictAsk   Verdict = "ask"
	VerdictDeny  Verdict = "deny"
)

// An Action is a kind of request that may need a confirmation.
type Action string

const (
	ActionStart Action = "start"
	ActionWrite Action = "write"
	ActionKill  Action = "kill" // and signals
)

// A ConfirmPolicy says which actions the person at the client has to confirm.
type ConfirmPolicy struct {
	Start, Write, Kill Verdict
	// Ask sends the question to the person, and returns a function that withdraws it, which does nothing once the
	// question is answered. Neither may block. If Ask is nil, no person can be asked, and ask means deny.
	Ask func(*Question) (withdraw func())
}

func (c *ConfirmPolicy) verdict(a Action) Verdict {
	return map[Action]Verdict{ActionStart: c.Start, ActionWrite: c.Write, ActionKill: c.Kill}[a]
}

// InEffect returns the verdict on an action: if no person can be asked, ask means deny.
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

// A Question is a question to the person at the client. It contains no secret value.
type Question struct {
	Action  Action
	Asker   Asker    // of the request that needs the answer
	Command string   // as a shell reads it
	Roots   []string // the commands that it runs (package roots)
	Unknown bool     // not all of the roots are known
	Handle  ID       // 0 for a start, which has made no job yet
	Cwd     string

	StdinFile, StdoutFile, StderrFile string // of a start, as it names them; "" = none

	// Of a start (addEnvironment):
	Variables   map[string]*string // the variables set by the client that change which commands run; nil value: unset
	Environment string             // equal for starts that get the same variables; reveals nothing of them

	of      *confirms
	key     string      // an answer "always" to one question answers all with the same key; "" = only this one
	answers chan Answer // capacity 1, for the first answer
}

// An Answer is the answer of a person.
type Answer string

const (
	AnswerOnce   Answer = "once"
	AnswerAlways Answer = "always" // this action and these roots, for this client, until the server ends
	AnswerDeny   Answer = "deny"
	AnswerNone   Answer = "none" // the client gave no valid answer: no person has said yes
	AnswerGone   Answer = "gone" // the client has gone before a person could say anything
)

// AlwaysKept reports whether an answer of always is kept. Otherwise it counts as once.
func (q *Question) AlwaysKept() bool { return q.key != "" }

// Answer answers the question. The implementation of ConfirmPolicy.Ask calls it. The first answer counts. It does not
// block.
func (q *Question) Answer(a Answer) {
	if a == AnswerAlways && q.key != "" {
		q.of.allow(q.key)
	}
	q.settle(a)
}

func (q *Question) settle(a Answer) {
	select {
	case q.answers <- a:
	default: // it was answered
	}
}

// confirms has the questions of a server.
type confirms struct {
	mu      sync.Mutex
	always  map[string]bool // by the key of a question
	waiting map[*Question]bool
}

// allow answers all questions with a key, the open ones among them.
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

// begin adds a question. It returns false if an answer "always" covers it.
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

// askPerson asks the person, unless an earlier answer "always" covers the question. The answer comes on q.answers. The
// caller must call end when it does not wait for it any more.
func (m *services) askPerson(q *Question) (end func()) {
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

// refuseUnasked refuses an action for which no question is possible: the policy denies it, or no person can be asked.
// It returns nil if a person is asked, or if the action needs no confirmation.
func (m *services) refuseUnasked(a Action, handle ID) *Error {
	var e *Error
	switch v := m.settings.confirm.verdict(a); {
	case v == VerdictDeny:
		e = policyDenied(string(a), "confirm", "options.confirm.%s of initialize is deny; it can be changed only by the person who configures this client", a)
	case v == VerdictAsk && m.settings.confirm.Ask == nil:
		e = policyDenied(string(a), "confirm", "options.confirm.%s of initialize is ask, but this client does not support client/confirm; implement it and set capabilities.confirm", a)
	default:
		return nil
	}
	e.Handle = handle
	return e
}

// denied returns the error if the person has not allowed the action, else nil.
func (q *Question) denied(a Answer) *Error {
	var e *Error
	switch a {
	case AnswerDeny:
		e = errorf(CodeConfirmationDenied, "the person at the client did not allow this %s; do not try again without asking what to do instead", q.Action)
	case AnswerGone:
		e = errorf(CodeCanceled, "the client went away before its person could allow this %s, and nothing was done; send the request again", q.Action)
		e.Retryable = true
	case AnswerNone:
		e = errorf(CodeConfirmationDenied, "the client answered client/confirm without an outcome, so this %s is denied; fix the client, or leave options.confirm out", q.Action)
	default:
		return nil
	}
	e.Name, e.Handle = string(q.Action), q.Handle
	return e
}
