package rpc_test

import (
	"slices"
	"strconv"
)

// A heard is what the client of a session has asked to hear of one job, by
// job/subscribe and job/unsubscribe. The answers part what was sent as it was from
// what is sent as it was asked for, so the checker can hold every event against it.
type heard struct {
	asked    []*request      // in the order in which they were sent; the first was not answered, or is yet to be applied
	events   map[string]bool // nil: not known
	encoding string          // "": as initialize says
}

// subscribes notes a request that changes what is heard of a job.
func (c *checker) subscribes(r *request) {
	if r.method != "job/subscribe" && r.method != "job/unsubscribe" {
		return
	}
	handle, err := strconv.ParseInt(string(r.params.Handle), 10, 64)
	if err != nil {
		c.chosen = true // by name: less can be said
		return
	}
	h := c.heard[handle]
	if h == nil {
		h = &heard{}
		c.heard[handle] = h
	}
	r.heard = h
	h.asked = append(h.asked, r)
}

// apply brings what is heard up to date with the answers, in the order of the requests.
func (h *heard) apply() {
	for len(h.asked) > 0 && h.asked[0].answered {
		r := h.asked[0]
		h.asked = h.asked[1:]
		switch {
		case r.failed:
		case r.method == "job/unsubscribe" || r.params.Events != nil && len(*r.params.Events) == 0:
			h.events, h.encoding = map[string]bool{}, ""
		default:
			if h.events != nil && len(h.events) == 0 {
				h.events = nil // the defaults, unless it says otherwise
			}
			if r.params.Events != nil {
				h.events = map[string]bool{}
				for _, e := range *r.params.Events {
					h.events["job/"+e] = true
				}
			}
			if r.params.Encoding != "" {
				h.encoding = r.params.Encoding
			}
		}
	}
}

// check holds an event against what was asked for.
func (h *heard) check(e *event, wrong func(string, ...any)) {
	if h.events != nil && !h.events[e.Method] {
		wrong("was not asked for: %v", h.events)
	}
	if i := slices.IndexFunc(h.asked, func(r *request) bool { return r.answered && !r.failed }); i > 0 {
		wrong("comes between the answers of two requests that both have taken effect")
	}
}

// restart notes where a stream begins anew.
func (t *track) restart(e *event, wrong func(string, ...any)) {
	if t.heard == nil {
		wrong("restarts, though nobody has subscribed")
	}
	t.next[e.Stream], t.data[e.Stream] = e.Offset, nil
	if e.Gap != nil {
		t.next[e.Stream] = e.Gap.From
	}
	t.from[e.Stream] = t.next[e.Stream]
}

// lateness: of a job that was subscribed to nobody knows where it exited, but it is
// always the same place.
func (t *track) lateness(e *event, wrong func(string, ...any)) {
	if e.Late {
		if at, ok := t.lateFrom[e.Stream]; !ok || e.Offset < at {
			t.lateFrom[e.Stream] = e.Offset
		}
	} else {
		t.earlyTo[e.Stream] = max(t.earlyTo[e.Stream], e.Offset+e.Bytes)
	}
	if at, ok := t.lateFrom[e.Stream]; ok && t.earlyTo[e.Stream] > at {
		wrong("bytes from %d on were late, and such up to %d were not", at, t.earlyTo[e.Stream])
	}
}

// speaks: a match comes after its output, where the client hears that.
func (t *track) speaks(e *event, wrong func(string, ...any)) {
	if from, ok := t.from[e.Stream]; t.heard.events == nil || !t.heard.events["job/output"] || !ok || e.Offset < from {
		return
	}
	if end := t.next[e.Stream]; e.EndOffset > end {
		wrong("speaks of bytes up to %d; output came up to %d", e.EndOffset, end)
	}
}
