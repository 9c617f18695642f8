package record

import (
	"fmt"
	"slices"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file selects the facts about a job's waits for input that are the same in every run: those of the wait
// that is open when the client sends its next message. The number of earlier waits, and the confidence of each,
// depend on timing.

// needInput adds the needs of an input condition.
func (c *composer) needInput(condition any) {
	c.atTerminal()
	o, _ := condition.(map[string]any)
	least, ok := o["minConfidence"].(string)
	if !ok {
		least = "likely"
	}
	if c.warm && slices.Contains(wire.Confidences, least) {
		c.needs["inputDetection "+least] = true
	}
}

// namedLater reports whether the client names a wait for input in this message or a later one.
func (c *composer) namedLater(j *cast, id string, b *beat) bool {
	return slices.ContainsFunc(c.beats[b.index:], func(b *beat) bool {
		o, _ := b.msg.Params.(map[string]any)
		return b.dir == wire.ToServer && b.msg.Method == "job/write" && o["ifWaiting"] == any(id) && c.jobOf(o) == j
	})
}

// waitID returns the variable of a wait for input, which is bound at its first appearance. It returns nil if the
// client does not name the wait.
func (c *composer) waitID(j *cast, v any, b *beat) any {
	id, ok := v.(string)
	if !ok || j == nil {
		return nil
	}
	key := j.handle + " " + id
	if name := c.waits[key]; name != "" {
		return spelled("$" + name)
	}
	if !c.namedLater(j, id, b) {
		return nil
	}
	name := fmt.Sprintf("wait%d", len(c.waits)+1)
	c.waits[key] = name
	return spelled("$" + name + ":string")
}

// waiting returns the pattern for an open wait for input.
func (c *composer) waiting(j *cast, o map[string]any, b *beat) map[string]any {
	out := map[string]any{"waiting": true, "state": o["state"], "kind": o["kind"]}
	if id := c.waitID(j, o["waitId"], b); id != nil {
		out["waitId"] = id
	}
	if prompt, ok := o["prompt"].(string); ok && !c.options.Matched && c.vault.whole(prompt) {
		out["prompt"] = c.say(prompt).expected(true)
	}
	return out
}

// waitOf returns the pattern for a wait for input in an answer if the client names it later, or, with always, in
// any case.
func (c *composer) waitOf(job map[string]any, b *beat, always bool) map[string]any {
	w, _ := job["waitingForInput"].(map[string]any)
	j := c.jobOf(job)
	if w["waiting"] != true {
		return nil
	}
	if always {
		return c.waiting(j, w, b)
	}
	if id := c.waitID(j, w["waitId"], b); id != nil {
		return map[string]any{"waiting": true, "waitId": id}
	}
	return nil
}

// begins returns a filter for the events that report an open wait.
func begins(id string) func(*beat) bool {
	return func(b *beat) bool {
		o, _ := b.msg.Params.(map[string]any)
		return o["waiting"] == true && o["waitId"] == any(id)
	}
}

// waitsTold expects a job's last event of this kind in a segment, and those of waits that the client names later.
// The end of a wait is expected if its beginning was, in an earlier segment.
func (c *composer) waitsTold(j *cast, segment []*beat, tell func(pattern map[string]any)) {
	var all []*beat
	for _, b := range segment {
		if b.job == j && !b.bad && b.msg.Method == "job/waitingForInput" {
			all = append(all, b)
		}
	}
	for i, b := range all {
		o, _ := b.msg.Params.(map[string]any)
		id, _ := o["waitId"].(string)
		key := j.handle + " " + id
		switch {
		case o["waiting"] != true && c.awaited[key]:
			pattern := map[string]any{"waiting": false}
			if v := c.waitID(j, id, b); v != nil {
				pattern["waitId"] = v
			}
			delete(c.awaited, key)
			tell(pattern)
		case o["waiting"] == true && (i == len(all)-1 || c.namedLater(j, id, b) && !slices.ContainsFunc(all[i+1:], begins(id))):
			defer func() { c.awaited[key] = true }()
			tell(c.waiting(j, o, b))
		}
	}
}
