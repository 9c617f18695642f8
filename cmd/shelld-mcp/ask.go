package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/cmd/internal/base"
)

// This file asks the person at a host whose protocol version has no second try of a call. The SDK could do it too, but
// if the host fails to ask, the SDK answers with a protocol error, which no model sees; and if the second try would do
// something other than the person has allowed, it answers with an empty success.

// asksItself is the first version of MCP in which the host itself asks its person the questions in an answer, and then
// calls again.
const asksItself = "2026-07-28"

// answered returns the answer to a call: that of its first try or, if a person must be asked first, that of a second
// try with the person's decision. try makes one try; with a nil decision it uses the decision in the request, if any.
func (f *front) answered(ctx context.Context, req *mcp.CallToolRequest, try func(*decision) *mcp.CallToolResult) *mcp.CallToolResult {
	res := try(nil)
	p := req.Session.InitializeParams()
	if res.InputRequests == nil || p == nil || p.ProtocolVersion >= asksItself {
		return res
	}
	question, _ := res.InputRequests[confirmID].(*mcp.ElicitParams)
	if question == nil {
		panic("a question of another kind") // This is a bug in the source; add reports it.
	}
	answer, err := req.Session.Elicit(ctx, question)
	switch {
	case ctx.Err() != nil:
		return failure(ctx.Err().Error()) // The call was cancelled, so this answer is dropped.
	case err != nil:
		f.log.Info("the host failed to ask a person", "tool", req.Params.Name, "error", err)
		return failure(notAsked(err))
	}
	res = try(decisionOf(answer, res.RequestState))
	if res.InputRequests != nil {
		return failure("A person was asked, but the call would now do something else, because what it refers to has changed. Nothing was done; call the tool again to ask about the new state.")
	}
	return res
}

// notAsked returns the text for a model if its call was not allowed because the host failed to ask its person.
func notAsked(err error) string {
	return "A person must allow this, and the host failed to ask one: " + base.Visible(clip(err.Error(), 300), "") + ". So it is not allowed, and nothing was done. " +
		"Fix the host, whose answer to a question (elicitation in MCP) must have action and, with accept, decision; or start shelld-mcp with -confirm none if the host itself asks before each call."
}
