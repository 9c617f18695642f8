package rpc

import (
	"encoding/json"
	"strconv"
	"testing"

	"shelld/schema"
)

// One request more than may be open is refused, whatever it asks for, until one of
// those is answered.
func TestTooManyInFlight(t *testing.T) {
	s := &Server{inFlight: map[string]*request{}}
	ask := func(id string) error {
		r := &request{server: s, id: json.RawMessage(id)}
		return s.track(r)
	}
	for i := range maxInFlight {
		if err := ask(strconv.Itoa(i)); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	w, ok := ask(`"one more"`).(*wireError)
	if !ok || w.kind != schema.KindLimitExceeded {
		t.Fatalf("one more: %+v", w)
	}
	if d, ok := w.data.(schema.LimitExceededData); !ok || d.Limit != "requestsInFlight" || d.Max != maxInFlight {
		t.Errorf("data %+v", w.data)
	}
	delete(s.inFlight, idKey(json.RawMessage("7")))
	if err := ask(`"one more"`); err != nil {
		t.Errorf("after an answer: %v", err)
	}
}
