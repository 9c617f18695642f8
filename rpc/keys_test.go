package rpc

import (
	"fmt"
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
	if ss.keys.bytes != 0 || len(ss.keys.order) != 0 {
		t.Errorf("%d bytes of %d answers are kept after which the request may be made again", ss.keys.bytes, len(ss.keys.order))
	}
	big := `,"result":{"a":"` + strings.Repeat("x", keptAnswerBytes-100) + `"}}`
	for i := range 40 {
		ask(fmt.Sprint("big", i), big)
	}
	if n := ss.keys.bytes; n > keptAnswers || n < keptAnswers-keptAnswerBytes {
		t.Errorf("%d bytes of answers are kept, want about %d", n, keptAnswers)
	}
}
