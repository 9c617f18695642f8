package rpc

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestKeptAnswers: the kept answers are bounded in bytes, and one that is not kept does not count.
func TestKeptAnswers(t *testing.T) {
	ss := &Session{shared: true, keys: newKeys()}
	s := &Server{in: ss}
	ask := func(key, answer string) {
		t.Helper()
		r := &request{server: s, id: raw("1"), method: "env/set", params: fmt.Appendf(nil, `{"key":%q}`, key)}
		if done, err := ss.claim(r); done || err != nil {
			t.Fatalf("claim: %v %v", done, err)
		}
		ss.keys.answered(r, []byte(`{"jsonrpc":"2.0","id":1`+answer))
	}
	for range 100 {
		ask("k", `,"error":{"code":1,"message":"m","data":{"kind":"limitExceeded","retryable":true}}}`)
	}
	if ss.keys.bytes != 0 || len(ss.keys.of[""].order) != 0 {
		t.Errorf("%d bytes of %d answers are kept after which the request may be made again", ss.keys.bytes, len(ss.keys.of[""].order))
	}
	big := `,"result":{"a":"` + strings.Repeat("x", keptAnswerBytes-100) + `"}}`
	for i := range 40 {
		ask(fmt.Sprint("big", i), big)
	}
	if n := ss.keys.bytes; n > keptAnswers || n < keptAnswers-keptAnswerBytes {
		t.Errorf("%d bytes of answers are kept, want about %d", n, keptAnswers)
	}
	if n := len(ss.keys.of[""].order); n != 40 {
		t.Errorf("%d requests are remembered, want all 40", n)
	}
}

// TestKeysOfOthers: what other clients do makes no key be forgotten, but of too many clients the first is.
func TestKeysOfOthers(t *testing.T) {
	ss := &Session{shared: true, keys: newKeys()}
	ask := func(client, key string) (again bool) {
		t.Helper()
		s := &Server{in: ss, attendee: attendee{name: client}, out: newOutbox(io.Discard, lineFraming), inFlight: map[string]*request{}}
		s.answered.L = &s.mu
		r := &request{server: s, id: raw("1"), method: "env/set", params: fmt.Appendf(nil, `{"key":%q}`, key), canceled: make(chan struct{})}
		again, err := ss.claim(r)
		if err != nil {
			t.Fatal(err)
		}
		if !again {
			ss.keys.answered(r, []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		}
		if err := s.out.flush(); err != nil {
			t.Fatal(err)
		}
		return again
	}
	ask("a", "k")
	for i := range 2 * keptKeys {
		ask("b", fmt.Sprint(i))
	}
	if !ask("a", "k") {
		t.Error("the keys of b have made that of a be forgotten")
	}
	if n := len(ss.keys.of["b"].order); n != keptKeys {
		t.Errorf("%d keys of b are kept", n)
	}
	for i := range mostKeyClients {
		ask(fmt.Sprint("c", i), "k")
	}
	if len(ss.keys.of) != mostKeyClients || ss.keys.of["a"] != nil || len(ss.keys.bodies) > mostKeyClients {
		t.Errorf("%d clients are kept, with %d answers", len(ss.keys.of), len(ss.keys.bodies))
	}
}
