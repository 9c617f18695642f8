package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/cmd/internal/base"
)

// How a question gets to the person of a host that does not call again by itself. The SDK would
// do it too, but answers with an error of the protocol's where the host fails to ask, which no
// model sees, and with an empty success where what a person has allowed is not what the second
// try would do.

// asksItself is the first version of MCP in which the host puts the questions of an answer to
// its person, and calls again.
const asksItself = "2026-07-28"

// answered is the answer to a call: that of its first try, or, where a person has to be asked
// first, that of another one which knows what he has said. try makes one, with what was said;
// nil: what the request brings.
func (f *front) answered(ctx context.Context, req *mcp.CallToolRequest, try func(*decision) *mcp.CallToolResult) *mcp.CallToolResult {
	res := try(nil)
	p := req.Session.InitializeParams()
	if res.InputRequests == nil || p == nil || p.ProtocolVersion >= asksItself {
		return res
	}
	question, _ := res.InputRequests[confirmID].(*mcp.ElicitParams)
	if question == nil {
		panic("a question of another kind") // A fault of the source; add answers it.
	}
	answer, err := req.Session.Elicit(ctx, question)
	switch {
	case ctx.Err() != nil:
		return failure(ctx.Err().Error()) // Nobody gets it: the call was cancelled.
	case err != nil:
		f.log.Info("the host has failed to ask its person", "tool", req.Params.Name, "error", err)
		return failure(notAsked(err))
	}
	res = try(decisionOf(answer, res.RequestState))
	if res.InputRequests != nil {
		return failure("A person was asked, but this would do something else by now: what it names has changed meanwhile. Nothing was done; call the tool again to have the person asked about that.")
	}
	return res
}

// notAsked tells a model that nobody has allowed what it wants, since the host could not ask.
func notAsked(err error) string {
	return "A person has to allow this, and the host has failed to ask one: " + base.Visible(clip(err.Error(), 300), "") + ". So it is not allowed, and nothing was done. " +
		"See to the host, whose answer to a question (MCP calls it elicitation) has to have action and, with accept, decision; or start shelld-mcp with -confirm none where the host itself asks before each call."
}
