package conformance

import (
	"bytes"
	"fmt"
	"slices"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file has the checks over several connections to one session: its clients are told the same about its jobs.

// Facts are what any connection has been told about the jobs of a session.
type facts struct {
	starts int64                         // number of starts sent
	events map[string]map[int64]numbered // by job: its events by their number
	told   map[string]int64              // the number of an event that happens once, by the job and what it is
}

// A numbered is an event of a job that has a number.
type numbered struct {
	name string
	what string // what happened; the same for all clients
}

func newFacts() *facts {
	return &facts{events: map[string]map[int64]numbered{}, told: map[string]int64{}}
}

// unnumbered are the events that tell a position and not what has happened.
var unnumbered = []string{"output", "screenChanged"}

// identity are the members that tell which event it is, of those that happen once.
var identity = map[string][]string{
	"started": {}, "exited": {"exit"}, "closed": {}, "patternMatched": {"watchId", "stream", "offset", "endOffset"},
	"commandFinished": {"commandId", "exitCode"}, "watchRemoved": {"watchId"},
}

// numbered checks the number of an event: it grows, belongs to this event on every connection, and leaves out no event
// that the connection wants and another one was sent.
func (c *checker) numbered(j *jobView, name string, o map[string]any) string {
	if c.facts == nil || slices.Contains(unnumbered, name) {
		return ""
	}
	n, ok := wire.Int(o["n"])
	if !ok {
		return fmt.Sprintf("job/%s of job %s has no n, its number among what has happened to the job", name, j.handle)
	}
	if n <= j.n {
		return fmt.Sprintf("n of job %s is %d after %d", j.handle, n, j.n)
	}
	all := c.facts.events[j.handle]
	if all == nil {
		all = map[int64]numbered{}
		c.facts.events[j.handle] = all
	}
	what := name
	members, once := identity[name]
	for _, m := range members {
		what += " " + m + " " + wire.Show(o[m])
	}
	if was, known := all[n]; known && was.what != what {
		return fmt.Sprintf("the event %d of job %s is told as %s, and was as %s", n, j.handle, what, was.what)
	}
	all[n] = numbered{name, what}
	if key := j.handle + " " + what; once {
		if was, told := c.facts.told[key]; told && was != n {
			return fmt.Sprintf("the event %s of job %s has n %d, and had %d", what, j.handle, n, was)
		}
		c.facts.told[key] = n
	}
	if why := c.leftOut(j, name, n, o["suppressed"] != nil); why != "" {
		return why
	}
	j.n, j.floor = n, max(j.floor, n)
	return ""
}

// leftOut returns an error text if the connection wants an event that comes before the event n and was not sent to it.
// Changes of state are merged under the last of their numbers, and matches may be left out if there are too many.
func (c *checker) leftOut(j *jobView, name string, n int64, suppressed bool) string {
	for k := j.floor + 1; k < n; k++ {
		e, known := c.facts.events[j.handle][k]
		if !known || e.name == "stateChanged" || e.name == "started" || e.name == name && suppressed {
			continue
		}
		if c.wants(j, e.name) {
			return fmt.Sprintf("the event %d of job %s (%s) was left out before the event %d", k, j.handle, e.what, n)
		}
	}
	return ""
}

// resumed applies the subscriptions that an initialize has made.
func (c *checker) resumed(r *request, result map[string]any) string {
	params, _ := r.params["session"].(map[string]any)
	session, _ := result["session"].(map[string]any)
	asked, _ := params["resume"].([]any)
	told, _ := session["resumed"].([]any)
	if len(asked) != len(told) {
		return fmt.Sprintf("resume has %d jobs, and resumed %d", len(asked), len(told))
	}
	for i := range asked {
		one, _ := asked[i].(map[string]any)
		got, _ := told[i].(map[string]any)
		if !equal(one["handle"], got["handle"]) {
			return fmt.Sprintf("resumed tells of job %s in the place of job %s", wire.Show(got["handle"]), wire.Show(one["handle"]))
		}
		if got["job"] == nil {
			continue // It was refused.
		}
		if why := c.attached(&request{method: "job/subscribe", params: one}, got); why != "" {
			return why
		}
	}
	return ""
}

// attached applies a subscription of a session. result has the job and n, the number of its last event.
func (c *checker) attached(r *request, result map[string]any) string {
	job, _ := result["job"].(map[string]any)
	j := c.job(wire.Show(job["handle"]))
	n, ok := wire.Int(result["n"])
	if !ok {
		return "the answer to job/subscribe has no n, the number of the last event of job " + j.handle
	}
	c.subscribe(j, r)
	after, again := wire.Int(r.params["after"])
	switch {
	case again:
		j.again()
		j.n, j.floor = after, after
	case n < j.n:
		return fmt.Sprintf("the last event of job %s has the number %d, and the event %d was sent", j.handle, n, j.n)
	default:
		j.floor = n
	}
	return ""
}

// again forgets which events have come: they are sent again.
func (j *jobView) again() {
	j.exited, j.closed = false, false
	clear(j.matches)
	clear(j.finished)
	j.input = inputView{unsure: true}
}

// sameBytes returns an error text if two connections were sent different output of a job at the same offsets, or "".
func sameBytes(all []*line) string {
	known := map[string][]run{}
	for _, l := range all {
		for _, j := range l.check.jobs {
			for name, s := range j.streams {
				for _, r := range s.runs {
					if r.cut > 0 {
						continue // The places of the omitted queries are unknown.
					}
					key := j.handle + " " + name
					for _, k := range known[key] {
						if from, to := max(r.offset, k.offset), min(r.end(), k.end()); from < to && !bytes.Equal(r.data[from-r.offset:to-r.offset], k.data[from-k.offset:to-k.offset]) {
							return fmt.Sprintf("two connections were sent different bytes of job %s (%s) between %d and %d", j.handle, name, from, to)
						}
					}
					known[key] = append(known[key], r)
				}
			}
		}
	}
	return ""
}
