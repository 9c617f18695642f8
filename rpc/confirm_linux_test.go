package rpc_test

import (
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// confirms returns the params of an initialize with which every action needs confirmation.
func confirms(can bool) []any {
	return []any{"capabilities", obj{"confirm": can}, "options", obj{"confirm": obj{"start": "ask", "write": "ask", "kill": "ask"}}}
}

// asked waits for the n-th request of the server, counted from 1, which must be a client/confirm.
func (s *session) asked(n int) (id string, p schema.ClientConfirmParams) {
	s.t.Helper()
	id = s.question(n, "client/confirm", &p)
	return id, p
}

// allow answers the n-th request.
func (s *session) allow(n int, outcome schema.ConfirmOutcome) {
	s.t.Helper()
	id, _ := s.asked(n)
	s.tell(id, obj{"outcome": outcome})
}

func TestConfirmDenied(t *testing.T) {
	s := start(t, confirms(true)...)
	n := 0
	denied := func(method, action string, handle int64, params obj) {
		t.Helper()
		r := s.begin(method, params)
		n++
		id, p := s.asked(n)
		equal(t, "action", string(p.Action), action)
		equal(t, "request", string(p.RequestID), r.id)
		if (p.Handle == nil) != (handle == 0) || p.Handle != nil && *p.Handle != handle {
			t.Errorf("%s: handle %v", method, p.Handle)
		}
		s.tell(id, obj{"outcome": "deny"})
		d := refused[schema.ConfirmationDeniedData](r, schema.KindConfirmationDenied)
		if d.Action == nil || *d.Action != action || (d.Handle == nil) != (handle == 0) {
			t.Errorf("%s: %+v", method, d)
		}
	}
	denied("job/start", "start", 0, obj{"command": "true"})
	denied("job/run", "start", 0, obj{"command": "true"})
	r := s.begin("job/start", obj{"argv": []string{"cat"}, "mode": "pipe", "stdin": "open"})
	n++
	s.allow(n, "once")
	h := result[schema.JobStartResult](r).Job.Handle
	denied("job/write", "write", h, obj{"handle": h, "input": "x"})
	denied("job/kill", "kill", h, obj{"handle": h})
	denied("job/signal", "kill", h, obj{"handle": h, "signal": "TERM"})
	r = s.begin("job/kill", obj{"handle": h})
	n++
	s.allow(n, "always")
	result[schema.JobKillResult](r)
}

func TestConfirmNobody(t *testing.T) {
	s := start(t, "options", obj{"confirm": obj{"write": "deny", "kill": "ask"}})
	h := result[schema.JobStartResult](s.begin("job/start", obj{"argv": []string{"cat"}, "mode": "pipe", "stdin": "open"})).Job.Handle
	for method, params := range map[string]obj{
		"job/write": {"handle": h, "input": "x"}, "job/kill": {"handle": h}, "job/signal": {"handle": h, "signal": "TERM"},
	} {
		d := refused[schema.PolicyDeniedData](s.begin(method, params), schema.KindPolicyDenied)
		if d.Reason == nil || *d.Reason != "confirm" || d.Handle == nil || *d.Handle != h {
			t.Errorf("%s: %+v", method, d)
		}
	}
	equal(t, "times asked", s.asksSoFar(), 0)
}

// TestConfirmCancelled: the question of a cancelled request is withdrawn. If a group is killed or signalled, there is a
// question for each job.
func TestConfirmCancelled(t *testing.T) {
	s := start(t, confirms(true)...)
	for i := range 2 {
		r := s.begin("job/start", obj{"argv": []string{"sleep", "60"}, "mode": "pipe", "group": "g"})
		s.allow(i+1, "once")
		result[schema.JobStartResult](r)
	}
	n := 2
	for method, params := range map[string]obj{
		"job/signal": {"group": "g", "signal": "TERM"},
		"job/kill":   {"group": "g"},
	} {
		r := s.begin(method, params)
		one, p1 := s.asked(n + 1)
		two, p2 := s.asked(n + 2)
		equal(t, "requests", string(p1.RequestID)+" "+string(p2.RequestID), r.id+" "+r.id)
		n += 2
		s.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + r.id + `}}`)
		refused[schema.CanceledData](r, schema.KindCanceled)
		s.takenBack(one)
		s.takenBack(two)
	}
	r := s.begin("job/signal", obj{"handle": 1, "signal": "TERM"})
	id, _ := s.asked(n + 1)
	s.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + r.id + `}}`)
	refused[schema.CanceledData](r, schema.KindCanceled)
	s.takenBack(id)
	r = s.begin("job/kill", obj{"group": "g"})
	s.allow(n+2, "once")
	s.allow(n+3, "deny")
	refused[schema.ConfirmationDeniedData](r, schema.KindConfirmationDenied)
	equal(t, "times asked", s.asksSoFar(), n+3)
}

// TestConfirmLongID: an id that could fill a question is left out of it.
func TestConfirmLongID(t *testing.T) {
	s := start(t, confirms(true)...)
	for i, n := range []int{4096, 4097} {
		id := `"` + strings.Repeat("i", n-2) + `"`
		c := s.beginBadID(id, "job/run", obj{"command": "true"})
		_, p := s.asked(i + 1)
		equal(t, "has the id", string(p.RequestID) == id, n == 4096)
		equal(t, "has an id", p.RequestID != nil, n == 4096)
		s.allow(i+1, "deny")
		refused[none](c, schema.KindConfirmationDenied)
	}
}

// TestConfirmAnswers: an invalid answer counts as deny.
func TestConfirmAnswers(t *testing.T) {
	s := start(t, confirms(true)...)
	for i, a := range []string{
		`"error":{"code":-32601,"message":"no","data":{"kind":"methodNotFound","method":"client/confirm"}}`,
		`"result":{}`, `"result":null`, `"result":{"outcome":"yes"}`, `"result":{"outcome":"once","more":1}`, `"result":["once"]`, `"error":5`,
	} {
		r := s.begin("job/run", obj{"command": "true"})
		id, _ := s.asked(i + 1)
		body := `{"jsonrpc":"2.0","id":` + id + `,` + a + `}`
		if i == 0 {
			s.send(body)
		} else {
			s.sendBad(body)
		}
		refused[schema.ConfirmationDeniedData](r, schema.KindConfirmationDenied)
	}
}
