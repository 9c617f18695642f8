package main

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// The server asks for a confirmation (client/confirm) while our request is in flight. The host asks its person between
// two tries of the same call: in MCP a server cannot ask questions any more, but can return an answer that needs input,
// after which the host calls again. So the request of the first try is denied, and its question is returned to the
// host. The second try makes the same request, and its question is answered with the person's decision, if it is the
// same question. A host of an older version is sent the question while its call waits (ask.go), and the second try is
// made here.

// A decision is the answer of a person, and identifies the question.
type decision struct {
	digest  string
	outcome schema.ConfirmOutcome
	unclear bool // accepted, but without a valid decision
	// Action of the host on a question that was not accepted: decline or cancel. Hosts without a person return both by
	// themselves.
	action string
}

// confirmID is the key of the question in a call; there is one at a time.
const confirmID = "confirm"

// decisionIn returns the decision in a call of a host that has asked its person, or nil.
func decisionIn(p *mcp.CallToolParamsRaw) *decision {
	answer, ok := p.InputResponses[confirmID].(*mcp.ElicitResult)
	if !ok || answer == nil {
		return nil
	}
	return decisionOf(answer, p.RequestState)
}

// decisionOf returns the decision on the question with the digest.
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

// confirm answers a question about a call. A person is asked only once about a call: the answer covers everything that
// the call does after that.
func (c *call) confirm(ctx context.Context, q *question) schema.ConfirmOutcome {
	if outcome, known := c.verdict(q); known {
		return outcome
	}
	q.session = c.front.cfg.session
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

// info returns all information about a job.
func (f *front) info(ctx context.Context, id json.RawMessage) (*schema.JobInfo, error) {
	var r schema.JobGetResult
	if err := f.ask(ctx, "job/get", schema.JobGetParams{Handle: id}, &r); err != nil {
		return nil, err
	}
	return &r.Job, nil
}

// verdict returns the answer to a question if it is known without asking a person; false: a person must be asked.
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

// confirmKeys asks a person about a write that consists only of keys. The server does not ask about signal keys, so
// that a program can be stopped whatever else is pending. But a Ctrl-C may end a program as a kill does, and the person
// is asked about kills, and about all input typed by a seed's tool.
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
		return nil // The write will be rejected; no question is needed.
	}
	q := &question{action: schema.ConfirmActionWrite, command: shown, cwd: info.Cwd, handle: info.Handle, into: intoOf(info)}
	return c.require(ctx, q, "these keys")
}

// require asks a person from this side, without the server. It returns an error if the person denies; what names the
// denied action in its text.
func (c *call) require(ctx context.Context, q *question, what string) error {
	if c.confirm(ctx, q) != schema.ConfirmOutcomeDeny {
		return nil
	}
	return &client.Error{Kind: schema.KindConfirmationDenied, ErrorObject: schema.ErrorObject{
		Message: "the person at the host did not allow " + what + "; do not try again without asking what to do instead",
	}}
}

// canAsk reports whether the host can ask its person a question.
func canAsk(s *mcp.ServerSession) bool {
	p := s.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // A capability without modes means forms, the first mode that existed.
}

// unanswered returns the question that the host must ask before it calls again; nil: none.
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

// answers returns the schema of the possible answers. It offers always if the server keeps such an answer.
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

// refusal returns the reason for a denial that was not a plain no from a person; otherwise "".
func (d *decision) refusal() string {
	const remedy = " If this host runs without a person and approves each call itself, start shelld-mcp with -confirm none."
	switch {
	case d.unclear:
		return "The host accepted the question, but with neither once nor always, so this is not allowed. Nothing was done. " +
			"Fix the host, whose answer must have decision, or start shelld-mcp with -confirm none if the host itself asks before each call."
	case d.action == "cancel":
		return "The question about this was closed without an answer: no person has said yes or no. Nothing was done. " +
			"A host that runs without a person (in a headless mode) may answer so by itself." + remedy
	case d.action != "":
		return "The host has declined this: its person said no, or it runs without a person and declines by itself. Nothing was done. " +
			"Do not try again without asking what to do instead." + remedy
	}
	return ""
}

// confirmOptions returns the actions about which the server must ask. If no tool of the set would ask about an action,
// it is allowed: a question would cost a round trip, and the server rejects questions over 64 KiB.
func (c *config) confirmOptions() schema.ConfirmOptions {
	ask := schema.ConfirmVerdictAsk
	if c.confirm == "none" || c.confirm != "all" && c.tools == "compact" {
		ask = schema.ConfirmVerdictAllow
	}
	return schema.ConfirmOptions{Start: new(ask), Write: new(ask), Kill: new(ask)}
}
