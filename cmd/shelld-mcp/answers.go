package main

import (
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answers keeps the calls whose answers have not been sent to the host yet. A cancelled call gets no answer, however
// far it has come: the effects that it had only for its answer are then undone.
type answers struct {
	mu    sync.Mutex
	calls map[*mcp.RequestExtra][]*call // by the tag that conn puts on the request; several calls if a person was asked
}

func newAnswers() *answers { return &answers{calls: map[*mcp.RequestExtra][]*call{}} }

// await adds a call that begins.
func (a *answers) await(c *call) {
	if c.req.Extra == nil {
		return // The request did not come through a conn.
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[c.req.Extra] = append(a.calls[c.req.Extra], c)
}

// settled removes the calls of a request. If its answer was dropped, it undoes their effects. Otherwise it returns a
// function for the moment when the answer was written.
func (a *answers) settled(request *mcp.RequestExtra, dropped bool) (written func()) {
	a.mu.Lock()
	calls := a.calls[request]
	delete(a.calls, request)
	a.mu.Unlock()
	if !dropped {
		return func() {
			for _, c := range calls {
				c.written()
			}
		}
	}
	for _, c := range calls {
		c.takeBackAll()
	}
	return nil
}

// untold undoes what the calls of a request have told so far: its answer has nothing of it. A started job goes on.
func (a *answers) untold(request *mcp.RequestExtra) {
	a.mu.Lock()
	calls := slices.Clone(a.calls[request])
	a.mu.Unlock()
	for _, c := range calls {
		c.untellAll()
	}
}

// untellAll undoes what a call has told: the output, the end of a job that it has started, and the news.
func (c *call) untellAll() {
	c.untell()
	c.mu.Lock()
	news := c.news
	c.news, c.job = nil, nil
	c.mu.Unlock()
	c.front.news.add(news)
}

// takeBackAll undoes the effects that the host never learned of: the output in the lost answer counts as unread again,
// and a started job is ended. Typed input is not undone.
func (c *call) takeBackAll() {
	c.untellAll()
	c.mu.Lock()
	handle := c.started
	c.mu.Unlock()
	if handle != 0 {
		c.abandon(handle)
	}
}
