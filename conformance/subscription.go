package conformance

import (
	"fmt"
	"slices"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file tracks which events a client has subscribed to, and how job/subscribe and job/unsubscribe change
// that. A change takes effect with the answer.

// unasked are the events that come only if they are requested by name.
var unasked = []string{"waitingForInput", "screenChanged", "inputSent"}

// An eventSet is the set of requested events of a job.
type eventSet struct {
	all   bool // except unasked
	names []any
}

// eventsOf parses an events member.
func eventsOf(v any) eventSet {
	list, ok := v.([]any)
	return eventSet{all: !ok, names: list}
}

func (s eventSet) has(event string) bool {
	return s.all && !slices.Contains(unasked, event) || slices.Contains(s.names, any(event))
}

func (s eventSet) none() bool { return !s.all && len(s.names) == 0 }

// A subscription holds the event options of a job.
type subscription struct {
	unknown  bool // the earlier subscription is unknown, and so is the current one
	events   eventSet
	base64   bool
	strip    bool // output comes without terminal queries of programs, or without some of them
	answers  bool // the client answers queries; those answered or sent before may be left out
	standing bool // output was requested, and has an offset from which it continues

	// While several requests are in flight: those that were answered, and the subscription before them. They take
	// effect in the order of sending, whatever the order of the answers.
	by   []*request
	base *subscription
}

// asks returns the subscription that a start itself makes. A job/run without its own events sends none before its
// answer; after it, if the job is not closed, it sends those of the connection.
func (c *checker) asks(r *request, goesOn bool) subscription {
	s := subscription{base64: c.base64, events: eventsOf(c.events)}
	if own := r.params["events"]; own != nil {
		s.events = eventsOf(own)
	} else if r.method == "job/run" && !goesOn {
		s.events = eventSet{}
	}
	s.standing, s.strip = s.events.has("output"), r.params["queries"] == "strip"
	s.answers = r.params["queries"] == "client"
	return s
}

// now returns the current subscription of a job.
func (c *checker) now(j *jobView) subscription {
	switch {
	case j.sub != nil:
		return *j.sub
	case j.asked != nil:
		return c.asks(j.asked, j.goesOn)
	case c.facts != nil && !c.starting():
		return subscription{} // another connection has started it
	}
	return subscription{unknown: true}
}

// starting reports whether the job of a start may be unknown yet.
func (c *checker) starting() bool {
	return slices.ContainsFunc(c.all, func(r *request) bool {
		return r.answer == nil && (r.method == "job/start" || r.method == "job/run" || r.method == "")
	})
}

// wants reports whether an event of a job was requested; if that is unknown, it returns false.
func (c *checker) wants(j *jobView, event string) bool {
	s := c.now(j)
	return !s.unknown && s.events.has(event)
}

// unwanted returns an error text if an event was not requested, or "". While the subscription is unknown, the
// event is remembered.
func (c *checker) unwanted(j *jobView, event string) string {
	switch s := c.now(j); {
	case s.unknown && j.sub == nil:
		j.early = append(j.early, event)
	case !s.unknown && !s.events.has(event):
		return fmt.Sprintf("job/%s of job %s was not asked for", event, j.handle)
	}
	return ""
}

// known is called once it is known which request has started a job. It checks the earlier events against the
// events that this request asks for.
func (c *checker) known(j *jobView) string {
	if j.asked.sub != nil && j.sub == nil {
		j.sub, j.renew = j.asked.sub, j.asked.renew
	}
	early := j.early
	j.early = nil
	if j.sub != nil {
		return "" // Some of these events may be older.
	}
	for _, event := range early {
		if why := c.unwanted(j, event); why != "" {
			return why
		}
	}
	return ""
}

// subscribed applies a job/subscribe or job/unsubscribe that was answered.
func (c *checker) subscribed(r *request) {
	if name, ok := r.params["handle"].(string); ok {
		made := c.startedAs(name, r)
		if made == nil {
			return
		}
		if j := c.madeBy(made); j != nil {
			c.subscribe(j, r)
			return
		}
		was := c.asks(made, false)
		if made.sub != nil {
			was = *made.sub
		}
		next, renew := c.settled(was, r)
		made.sub, made.renew = &next, made.renew || renew
		return
	}
	c.subscribe(c.job(wire.Show(r.params["handle"])), r)
}

// startedAs returns the last start with that name before a request.
func (c *checker) startedAs(name string, before *request) (last *request) {
	for _, r := range c.all {
		if r == before {
			break
		}
		failed := r.answer != nil && r.answer.Err != nil
		if (r.method == "job/start" || r.method == "job/run") && r.params["name"] == any(name) && !failed {
			last = r
		}
	}
	return last
}

func (c *checker) madeBy(r *request) *jobView {
	for _, j := range c.jobs {
		if j.asked == r {
			return j
		}
	}
	return nil
}

func (c *checker) subscribe(j *jobView, r *request) {
	heard := c.wants(j, "waitingForInput")
	next, renew := c.settled(c.now(j), r)
	j.sub, j.early = &next, nil
	if !heard || !c.wants(j, "waitingForInput") {
		j.input.unsure = true
	}
	if renew {
		j.renew = true
		for _, s := range j.streams {
			s.renew, s.half = true, nil
		}
	}
}

// settled returns the subscription after the answer to a request, and whether output begins anew.
func (c *checker) settled(was subscription, r *request) (next subscription, renew bool) {
	base, by := was, []*request{r}
	if was.by != nil {
		base, by = *was.base, append(slices.Clone(was.by), r)
	}
	slices.SortFunc(by, func(a, b *request) int { return slices.Index(c.all, a) - slices.Index(c.all, b) })
	next = base
	for _, q := range by {
		var anew bool
		next, anew = c.chosen(next, q)
		renew = renew || anew
	}
	if slices.ContainsFunc(c.all, func(q *request) bool {
		return q.answer == nil && (q.method == "job/subscribe" || q.method == "job/unsubscribe")
	}) {
		next.base, next.by = &base, by
	}
	return next, renew
}

// chosen returns the subscription that a request makes of the earlier one, and whether output begins anew: from
// another offset, or since it was off.
func (c *checker) chosen(was subscription, r *request) (next subscription, renew bool) {
	if r.method == "job/unsubscribe" {
		return subscription{base64: was.base64}, false
	}
	next = was
	silent := !was.unknown && was.events.none()
	if events := r.params["events"]; events != nil {
		next.events = eventsOf(events)
	} else if silent {
		if next.events = eventsOf(c.events); next.events.none() {
			next.events = eventSet{all: true}
		}
	}
	if encoding := r.params["encoding"]; encoding != nil {
		next.base64 = encoding == "base64"
	} else if silent {
		next.base64 = c.base64
	}
	if queries := r.params["queries"]; queries != nil {
		next.answers, next.strip = queries == "client", queries == "strip"
	} else if silent {
		next.answers, next.strip = false, false
	}
	next.strip = next.strip || next.answers
	renew = r.params["from"] != nil || !was.standing && next.events.has("output")
	next.standing = was.standing || next.events.has("output")
	return next, renew
}
