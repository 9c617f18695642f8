package rpc

import (
	"io"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestNoLaneAfterLeaving: a job keeps no lane of a connection that is gone.
func TestNoLaneAfterLeaving(t *testing.T) {
	here, gone := newOutbox(io.Discard, lineFraming), newOutbox(io.Discard, lineFraming)
	l := newLane(here, nil, nil, schema.EncodingText)
	f := newFeed(nil, l, attendee{})
	gone.leave()
	f.lane(gone)
	for _, o := range []*outbox{here, gone} {
		if err := o.flush(); err != nil {
			t.Fatal(err)
		}
	}
	if all := f.lanes(); len(all) != 1 || all[0] != l {
		t.Errorf("there are %d lanes", len(all))
	}
}
