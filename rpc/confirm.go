package rpc

import (
	"encoding/json"

	"shelld/jobs"
	"shelld/schema"
)

// confirmPolicy is what initialize asks for. Without the client's capability nobody can be
// asked.
func (s *Server) confirmPolicy(p *schema.InitializeParams) jobs.ConfirmPolicy {
	o := or(or(p.Options, schema.Options{}).Confirm, schema.ConfirmOptions{})
	c := jobs.ConfirmPolicy{
		Start: jobs.Verdict(or(o.Start, schema.ConfirmVerdictAllow)),
		Write: jobs.Verdict(or(o.Write, schema.ConfirmVerdictAllow)),
		Kill:  jobs.Verdict(or(o.Kill, schema.ConfirmVerdictAllow)),
	}
	if or(or(p.Capabilities, schema.ClientCapabilities{}).Confirm, false) {
		c.Ask = s.confirm
	}
	return c
}

// confirm has the client ask its person. It comes behind no output: what is asked about has
// not happened.
func (s *Server) confirm(q *jobs.Question) (withdraw func()) {
	a := &ask{
		method: "client/confirm",
		params: schema.ClientConfirmParams{
			Action: schema.ConfirmAction(q.Action), RequestID: json.RawMessage(q.Asker), Command: q.Command, Roots: q.Roots, Unknown: q.Unknown, AlwaysKept: q.AlwaysKept(),
			Variables: q.Variables, Environment: optional(q.Environment),
			Handle: optional(int64(q.Handle)), Cwd: q.Cwd,
			StdinFile: optional(q.StdinFile), StdoutFile: optional(q.StdoutFile), StderrFile: optional(q.StderrFile),
		},
		answered: func(s *Server, result, failure json.RawMessage) { q.Answer(s.confirmed(q, result, failure)) },
	}
	s.tell(func(o *outbox) { o.sendAskLocked(a) })
	return func() { s.tell(func(o *outbox) { o.withdrawLocked(a) }) }
}

// maxAskerBytes bounds the id that a question quotes: the question has to fit into a message.
const maxAskerBytes = 4096

// asker is what a question for this request is told by.
func (r *request) asker() jobs.Asker {
	if len(r.id) > maxAskerBytes {
		return ""
	}
	return jobs.Asker(r.id)
}

// tell sends what f queues.
func (s *Server) tell(f func(*outbox)) {
	s.out.mu.Lock()
	f(s.out)
	s.out.mu.Unlock()
	s.out.flushSoon()
}

// confirmed reads the answer to client/confirm. Nobody has said yes in one that cannot be
// read.
func (s *Server) confirmed(q *jobs.Question, result, failure json.RawMessage) jobs.Answer {
	var r schema.ClientConfirmResult
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
