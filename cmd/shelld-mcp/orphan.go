package main

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Requests from the SDK to the host, such as a question to its person, are answered by the host. After the host can
// send nothing more, this file answers them in its place: otherwise a call that waits for a person would never be
// answered, and the end would wait for that call in vain.

// asks notes a request to the host. It returns false if the host can no longer answer: then the request need not be
// sent.
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

// heard notes that a request to the host has been answered, or needs no answer any more.
func (c *conn) heard(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, id)
}

// withdrawn calls heard for a request that the SDK cancels at the host.
func (c *conn) withdrawn(params json.RawMessage) {
	var p mcp.CancelledParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
		c.heard(id)
	}
}

// past notes that the host can send nothing more.
func (c *conn) past() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = true
}

// isPast reports whether the host can send nothing more.
func (c *conn) isPast() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaf
}

// orphan returns an answer to a pending request in the host's place, after the host can send nothing more; nil: no
// request is pending. The answer to a question says that it was closed.
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
