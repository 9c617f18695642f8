package main

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the SDK asks of the host, as what a person says to a question, is answered by the host,
// or, once it says nothing any more, in its place: a call that waits for a person would never be
// answered otherwise, and the end would wait for it in vain.

// asks notes a request to the host; false: the host is past answering, and need not see it.
func (c *conn) asks(req *jsonrpc.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[req.ID] = req.Method
	if c.deaf {
		select {
		case c.orphaned <- struct{}{}:
		default:
		}
	}
	return !c.deaf
}

// heard notes that a request to the host has its answer, or needs none any more.
func (c *conn) heard(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, id)
}

// withdrawn is heard for what the SDK tells the host to forget.
func (c *conn) withdrawn(params json.RawMessage) {
	var p mcp.CancelledParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
		c.heard(id)
	}
}

// past notes that the host says nothing any more.
func (c *conn) past() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = true
}

// isPast says whether the host says nothing any more.
func (c *conn) isPast() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaf
}

// orphan is an answer in the host's place, once that says nothing any more; nil: nothing waits
// for one. A question is answered as one that was closed.
func (c *conn) orphan() jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.deaf {
		return nil
	}
	for id, method := range c.asked {
		delete(c.asked, id)
		if method == "elicitation/create" {
			return &jsonrpc.Response{ID: id, Result: json.RawMessage(`{"action":"cancel"}`)}
		}
		return &jsonrpc.Response{ID: id, Error: errGone}
	}
	return nil
}
