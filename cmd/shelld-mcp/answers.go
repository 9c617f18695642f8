package main

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answers knows the calls whose answers are not on their way to the host yet. One that was
// cancelled is not answered, however far it has come: what it has done for its answer's sake
// is then taken back.
type answers struct {
	mu    sync.Mutex
	calls map[*mcp.RequestExtra][]*call // by what conn has put on the request; several where a person was asked
}

func newAnswers() *answers { return &answers{calls: map[*mcp.RequestExtra][]*call{}} }

// await notes a call that is begun.
func (a *answers) await(c *call) {
	if c.req.Extra == nil {
		return // It did not come by a conn.
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[c.req.Extra] = append(a.calls[c.req.Extra], c)
}

// settled is told what became of the answer to a request.
func (a *answers) settled(request *mcp.RequestExtra, dropped bool) {
	a.mu.Lock()
	calls := a.calls[request]
	delete(a.calls, request)
	a.mu.Unlock()
	if !dropped {
		return
	}
	for _, c := range calls {
		c.takeBackAll()
	}
}

// takeBackAll undoes what nobody was told of, and has what was told be told again. What was
// typed stays typed.
func (c *call) takeBackAll() {
	c.untell()
	c.mu.Lock()
	handle := c.started
	c.mu.Unlock()
	if handle != 0 {
		c.abandon(handle)
	}
}
