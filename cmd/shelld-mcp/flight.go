package main

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A flight is a request from the host that has not been answered.
type flight struct {
	// Immutable:
	req  *jsonrpc.Request
	load load
	id   json.RawMessage // as spelled by the host; nil: it cannot be used in an answer
	// The call's key for the request. IDs cannot be keys: the SDK does not pass them to tools, and the host may reuse
	// one.
	tag *mcp.RequestExtra

	cancelled bool // conn.mu
}

// A fate is the result of admitting a request.
type fate int

const (
	refusedBefore fate = iota // its ID is in flight already, or there are too many requests
	tooHeavy                  // there is no room for it
	isHeld                    // Read returns it as soon as there is room
	goesOn
)

// admit adds a request to those in flight if there is room. If there is none, it holds a looking request until there
// is, behind the requests already held. The caller holds c.mu.
func (c *conn) admit(f *flight) fate {
	queued := f.load.share == looking && len(c.held) > 0
	fits := !queued && c.ballast.take(f.load)
	if !fits && f.load.share != looking {
		return tooHeavy
	}
	c.inFlight[f.req.ID] = f
	c.owed++
	if !fits {
		c.held = append(c.held, f)
		return isHeld
	}
	return goesOn
}

// release returns the first held request, if it fits now; otherwise nil.
func (c *conn) release() jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.held) == 0 || !c.ballast.take(c.held[0].load) {
		return nil
	}
	f := c.held[0]
	c.held[0] = nil
	c.held = c.held[1:]
	return f.req
}

// unload releases the weight of a request after its answer was sent or dropped; nil: the request was not in flight.
func (c *conn) unload(f *flight) {
	if f != nil {
		c.mu.Lock()
		c.ballast.give(f.load)
		held := len(c.held) > 0
		c.mu.Unlock()
		if held {
			select {
			case c.room <- struct{}{}:
			default:
			}
		}
	}
	c.answered()
}

// dropLocked removes a request from the held ones: the SDK never sees it. The caller holds c.mu.
func (c *conn) dropLocked(f *flight) bool {
	i := slices.Index(c.held, f)
	if i < 0 {
		return false
	}
	c.held = slices.Delete(c.held, i, i+1)
	delete(c.inFlight, f.req.ID)
	c.owed--
	c.settled()
	return true
}

// dropHeld answers the held requests with an error at the end.
func (c *conn) dropHeld() {
	c.mu.Lock()
	held := slices.Clone(c.held)
	for _, f := range held {
		c.dropLocked(f)
	}
	c.mu.Unlock()
	for _, f := range held {
		c.refused(f.id, codeBusy, "shelld-mcp is ending; this call was held back until earlier answers were read, and nothing was done")
	}
}
