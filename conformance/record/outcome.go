package record

import (
	"strings"
	"time"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file selects the parts of a wait's outcome that are the same in every run, and builds patterns for
// messages without special rules.

// outcome returns the pattern for a wait's outcome. How far its output extends depends on when the server looked;
// only the part up to the end of the awaited output is certain.
func (c *composer) outcome(v any, a *asked, b, next *beat) map[string]any {
	o, _ := v.(map[string]any)
	if o == nil {
		return nil
	}
	out := map[string]any{"reason": o["reason"]}
	if o["index"] != nil {
		out["index"] = o["index"]
	}
	job, _ := o["job"].(map[string]any)
	j := c.jobOf(job)
	ended := o["reason"] == "exit" || o["reason"] == "closed"
	if ended {
		state := map[string]any{}
		if job["exit"] != nil {
			state["exit"] = c.exit(job["exit"])
		}
		if o["reason"] == "closed" {
			state["status"] = "closed"
		}
		c.put(out, "job", state)
	} else if w := c.waitOf(job, b, o["reason"] == "input"); w != nil {
		out["job"] = map[string]any{"waitingForInput": w}
	}
	match, _ := o["match"].(map[string]any)
	if !a.ahead {
		c.put(out, "match", c.match(match, j))
	}
	streams := map[string]any{}
	outputs, _ := o["output"].(map[string]any)
	for name, s := range outputs {
		s, _ := s.(map[string]any)
		if j == nil || s == nil {
			continue
		}
		h := hearing{a: a, b: b, next: next, j: j, t: j.track(name), match: match, out: s, ended: ended, input: o["reason"] == "input"}
		if pattern := c.heardIn(h); len(pattern) > 0 {
			streams[name] = pattern
		}
	}
	c.put(out, "output", streams)
	return out
}

// A hearing is the output of one stream in a wait's outcome.
type hearing struct {
	a       *asked
	b, next *beat
	j       *cast
	t       *track
	match   map[string]any
	out     map[string]any
	ended   bool // the wait ended with the job, or with its output
	input   bool
}

// heardIn returns the pattern for the certain part of one stream of an outcome.
func (c *composer) heardIn(h hearing) map[string]any {
	out := map[string]any{}
	offset, _ := wire.Int(h.out["offset"])
	next, _ := wire.Int(h.out["nextOffset"])
	end, matched := wire.Int(h.match["endOffset"])
	matched = matched && h.match["stream"] == h.t.stream
	exact := (h.ended || h.input || matched && end == next && c.silent(h, next)) && h.out["truncated"] == nil && !h.t.wild
	defer func() {
		switch {
		case exact:
			h.t.sure = max(h.t.sure, next)
		case matched:
			h.t.sure = max(h.t.sure, end)
		}
	}()
	if !exact || !h.t.fixed(next) || c.options.Matched {
		c.bindNext(out, h.j, next, h.b)
	}
	if c.options.Matched || h.t.wild || !h.t.fixed(offset) || !h.begins(offset) {
		return out
	}
	text, isText := h.out["text"].(string)
	if exact && h.t.fixed(next) {
		out["nextOffset"] = h.out["nextOffset"]
	}
	switch {
	case !c.vault.whole(text):
	case isText && exact:
		out["text"] = c.say(text).expected(true)
	case isText && matched && h.out["truncated"] == nil:
		want, _ := h.match["text"].(string)
		want = strings.ReplaceAll(want, "\r\n", "\n")
		if i := strings.Index(text, want); i >= 0 && i+len(want) > 0 && c.vault.whole(text[:i+len(want)]) {
			out["text"] = c.say(text[:i+len(want)]).expected(false)
		}
	}
	if len(out) > 0 {
		out["offset"] = h.out["offset"]
	}
	return out
}

// silent reports whether the job sent no further output until the client's next message. It is false if the job
// sent no output events at all, since then this is unknown.
func (c *composer) silent(h hearing, next int64) bool {
	if !h.j.events {
		return false
	}
	for _, b := range c.beats[:min(h.next.index, len(c.beats))] {
		o, _ := b.msg.Params.(map[string]any)
		if b.job == h.j && b.msg.Method == "job/output" && o["stream"] == h.t.stream && b.to > next {
			return false
		}
	}
	return true
}

// begins reports whether a wait begins at the same offset in every run: after all received output, or at the
// offset in its request.
func (h hearing) begins(offset int64) bool {
	wait, _ := h.a.params["wait"].(map[string]any)
	if h.a.method == "job/wait" {
		wait = h.a.params
	}
	switch from := wait["from"].(type) {
	case wire.Number:
		return wire.Show(from) == wire.Show(h.out["offset"])
	case string:
		if from == "start" {
			return true
		}
	case nil:
		if h.a.method == "job/start" {
			return true
		}
	}
	return offset == h.a.known[h.t] && !h.a.ahead
}

// match returns the pattern for a match in a wait's outcome.
func (c *composer) match(o map[string]any, j *cast) map[string]any {
	out := map[string]any{}
	if o["port"] != nil {
		out["port"] = o["port"]
	}
	text, ok := o["text"].(string)
	if !ok {
		return out
	}
	c.found(out, "text", text, o["groups"])
	if stream, ok := o["stream"].(string); ok && j != nil {
		c.place(out, o, j.track(stream))
	}
	return out
}

// found adds the text and groups that a pattern has matched, unless they contain a part of a secret.
func (c *composer) found(out map[string]any, member, text string, v any) {
	groups, _ := v.([]any)
	for _, g := range append([]any{text}, groups...) {
		if s, ok := g.(string); ok && !c.vault.whole(s) {
			return
		}
	}
	out[member] = c.say(text).expected(true)
	if len(groups) > 0 {
		out["groups"] = c.generic(groups, true)
	}
}

// place adds the offsets of a match, if they are the same in every run.
func (c *composer) place(out, o map[string]any, t *track) {
	end, ok := wire.Int(o["endOffset"])
	if ok && t.fixed(end) && !c.options.Matched {
		out["offset"], out["endOffset"] = o["offset"], o["endOffset"]
	}
}

// matched returns the pattern for a job/patternMatched.
func (c *composer) matched(j *cast, o map[string]any) map[string]any {
	stream, _ := o["stream"].(string)
	text, _ := o["match"].(string)
	out := map[string]any{"watchId": o["watchId"], "stream": stream}
	c.found(out, "match", text, o["groups"])
	if v := c.watches[j.handle+" "+wire.Show(o["watchId"])]; v != "" {
		out["watchId"] = spelled("$" + v)
	}
	c.place(out, o, j.track(stream))
	return out
}

// generic returns the pattern for a value without special rules, by the protocol's kinds of values: names that
// end in Ms are times and are left out, dates become @time, a handle becomes its variable, and stream positions,
// which depend on timing, are left out. An array keeps all its elements, so that its length stays the same.
func (c *composer) generic(v any, inArray bool) any {
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return spelled("@time")
		}
		return c.say(v).expected(true)
	case []any:
		a := []any{}
		for _, e := range v {
			e = c.generic(e, true)
			a = append(a, e)
		}
		return a
	case map[string]any:
		o := map[string]any{}
		for name, e := range v {
			switch {
			case passing[name] || strings.HasSuffix(name, "Ms"):
			case name == "handle":
				if j := c.jobOf(v); j != nil {
					o[name] = c.handle(j)
				}
			default:
				o[name] = c.generic(e, false)
			}
		}
		return o
	}
	return v
}

// passing lists members without a value that is the same in every run.
var passing = map[string]bool{
	"seq": true, "pid": true, "message": true, "offset": true, "nextOffset": true, "endOffset": true, "kept": true, "line": true, "waitId": true,
	"since": true, "foreground": true, "background": true, "outputDirectory": true, "startedAt": true, "endedAt": true, "survivors": true, "_meta": true,
}
