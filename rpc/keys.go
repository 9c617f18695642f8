package rpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"shelld.dev/shelld/schema"
)

// A request with a key is done once: if a client that has lost its connection sends the request again, it gets the answer
// of the first one. So many keys are remembered of each client. Nothing that other clients do makes one be forgotten, except
// that of more than mostKeyClients the one is forgotten that has used none for longest. If the answers of all are too long
// together, the oldest are dropped, and only that the request was carried out is remembered.
const (
	keptKeys        = 1024
	mostKeyClients  = 100
	keptAnswerBytes = 1 << 20  // of one answer
	keptAnswers     = 16 << 20 // of all of them
)

// A keyed is a request with a key, and its answer.
type keyed struct {
	client, key string
	hash        [sha256.Size]byte // of the method and the params
	first       *request          // what is to be cancelled, if a client no longer wants the answer
	done        chan struct{}     // closed when there is an answer
	answer      []byte            // its body, from behind the id; nil: too long to be kept, or dropped; guarded by keys.mu
}

// keys are the requests with a key of all clients of a session.
type keys struct {
	mu      sync.Mutex
	of      map[string]*clientKeys
	clients []string // the one that has used a key last is the last
	bodies  []*keyed // with a kept answer, oldest first
	bytes   int      // of these
}

// clientKeys are the newest requests with a key of one client.
type clientKeys struct {
	by    map[string]*keyed
	order []*keyed // oldest first
}

func newKeys() *keys { return &keys{of: map[string]*clientKeys{}} }

// ofLocked returns the keys of a client.
func (k *keys) ofLocked(client string) *clientKeys {
	if k.of[client] == nil {
		k.of[client] = &clientKeys{by: map[string]*keyed{}}
	}
	k.clients = append(slices.DeleteFunc(k.clients, func(c string) bool { return c == client }), client)
	for i := 0; i < len(k.clients)-1 && len(k.clients) > mostKeyClients; {
		if !k.forgetLocked(k.clients[i]) {
			i++
		}
	}
	return k.of[client]
}

// forgetLocked forgets a client, unless a request of it is being carried out.
func (k *keys) forgetLocked(client string) bool {
	all := k.of[client].order
	if slices.ContainsFunc(all, func(e *keyed) bool { return !e.isDone() }) {
		return false
	}
	for _, e := range slices.Clone(all) {
		k.dropLocked(e)
	}
	delete(k.of, client)
	k.clients = slices.DeleteFunc(k.clients, func(c string) bool { return c == client })
	return true
}

// claim records a request with a key. If there was one, the request gets the answer of that, and claim reports that it is
// done.
func (ss *Session) claim(r *request) (done bool, err error) {
	var p struct{ Key string }
	if json.Unmarshal(r.params, &p) != nil || p.Key == "" {
		return false, nil // What is wrong with the params is told by those who need them.
	}
	if err := r.server.notShared("key"); err != nil {
		return true, err
	}
	k := ss.keys
	hash := digest(r.method, r.params)
	k.mu.Lock()
	defer k.mu.Unlock()
	of := k.ofLocked(r.server.attendee.name)
	before := of.by[p.Key]
	switch {
	case before == nil:
		r.keyed = &keyed{client: r.server.attendee.name, key: p.Key, hash: hash, first: r, done: make(chan struct{})}
		of.by[p.Key] = r.keyed
		of.order = append(of.order, r.keyed)
		k.trimLocked(of)
		return false, nil
	case before.hash != hash:
		return false, &wireError{schema.KindKeyConflict, "the key " + clip(p.Key, 128) + " was used for another request; a new request needs a new key",
			schema.KeyConflictData{Kind: string(schema.KindKeyConflict), Key: p.Key}}
	}
	go r.sendAgain(before)
	return true, nil
}

// digest returns a hash of a request that does not depend on the order of members.
func digest(method string, params []byte) [sha256.Size]byte {
	var all any
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	if d.Decode(&all) != nil {
		return sha256.Sum256(params)
	}
	return sha256.Sum256(append([]byte(method+"\x00"), marshal(all)...))
}

// sendAgain answers a request with the answer of an earlier one.
func (r *request) sendAgain(before *keyed) {
	defer r.letGo()
	select {
	case <-before.done:
	case <-r.canceled:
		before.first.cancel()
		<-before.done
	case <-r.server.out.broken:
		r.answer(nil)
		return
	}
	answer := r.server.in.keys.answerTo(before)
	if answer == nil {
		r.fail(&wireError{schema.KindLimitExceeded, fmt.Sprintf("the request was carried out before; its answer is not kept: one may have %d bytes, and all together %d", keptAnswerBytes, keptAnswers),
			schema.LimitExceededData{Kind: string(schema.KindLimitExceeded), Limit: "keptAnswerBytes", Max: keptAnswerBytes}})
		return
	}
	body := append([]byte(`{"jsonrpc":"2.0","id":`), r.id...)
	rest, isResult := bytes.CutPrefix(answer, []byte(`,"result":{`))
	if !isResult {
		r.answerInTime(append(body, answer...))
		return
	}
	body = append(body, `,"result":{"replayed":true`...)
	if rest[0] != '}' {
		body = append(body, ',')
	}
	r.answerInTime(append(body, rest...))
}

// answered keeps the answer of a request with a key. An error that says that a later try may work is not kept.
func (k *keys) answered(r *request, body []byte) {
	e := r.keyed
	rest := bytes.TrimPrefix(body, append([]byte(`{"jsonrpc":"2.0","id":`), r.id...))
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case again(rest):
		e.answer = bytes.Clone(rest) // only for those that wait for it already
		k.dropLocked(e)
	case len(rest) <= keptAnswerBytes:
		e.answer = bytes.Clone(rest)
		k.bodies = append(k.bodies, e)
		k.bytes += len(rest)
	}
	close(e.done)
	for k.bytes > keptAnswers {
		k.unkeepLocked(k.bodies[0])
	}
}

// again reports whether an answer is an error after which the same request may be made again.
func again(body []byte) bool {
	var m struct {
		Error *struct {
			Data struct {
				Kind      schema.Kind
				Retryable bool
			}
		}
	}
	if !bytes.HasPrefix(body, []byte(`,"error":`)) || json.Unmarshal(append([]byte(`{"":0`), body...), &m) != nil {
		return false
	}
	return m.Error.Data.Retryable || m.Error.Data.Kind == schema.KindInvalidParams
}

// trimLocked forgets the oldest keys of a client. A request without an answer is kept in any case: it is being carried
// out.
func (k *keys) trimLocked(of *clientKeys) {
	for i := 0; i < len(of.order) && len(of.order) > keptKeys; {
		if e := of.order[i]; e.isDone() {
			k.dropLocked(e)
		} else {
			i++
		}
	}
}

func (e *keyed) isDone() bool { return isClosed(e.done) }

func (k *keys) dropLocked(e *keyed) {
	of := k.of[e.client]
	if of == nil || of.by[e.key] != e {
		return
	}
	delete(of.by, e.key)
	of.order = slices.DeleteFunc(of.order, func(other *keyed) bool { return other == e })
	k.unkeepLocked(e)
}

// unkeepLocked drops the answer of a request.
func (k *keys) unkeepLocked(e *keyed) {
	if i := slices.Index(k.bodies, e); i >= 0 {
		k.bodies = slices.Delete(k.bodies, i, i+1)
		k.bytes -= len(e.answer)
		e.answer = nil
	}
}

// answerTo returns the kept answer of a request; nil: there is none.
func (k *keys) answerTo(e *keyed) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return e.answer
}
