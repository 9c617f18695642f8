package main

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A flight is a request of the host's that has no answer yet.
type flight struct {
	// Immutable:
	req  *jsonrpc.Request
	load load
	id   json.RawMessage // as the host spells it; nil = it cannot be answered by that
	// What its call knows it by, which ids are not for: the SDK does not tell tools of them, and the
	// host may use one again.
	tag *mcp.RequestExtra

	cancelled bool // conn.mu
}

// A fate is what becomes of a request that was read.
type fate int

const (
	refusedBefore fate = iota // its id is in flight, or there are too many
	tooHeavy                  // there is no room for it
	isHeld                    // Read will return it when there is
	goesOn
)

// admit takes a request into those in flight, if there is room. One that only looks is held
// back until there is, behind those before it. c.mu is held.
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

// release takes the first request that is held back, if it fits now; nil: there is none.
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

// unload gives back what a request has weighed whose answer is on its way; nil: it was none
// of those in flight.
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

// dropLocked takes a request out of those that are held back: the SDK never sees it. c.mu is
// held.
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

// dropHeld answers what is held back when all ends.
func (c *conn) dropHeld() {
	c.mu.Lock()
	held := slices.Clone(c.held)
	for _, f := range held {
		c.dropLocked(f)
	}
	c.mu.Unlock()
	for _, f := range held {
		c.refused(f.id, codeBusy, "shelld-mcp is ending; this was held back until the answers before it were read, and nothing was done")
	}
}
