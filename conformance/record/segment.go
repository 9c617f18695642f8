package record

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file writes the messages between two messages of the client.

// flush writes the steps for a segment: first those that bind variables, then the rest. next is the client's next
// entry.
func (c *composer) flush(next *beat) {
	segment := c.segment
	c.segment = nil
	if len(segment) == 0 {
		return
	}
	within := ""
	if d := segment[len(segment)-1].at - c.last; d > 6*time.Second {
		within = " within " + (3 * d).Round(time.Second).String()
	}
	for _, b := range segment {
		if b.kind == tapeRaw || b.bad {
			c.note("the server sent what is no message: %q", wire.Clip(string(b.raw)))
		}
		if b.msg.Method == "job/started" {
			c.started(b, next, within)
		}
	}
	for _, b := range segment {
		if b.msg.Kind == wire.KindResponse && !b.bad {
			c.answer(b, next, within)
		}
	}
	for _, j := range c.castOf(segment) {
		if !c.bound[j] {
			continue // No message has given a handle or name by which a client could name it.
		}
		for _, name := range wire.Streams {
			c.output(j, j.track(name), segment, within)
		}
		c.events(j, segment, within)
	}
}

// castOf returns the jobs that a segment's notifications mention, in the order of their handles.
func (c *composer) castOf(segment []*beat) (all []*cast) {
	for _, b := range segment {
		if b.job != nil && b.msg.Kind == wire.KindNotification && !slices.Contains(all, b.job) {
			all = append(all, b.job)
		}
	}
	slices.SortFunc(all, func(a, b *cast) int {
		x, _ := strconv.Atoi(a.handle) // A handle is a number; the order only helps readers.
		y, _ := strconv.Atoi(b.handle)
		return cmp.Compare(x, y)
	})
	return all
}

// started binds a job's handle if the client sends another message before its start is answered.
func (c *composer) started(b, next *beat, within string) {
	j := b.job
	if j == nil || c.bound[j] || j.start == nil || !j.start.spell || j.start.answer != nil && j.start.answer.index < next.index {
		return
	}
	c.step("expect of "+j.variable+within, "job/started "+writeLine(map[string]any{
		"handle": c.handle(j), "requestId": spelled(c.idOf(j.start)),
	}))
}

// handle returns a job's handle as a variable, which is bound at its first appearance.
func (c *composer) handle(j *cast) spelled {
	if c.bound[j] {
		return spelled("$" + j.variable)
	}
	c.bound[j] = true
	return spelled("$" + j.variable + ":int")
}

// output writes the steps for a segment's output of a stream.
func (c *composer) output(j *cast, t *track, segment []*beat, within string) {
	to, closed := t.done, false
	for _, b := range segment {
		o, _ := b.msg.Params.(map[string]any)
		if b.job == j && b.msg.Method == "job/output" && o["stream"] == t.stream {
			to = max(to, b.to)
		}
		closed = closed || b == j.closed
	}
	t.heard, t.sure = max(t.heard, to), max(t.sure, to)
	if closed && t.cut != "" && !c.options.Matched {
		c.note("%s ($%s %s): what came then is not recorded", t.cut, j.variable, t.stream)
	}
	if to == t.done || t.wild || c.options.Matched {
		return
	}
	if whole := t.wholeRunes(t.done, to); !closed && whole > t.done {
		to = whole
	}
	if !t.valid(t.done, to) {
		c.bytes(j, t, to, within)
		return
	}
	c.text(j, t, to, closed, within)
}

// bytes expects output that is no text, by its offset.
func (c *composer) bytes(j *cast, t *track, to int64, within string) {
	if t.fixed(to) {
		c.step(fmt.Sprintf("bytes $%s %s%s", j.variable, t.stream, within),
			fmt.Sprintf("%d: base64 %q", t.done, base64.StdEncoding.EncodeToString([]byte(t.text(t.done, to).String()))))
	} else {
		c.note("bytes that are no text follow output that differs from run to run ($%s %s): they are not recorded", j.variable, t.stream)
	}
	t.done, t.jump = to, true
}

