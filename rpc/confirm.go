package rpc

import (
	"encoding/json"
	"strconv"
	"strings"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// confirmPolicy returns the policy that initialize asks for. Without the client's capability, no question can be asked.
func (s *Server) confirmPolicy(p *schema.InitializeParams) jobs.ConfirmPolicy {
	o := or(or(p.Options, schema.Options{}).Confirm, schema.ConfirmOptions{})
	c := jobs.ConfirmPolicy{
		Start: jobs.Verdict(or(o.Start, schema.ConfirmVerdictAllow)),
		Write: jobs.Verdict(or(o.Write, schema.ConfirmVerdictAllow)),
		Kill:  jobs.Verdict(or(o.Kill, schema.ConfirmVerdictAllow)),
	}
	if or(or(p.Capabilities, schema.ClientCapabilities{}).Confirm, false) {
		c.Ask = s.in.confirm
	}
	return c
}

// confirm sends a question to the client whose request needs the answer. If that cannot answer, no person has said yes;
// if it has gone, none was asked.
func (ss *Session) confirm(q *jobs.Question) (withdraw func()) {
	number, id, _ := strings.Cut(q.Asker.Request, " ")
	s := ss.numbered(number)
	if s == nil {
		q.Answer(jobs.AnswerGone)
		return func() {}
	}
	if !s.attendee.confirms {
		q.Answer(jobs.AnswerNone)
		return func() {}
	}
	return s.confirm(q, id)
}

// numbered returns the connection with a number; nil: it has gone.
func (ss *Session) numbered(number string) *Server {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, s := range ss.clients {
		if strconv.Itoa(s.attendee.number) == number {
			return s
		}
	}
	return nil
}

// confirm sends a question to the client, for its user. It does not wait behind output: the action that it asks about
// has not happened yet.
func (s *Server) confirm(q *jobs.Question, id string) (withdraw func()) {
	a := &ask{
		method: "client/confirm",
		params: schema.ClientConfirmParams{
			Action: schema.ConfirmAction(q.Action), RequestID: json.RawMessage(id), Command: q.Command, Roots: q.Roots, Unknown: q.Unknown, AlwaysKept: q.AlwaysKept(),
			Variables: q.Variables, Environment: optional(q.Environment),
			Handle: optional(int64(q.Handle)), Cwd: q.Cwd,
			StdinFile: optional(q.StdinFile), StdoutFile: optional(q.StdoutFile), StderrFile: optional(q.StderrFile),
		},
		answered: func(s *Server, result, failure json.RawMessage) { q.Answer(s.confirmed(q, result, failure)) },
	}
	sent := false
	s.tell(func(o *outbox) { sent = o.sendAskLocked(a) })
	if !sent {
		q.Answer(jobs.AnswerGone) // The client has shut down meanwhile.
	}
	return func() { s.tell(func(o *outbox) { o.withdrawLocked(a) }) }
}

// maxAskerBytes limits the id that a question quotes: the question must fit into a message.
const maxAskerBytes = 4096

// asker identifies this request, and the client whose answers count for it. Without an id, which is too long, a question
// does not quote it.
func (r *request) asker() jobs.Asker {
	a := jobs.Asker{Request: strconv.Itoa(r.server.attendee.number), Client: r.server.attendee.name}
	if len(r.id) <= maxAskerBytes {
		a.Request += " " + string(r.id)
	}
	return a
}

// tell sends the messages that f queues.
func (s *Server) tell(f func(*outbox)) {
	s.out.mu.Lock()
	f(s.out)
	s.out.mu.Unlock()
	s.out.flushSoon()
}

// confirmed reads the answer to client/confirm. An answer that cannot be read counts as deny. There is none, not even a
// failure, if the client has gone.
func (s *Server) confirmed(q *jobs.Question, result, failure json.RawMessage) jobs.Answer {
	var r schema.ClientConfirmResult
	if result == nil && failure == nil {
		return jobs.AnswerGone
	}
	if failure != nil {
		s.log.Debug("client/confirm was refused, which counts as deny", "action", q.Action)
		return jobs.AnswerNone
	}
	err := schema.ValidateResult("client/confirm", result)
	if err == nil {
		err = json.Unmarshal(result, &r)
	}
	if err != nil {
		s.log.Warn("the answer to client/confirm does not fit its schema, and counts as deny", "action", q.Action, "why", err)
		return jobs.AnswerNone
	}
	return jobs.Answer(r.Outcome)
}
