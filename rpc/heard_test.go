package rpc_test

import (
	"slices"
	"strconv"
)

// A heard is the client's subscription to one job, by job/subscribe and job/unsubscribe. The answers separate the
// messages of the old subscription from those of the new one, so that the checker can check every event.
type heard struct {
	asked    []*request      // in the order of sending; the first is not answered, or not applied yet
	events   map[string]bool // nil: not known
	encoding string          // "": as in initialize
}

// subscribes records a request that changes the subscription to a job.
func (c *checker) subscribes(r *request) {
	for _, one := range r.params.Session.Resume {
		c.heard[one.Handle] = &heard{encoding: one.Encoding}
	}
	if r.method != "job/subscribe" && r.method != "job/unsubscribe" {
		return
	}
	handle, err := strconv.ParseInt(string(r.params.Handle), 10, 64)
	if err != nil {
		c.chosen = true // by name: less can be checked
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

// apply updates the subscription with the answers, in the order of the requests.
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
				h.events = nil // the defaults, unless it names events
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

// check checks an event against the subscription.
func (h *heard) check(e *event, wrong func(string, ...any)) {
	if h.events != nil && !h.events[e.Method] {
		wrong("was not asked for: %v", h.events)
	}
	if i := slices.IndexFunc(h.asked, func(r *request) bool { return r.answered && !r.failed }); i > 0 {
		wrong("comes between the answers of two requests that both have taken effect")
	}
}

// restart records the start of a stream's output after a restart.
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

// lateness checks late. After a subscription the offset of the exit is unknown, but it never changes.
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

// speaks checks that a match comes after its output, if the client gets output.
func (t *track) speaks(e *event, wrong func(string, ...any)) {
	if from, ok := t.from[e.Stream]; t.heard.events == nil || !t.heard.events["job/output"] || !ok || e.Offset < from {
		return
	}
	if end := t.next[e.Stream]; e.EndOffset > end {
		wrong("speaks of bytes up to %d; output came up to %d", e.EndOffset, end)
	}
}
