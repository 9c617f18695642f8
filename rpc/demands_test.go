package rpc

import "testing"

// TestDemandsForgetLanes: what is kept for a client that is away does not keep its connection in memory.
func TestDemandsForgetLanes(t *testing.T) {
	d := demands{of: map[*lane]*demand{}}
	there, closed := &lane{}, &lane{}
	d.tell(there, true, 0, false)
	d.leave(there, "a", nil)
	d.begin(closed)
	d.drop(closed)
	d.sent(closed, "pty", 10) // what was on its way
	if len(d.of) > 0 {
		t.Errorf("the lanes %v are kept", d.of)
	}
	if len(d.away) != 1 || !d.away[0].waiting {
		t.Errorf("away are %+v", d.away)
	}
	if d.returned("b"); len(d.away) != 1 {
		t.Error("another client has come back")
	}
	if d.returned("a"); len(d.away) > 0 {
		t.Errorf("away are %+v after the return", d.away)
	}
	quiet := &lane{}
	d.begin(quiet)
	if d.leave(quiet, "a", nil); len(d.away) > 0 {
		t.Errorf("nothing is wanted, and away are %+v", d.away)
	}
}