// text expects text. Text that differs from run to run becomes a pattern, which needs fixed text after it: a
// pattern at the end of the output so far waits for more.
func (c *composer) text(j *cast, t *track, to int64, closed bool, within string) {
	p := t.phrase(t.done, to)
	for !closed && len(p) > 0 && p[len(p)-1].pattern != "" {
		p = p[:len(p)-1]
	}
	to = t.done + int64(len(p.String()))
	if len(p) == 0 {
		return
	}
	at, literal := t.done, phrase(nil)
	tell := func(p phrase, last bool) {
		if len(p) == 0 {
			return
		}
		how, body := "", ""
		if !p.literal() {
			body = string(p.regex(false))
		} else if body = p.strings(); closed && last && t.cut == "" {
			how = " ends"
		}
		from := ""
		if t.jump {
			if !t.fixed(at) {
				c.note("output follows that differs from run to run ($%s %s): it is not recorded", j.variable, t.stream)
				return
			}
			from = fmt.Sprintf(" from %d", at)
		}
		t.jump = false
		c.step("output $"+j.variable+" "+t.stream+how+from+within, body)
		at += int64(len(p.String()))
	}
	lines := p.lines()
	for i, line := range lines {
		if line.literal() {
			if literal = append(literal, line...); i < len(lines)-1 {
				continue
			}
			line = nil
		}
		tell(literal, i == len(lines)-1 && line == nil)
		literal = nil
		tell(line, i == len(lines)-1)
	}
	t.done = to
}

// strings returns a phrase as consecutive strings, a line each.
func (p phrase) strings() string {
	var b strings.Builder
	for _, line := range p.lines() {
		s := line.quoted()
		if strings.HasPrefix(string(s), "$") { // Only strings can follow each other.
			s = spelled(`"${` + line[0].variable + `}"`)
		}
		b.WriteString(string(s) + "\n")
	}
	return b.String()
}

// events writes the steps for a job's events other than output. Each source has its own label: matches of a
// pattern, for example, have no order relative to the end of the job's output elsewhere.
func (c *composer) events(j *cast, segment []*beat, within string) {
	titled := -1
	for i, b := range segment {
		if o, ok := b.msg.Params.(map[string]any); ok && b.job == j && b.msg.Method == "job/stateChanged" && o["title"] != nil {
			titled = i
		}
	}
	header, items := "", ""
	tell := func(label, method string, pattern map[string]any) {
		pattern["handle"] = c.handle(j)
		if h := "expect of " + j.variable + label + within; h != header {
			if header != "" {
				c.step(header, items)
			}
			header, items = h, ""
		}
		items += method + " " + writeValue(pattern, "") + "\n"
	}
	defer func() {
		if header != "" {
			c.step(header, items)
		}
	}()
	c.waitsTold(j, segment, func(pattern map[string]any) {
		c.atTerminal()
		if c.warm {
			c.needs["event waitingForInput"] = true
		}
		tell("-waiting", "job/waitingForInput", pattern)
	})
	for i, b := range segment {
		if b.job != j || b.bad || b.msg.Kind != wire.KindNotification {
			continue
		}
		o, _ := b.msg.Params.(map[string]any)
		switch b.msg.Method {
		case "job/started", "job/output", "job/waitingForInput":
		case "job/exited":
			tell("", b.msg.Method, map[string]any{"exit": c.exit(o["exit"])})
		case "job/closed":
			tell("", b.msg.Method, map[string]any{})
		case "job/patternMatched":
			if c.watchTold(j, o) {
				tell("-watch"+wire.Show(o["watchId"])+"-"+fmt.Sprint(o["stream"]), b.msg.Method, c.matched(j, o))
			}
		case "job/stateChanged":
			c.state(o, i == titled, func(what string, pattern map[string]any) { tell("-"+what, b.msg.Method, pattern) })
		default:
			pattern, _ := c.generic(o, false).(map[string]any)
			if pattern != nil {
				tell("-"+strings.TrimPrefix(b.msg.Method, "job/"), b.msg.Method, pattern)
			}
		}
	}
}

// watchTold reports whether a match comes in every run.
func (c *composer) watchTold(j *cast, o map[string]any) bool {
	stream, _ := o["stream"].(string)
	return !c.thinned[wire.Show(o["handle"])+" "+wire.Show(o["watchId"])] && !j.track(stream).wild
}

// state expects lasting changes. How many of them one message reports depends on timing: of titles only the last
// one counts, and the foreground program does not count at all.
func (c *composer) state(o map[string]any, lastTitle bool, tell func(string, map[string]any)) {
	if s, ok := o["status"].(string); ok {
		tell("status", map[string]any{"status": s})
	}
	if title, ok := o["title"].(string); ok && lastTitle {
		tell("title", map[string]any{"title": c.say(title).expected(true)})
	}
	if size, ok := o["size"].(map[string]any); ok {
		tell("size", map[string]any{"size": size})
	}
}
