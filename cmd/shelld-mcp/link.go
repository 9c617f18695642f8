package main

import (
	"encoding/json"
	"sync"

	"shelld.dev/shelld/client"
)

// A link is a connection to the server. With a session, another one takes its place when it is lost.
type link struct {
	client   *client.Conn
	clientID string // of this front end in a session; immutable when the link is in use

	mu    sync.Mutex       // guards calls; held over a send, so that a request is in calls before the server asks about it
	calls map[string]*call // the call of each request in flight, by request ID
}

// send sends a request for c.
func (l *link) send(c *call, method string, params any) (*client.SentCall, error) {
	// The server's question about the request may come before Send returns: the goroutine that answers it waits for the
	// lock.
	l.mu.Lock()
	defer l.mu.Unlock()
	sent, err := l.client.Send(method, params)
	if err == nil {
		l.calls[sent.ID()] = c
	}
	return sent, err
}

// callOf returns the call of a request in flight; nil: none.
func (l *link) callOf(requestID json.RawMessage) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[string(requestID)]
}

// forget removes a request from those in flight. It must be called when the request is answered.
func (l *link) forget(sent *client.SentCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, sent.ID())
}

// isLost reports whether the server has ended, or has closed the connection.
func (l *link) isLost() bool {
	select {
	case <-l.client.Done():
		return true
	default:
		return false
	}
}
