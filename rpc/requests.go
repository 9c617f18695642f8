package rpc

import (
	"encoding/json"
	"strconv"

	"shelld.dev/shelld/schema"
)

// The server has requests of its own, which the client answers. Their path:
//
//	a job's event -> the lane, behind the output before it -> sent        (secret.go)
//	a question of the engine's -> sent at once                            (confirm.go)
//	the answer    -> stream -> Handle -> takeAnswer, on the reading goroutine
//
// No goroutine waits for an answer: the ask holds the function that handles it. So there is nothing to clean up if no
// answer comes.
//
// Their ids are strings that begin with s. The client may use the same ids: an id belongs to the side that sent the
// request, and a message with a method is a request.

// An ask is one request of the server. Everything except the immutable fields is guarded by out.mu.
type ask struct {
	// Immutable:
	method string
	params any
	// answered is called once, with one of the two, if the answer comes in time. It is called on the reading goroutine,
	// and must not block it. The result is wiped afterwards. If the client has gone, it is called with neither.
	answered func(s *Server, result, failure json.RawMessage)

	id   string // "" = it was not sent
	over bool   // it is answered or withdrawn, and will not be sent any more
}

// asks are the requests that were sent and not answered. They are guarded by out.mu.
type asks struct {
	last    uint64
	pending map[string]*ask // by id
	closed  bool            // no more requests are sent
}

// askLocked returns the message for an ask, and records the ask as sent. It returns nil if the ask must not be sent any
// more.
func (o *outbox) askLocked(a *ask) []byte {
	if a.over || o.asks.closed || a.id != "" {
		return nil
	}
	o.asks.last++
	a.id = "s" + strconv.FormatUint(o.asks.last, 10)
	if o.asks.pending == nil {
		o.asks.pending = map[string]*ask{}
	}
	o.asks.pending[a.id] = a
	return marshal(schema.RequestMessage{JSONRPC: "2.0", ID: marshal(a.id), Method: a.method, Params: marshal(a.params)})
}

// sendAskLocked sends an ask that does not wait for output, and returns false if it must not be sent any more. The caller
// must call flushSoon afterwards.
func (o *outbox) sendAskLocked(a *ask) bool {
	body := o.askLocked(a)
	if body != nil {
		o.sendOwnLocked(body)
	}
	return body != nil
}

// withdrawLocked withdraws an ask if it is not answered. The caller must call flushSoon afterwards.
func (o *outbox) withdrawLocked(a *ask) {
	if a.over {
		return
	}
	a.over = true
	if a.id == "" {
		return
	}
	delete(o.asks.pending, a.id)
	o.sendOwnLocked(notification("$/cancelRequest", schema.CancelRequestParams{ID: marshal(a.id)}))
}

// withdrawAll withdraws all unanswered requests. No more are sent. It returns those that it has withdrawn.
func (o *outbox) withdrawAll() (all []*ask) {
	o.mu.Lock()
	o.asks.closed = true
	for _, a := range o.asks.pending {
		all = append(all, a)
		o.withdrawLocked(a)
	}
	o.mu.Unlock()
	o.flushSoon()
	return all
}

// asked returns the ask that an answer with this id is for, and marks it as over; nil: there is none.
func (o *outbox) asked(id json.RawMessage) *ask {
	var name string
	if len(id) == 0 || id[0] != '"' || json.Unmarshal(id, &name) != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.asks.pending[name]
	if a != nil {
		a.over = true
		delete(o.asks.pending, name)
	}
	return a
}

// takeAnswer handles an answer of the client. It ignores one that has no pending request.
func (s *Server) takeAnswer(env envelope) {
	defer clear(env.Result) // It may be a secret, and lies in the reader's buffer.
	a := s.out.asked(env.ID)
	if a == nil {
		s.log.Debug("a response to an unknown request", "id", clip(string(env.ID), 100))
		return
	}
	a.answered(s, env.Result, env.Error)
}
