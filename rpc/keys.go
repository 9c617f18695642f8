package rpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"shelld.dev/shelld/schema"
)

// A request with a key is done once: if a client that has lost its connection sends the request again, it gets the answer
// of the first one. The answers are kept by the client and the key.
const (
	keptKeys        = 1024
	keptAnswerBytes = 1 << 20  // of one answer
	keptAnswers     = 16 << 20 // of all of them
)

// A keyed is a request with a key, and its answer.
type keyed struct {
	name   string            // the client and the key
	hash   [sha256.Size]byte // of the method and the params
	first  *request          // what is to be cancelled, if a client no longer wants the answer
	done   chan struct{}     // closed when there is an answer
	answer []byte            // its body, from behind the id; nil: too long to be kept
}

// keys are the newest requests with a key, of all clients of a session.
type keys struct {
	mu    sync.Mutex
	of    map[string]*keyed
	order []*keyed // oldest first
	bytes int      // of the kept answers
}

func newKeys() *keys { return &keys{of: map[string]*keyed{}} }

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
	name, hash := r.server.attendee.name+"\x00"+p.Key, digest(r.method, r.params)
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.of[name]
	switch {
	case before == nil:
		r.keyed = &keyed{name: name, hash: hash, first: r, done: make(chan struct{})}
		k.of[name] = r.keyed
		k.order = append(k.order, r.keyed)
		k.trimLocked()
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
	if before.answer == nil {
		r.fail(&wireError{schema.KindLimitExceeded, fmt.Sprintf("the request was carried out before; its answer had more than %d bytes, and is not kept", keptAnswerBytes),
			schema.LimitExceededData{Kind: string(schema.KindLimitExceeded), Limit: "keptAnswerBytes", Max: keptAnswerBytes}})
		return
	}
	body := append([]byte(`{"jsonrpc":"2.0","id":`), r.id...)
	rest, isResult := bytes.CutPrefix(before.answer, []byte(`,"result":{`))
	if !isResult {
		r.answerInTime(append(body, before.answer...))
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
	if len(rest) <= keptAnswerBytes {
		e.answer = bytes.Clone(rest)
		k.bytes += len(rest)
	}
	close(e.done)
	if again(rest) {
		k.dropLocked(e)
	}
	k.trimLocked()
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

// trimLocked forgets the oldest answers. A request without an answer is kept in any case: it is being carried out.
func (k *keys) trimLocked() {
	for i := 0; i < len(k.order) && (len(k.order) > keptKeys || k.bytes > keptAnswers); {
		if e := k.order[i]; e.isDone() {
			k.dropLocked(e)
		} else {
			i++
		}
	}
}

func (e *keyed) isDone() bool { return isClosed(e.done) }

func (k *keys) dropLocked(e *keyed) {
	if k.of[e.name] != e {
		return
	}
	delete(k.of, e.name)
	for i := range k.order {
		if k.order[i] == e {
			k.order = append(k.order[:i], k.order[i+1:]...)
			break
		}
	}
	if e.isDone() {
		k.bytes -= len(e.answer)
	}
}
