package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/schema"
)

// A person is asked by the server (client/confirm), while a request of this side's is on its
// way, and by the host, between two tries of the same call: MCP has no questions of servers
// any more, but answers that need input, after which the host calls again. (For hosts of
// older versions the SDK makes an elicitation of that.) So the first try is denied, and its
// question goes to the host; the second is the same request, whose question is answered with
// what the person has said, if it is the same question.

// A question is what the server asks about a call.
type question struct {
	action  schema.ConfirmAction
	command string
	cwd     string
	handle  int64
}

func questionOf(p *schema.ClientConfirmParams) *question {
	q := &question{action: p.Action, command: p.Command, cwd: p.Cwd}
	if p.Handle != nil {
		q.handle = *p.Handle
	}
	return q
}

// digest tells questions apart. A start has no handle.
func (q *question) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", q.action, q.command, q.cwd, q.handle))
	return hex.EncodeToString(sum[:])
}

// text is the question for a person, under the titles of the seeds.
func (q *question) text() string {
	switch q.action {
	case schema.ConfirmActionKill:
		return fmt.Sprintf("Confirm Process Termination\n\nTerminate process %d?\n\n%s\nin %s", q.handle, indented(q.command), q.cwd)
	case schema.ConfirmActionWrite:
		return fmt.Sprintf("Confirm Shell Input\n\nType this into process %d?\n\n%s", q.handle, indented(q.command))
	}
	return fmt.Sprintf("Confirm Shell Command\n\nRun this in %s?\n\n%s", q.cwd, indented(q.command))
}

func indented(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }

// A decision is what a person has said, and of which question.
type decision struct {
	digest  string
	outcome schema.ConfirmOutcome
}

// confirmID names the question in a call; there is one at a time.
const confirmID = "confirm"

// decisionIn reads what a host brings that has asked its person.
func decisionIn(p *mcp.CallToolParamsRaw) *decision {
	answer, ok := p.InputResponses[confirmID].(*mcp.ElicitResult)
	if !ok || answer == nil {
		return nil
	}
	d := &decision{digest: p.RequestState, outcome: schema.ConfirmOutcomeDeny}
	if answer.Action != "accept" {
		return d
	}
	d.outcome = schema.ConfirmOutcomeOnce
	if said, there := answer.Content["decision"]; there {
		switch word, _ := said.(string); schema.ConfirmOutcome(word) {
		case schema.ConfirmOutcomeOnce:
		case schema.ConfirmOutcomeAlways:
			d.outcome = schema.ConfirmOutcomeAlways
		default:
			d.outcome = schema.ConfirmOutcomeDeny
		}
	}
	return d
}

// confirm answers the server's question about a call. A call is asked about once: what it
// does after that belongs to what was allowed.
func (c *call) confirm(p *schema.ClientConfirmParams) schema.ConfirmOutcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := questionOf(p)
	switch {
	case !c.asks || c.allowed:
		return schema.ConfirmOutcomeOnce
	case c.said != nil && c.said.digest == q.digest():
		c.allowed = c.said.outcome != schema.ConfirmOutcomeDeny
		return c.said.outcome
	case !canAsk(c.req.Session):
		c.allowed = c.front.cfg.unasked == "allow"
		if !c.allowed {
			c.barred = true
			return schema.ConfirmOutcomeDeny
		}
		return schema.ConfirmOutcomeOnce
	}
	c.asked = q
	return schema.ConfirmOutcomeDeny
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
			Mode: "form", Message: c.asked.text(), RequestedSchema: decisionSchema,
		}},
		RequestState: c.asked.digest(),
	}
}

var decisionSchema = map[string]any{
	"type": "object",
	"properties": map[string]any{"decision": map[string]any{
		"type": "string", "title": "Decision", "enum": []string{"once", "always", "deny"}, "default": "once",
		"description": "once: this time. always: this, and the same commands from now on, as long as the server lives. deny: not at all.",
	}},
	"required": []string{"decision"},
}

// confirmOptions is what the server is to ask about. What no tool of the set would have
// asked is not: it would cost a round, and the server asks about no more than 64 KiB.
func (c *config) confirmOptions() schema.ConfirmOptions {
	ask := schema.ConfirmVerdictAsk
	if c.confirm == "none" || c.confirm == "seeds" && c.tools == "compact" {
		ask = schema.ConfirmVerdictAllow
	}
	return schema.ConfirmOptions{Start: new(ask), Write: new(ask), Kill: new(ask)}
}
