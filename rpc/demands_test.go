package rpc

import (
	"fmt"
	"io"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestDemandsOfTheAbsent: of clients that are gone a job keeps what is needed, for a bounded number, and no connection.
func TestDemandsOfTheAbsent(t *testing.T) {
	o := newOutbox(io.Discard, lineFraming)
	l := newLane(o, nil, nil, schema.EncodingText)
	d := &newFeed(nil, l, attendee{}).demands
	for i := range 3 * mostAway {
		d.tell(l, i%2 == 0, 0, true)
		d.leave(l, absence{client: fmt.Sprintf("c%d", i)})
		if d.answered() || len(d.of) != 0 {
			t.Fatal("one that is gone still answers")
		}
	}
	if len(d.away) != mostAway || d.away[0].client != fmt.Sprintf("c%d", mostAway) {
		t.Errorf("%d are kept, from %s on", len(d.away), d.away[0].client)
	}
	d.tell(l, true, 0, false)
	d.leave(l, absence{})
	d.returned(d.away[0].client)
	if len(d.away) != mostAway-1 {
		t.Errorf("%d are kept", len(d.away))
	}
	d.end()
	if len(d.away) != 0 {
		t.Errorf("%d are kept of a job that is over", len(d.away))
	}
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
}

// TestDemandsOfClosedJobs: what a listener of a closed job has asked for goes with it, also if output is on its way.
func TestDemandsOfClosedJobs(t *testing.T) {
	d, l := demands{of: map[*lane]*demand{}}, &lane{}
	d.begin(l)
	d.drop(l)
	d.sent(l, "pty", 10)
	if len(d.of) > 0 {
		t.Errorf("the lanes %v are kept", d.of)
	}
}
