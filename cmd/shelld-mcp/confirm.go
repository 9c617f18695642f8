package main

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/rpc"
	"shelld/schema"
)

// A person is asked by the server (client/confirm), while a request of this side's is on its
// way, and by the host, between two tries of the same call: MCP has no questions of servers
// any more, but answers that need input, after which the host calls again. So the first try is
// denied, and its question goes to the host; the second is the same request, whose question is
// answered with what the person has said, if it is about the same. A host of an older version
// is sent the question here, while its call waits (ask.go), and tried again for.

// A decision is what a person has said, and of which question.
type decision struct {
	digest  string
	outcome schema.ConfirmOutcome
	unclear bool // the host says yes, and not what to
	// What the host did with a question that was not accepted: decline or cancel. Hosts without a
	// person answer both by themselves.
	action string
}

// confirmID names the question in a call; there is one at a time.
const confirmID = "confirm"

// decisionIn reads what a host brings that has asked its person.
func decisionIn(p *mcp.CallToolParamsRaw) *decision {
	answer, ok := p.InputResponses[confirmID].(*mcp.ElicitResult)
	if !ok || answer == nil {
		return nil
	}
	return decisionOf(answer, p.RequestState)
}

// decisionOf is what a person has said of the question with a digest.
func decisionOf(answer *mcp.ElicitResult, digest string) *decision {
	d := &decision{digest: digest, outcome: schema.ConfirmOutcomeDeny}
	if answer.Action != "accept" {
		d.action = answer.Action
		return d
	}
	word, _ := answer.Content["decision"].(string)
	switch outcome := schema.ConfirmOutcome(word); outcome {
	case schema.ConfirmOutcomeOnce, schema.ConfirmOutcomeAlways:
		d.outcome = outcome
	case schema.ConfirmOutcomeDeny:
	default:
		d.unclear = true
	}
	return d
}

// confirm answers a question about a call. A call is asked about once: what it does after
// that belongs to what was allowed.
func (c *call) confirm(ctx context.Context, q *question) schema.ConfirmOutcome {
	if outcome, known := c.verdict(q); known {
		return outcome
	}
	if q.asker = c.asker(); q.action == schema.ConfirmActionWrite && q.into == "" {
		if info, err := c.front.info(ctx, handleID(q.handle)); err == nil {
			q.into = intoOf(info)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = q
	return schema.ConfirmOutcomeDeny
}

// info is all that is known of a job.
func (f *front) info(ctx context.Context, id json.RawMessage) (*schema.JobInfo, error) {
	var r schema.JobGetResult
	if err := f.ask(ctx, "job/get", schema.JobGetParams{Handle: id}, &r); err != nil {
		return nil, err
	}
	return &r.Job, nil
}

// verdict is the answer to a question that nobody has to be asked; false: somebody has.
func (c *call) verdict(q *question) (schema.ConfirmOutcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.asks || c.allowed:
		return schema.ConfirmOutcomeOnce, true
	case c.said != nil && c.said.digest == c.digest(q):
		c.allowed = c.said.outcome != schema.ConfirmOutcomeDeny
		return c.said.outcome, true
	case canAsk(c.req.Session):
		return "", false
	case c.front.cfg.allowsUnasked():
		c.allowed = true
		return schema.ConfirmOutcomeOnce, true
	}
	c.barred = true
	return schema.ConfirmOutcomeDeny, true
}

// confirmKeys has a person asked about a write of keys alone. The server lets signal keys pass,
// so that a program can be stopped whatever else waits; but a Ctrl-C may end one as a kill does,
// about which the person of a host is asked, and so is he about all that a seed's tool types.
func (c *call) confirmKeys(ctx context.Context, p *schema.JobWriteParams) error {
	shown, alone := shownKeys(p)
	if !c.asks || !alone {
		return nil
	}
	info, err := c.front.info(ctx, p.Handle)
	if err != nil {
		return err
	}
	if !running(info.Status) {
		return nil // The write is refused, and nobody has to be asked.
	}
	q := &question{action: schema.ConfirmActionWrite, command: shown, cwd: info.Cwd, handle: info.Handle, into: intoOf(info)}
	return c.require(ctx, q, "these keys")
}

// require has a person asked by this side, and not by the server. The error says that what is not
// allowed.
func (c *call) require(ctx context.Context, q *question, what string) error {
	if c.confirm(ctx, q) != schema.ConfirmOutcomeDeny {
		return nil
	}
	return &rpc.CallError{Kind: schema.KindConfirmationDenied, ErrorObject: schema.ErrorObject{
		Message: "the person at the host did not allow " + what + "; do not try again without asking what to do instead",
	}}
}

// canAsk says whether the host can put a question to its person.
func canAsk(s *mcp.ServerSession) bool {
	p := s.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // Neither means forms, as they were there first.
}

// unanswered is the question that the host is to ask before it calls again; nil for none.
func (c *call) unanswered() *mcp.CallToolResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		return nil
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{confirmID: &mcp.ElicitParams{
			Mode: "form", Message: c.asked.text(), RequestedSchema: c.asked.answers(),
		}},
		RequestState: c.digest(c.asked),
	}
}

// answers is the schema of what a person can say. always is offered where the server keeps it.
func (q *question) answers() map[string]any {
	words, means := []string{"once", "deny"}, "once: this time. deny: not at all."
	if q.keeps() {
		words, means = []string{"once", "always", "deny"}, "once: this time. always: "+q.always()+" deny: not at all."
	}
	return map[string]any{
		"type":       "object",
		"properties": map[string]any{"decision": map[string]any{"type": "string", "title": "Decision", "enum": words, "description": means}},
		"required":   []string{"decision"},
	}
}

// refusal says why what a person has to allow is not allowed, if that is not the plain no of a person:
// "" otherwise.
func (d *decision) refusal() string {
	const remedy = " If this host runs without a person and approves each call itself, start shelld-mcp with -confirm none."
	switch {
	case d.unclear:
		return "The host has said yes to the question, but neither once nor always, and so nobody has allowed this. Nothing was done. " +
			"See to the host, whose answer has to have decision, or start shelld-mcp with -confirm none if the host itself asks before each call."
	case d.action == "cancel":
		return "The question about this was closed without an answer: no person has said yes or no. Nothing was done. " +
			"A host that runs without a person (in a headless mode) may answer so by itself." + remedy
	case d.action != "":
		return "The host has declined this: its person said no, or it runs without a person and declines by itself. Nothing was done. " +
			"Do not try again without asking what to do instead." + remedy
	}
	return ""
}

// confirmOptions is what the server is to ask about. What no tool of the set would have
// asked is not: it would cost a round, and the server asks about no more than 64 KiB.
func (c *config) confirmOptions() schema.ConfirmOptions {
	ask := schema.ConfirmVerdictAsk
	if c.confirm == "none" || c.confirm != "all" && c.tools == "compact" {
		ask = schema.ConfirmVerdictAllow
	}
	return schema.ConfirmOptions{Start: new(ask), Write: new(ask), Kill: new(ask)}
}
