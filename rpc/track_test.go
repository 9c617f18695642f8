package rpc

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestTooManyInFlight: a request beyond the limit is refused, whatever its method, until one of the others is answered.
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

// TestTooLongIDsInFlight: the ids of the requests in flight are kept, and a client may make them as long as a message.
// In total they may take no more than one message of the default limit.
func TestTooLongIDsInFlight(t *testing.T) {
	s := &Server{inFlight: map[string]*request{}, out: newOutbox(io.Discard, func() Framing { return FramingLine })}
	long := func(i int) *request {
		id := strconv.Quote(strings.Repeat("x", maxIDBytes/8-16) + strconv.Itoa(i))
		return &request{server: s, id: json.RawMessage(id)}
	}
	var kept []*request
	for i := range 8 {
		r := long(i)
		if err := s.track(r); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		kept = append(kept, r)
	}
	w, ok := s.track(long(8)).(*wireError)
	if !ok || w.kind != schema.KindLimitExceeded {
		t.Fatalf("one more: %+v", w)
	}
	if d, ok := w.data.(schema.LimitExceededData); !ok || d.Limit != "requestIdBytes" || d.Max != maxIDBytes {
		t.Errorf("data %+v", w.data)
	}
	if err := s.track(&request{server: s, id: json.RawMessage("1")}); err != nil {
		t.Errorf("a short one: %v", err)
	}
	kept[3].queueAnswer(message{body: []byte("{}")})
	if err := s.track(long(8)); err != nil {
		t.Errorf("after an answer: %v", err)
	}
	s.out.flushSoon()
	if err := s.out.flush(); err != nil {
		t.Error(err)
	}
}
