//go:build linux

package conformance

import (
	"shelld/conformance/internal/wire"
)

// waitFaults are faults with waits for input: in their reports and in the reactions to them.
var waitFaults = []fault{
	{name: "loses the beginning of a wait for input", word: "waitingForInput", says: "job/waitingForInput|is told to be over, and the one that was told is", slow: true, renumber: true, hooks: drop(waits(true))},
	{name: "tells a wait for input twice", word: "waitingForInput", says: "is told again, and is as it was told", renumber: true, hooks: repeat(waits(true))},
	{name: "tells no end of a wait for input", word: "waitingForInput", says: "was not told to be over", renumber: true, hooks: drop(waits(false))},
	{name: "tells the end of a wait for input twice", word: "waitingForInput", says: "which was told to be over", renumber: true, hooks: repeat(waits(false))},
	{name: "tells the end of another wait for input", word: "waitingForInput", says: "is told to be over, and the one that was told is", hooks: inside("params", waits(false), set("waitId", "none"))},
	{name: "tells the next wait for input before the end of the last", word: "waitingForInput", says: "was not told to be over", renumber: true, hooks: behind(waits(false), sameJob("waitingForInput"))},
	{name: "tells the end of a wait for input behind job/exited", word: "waitingForInput", says: "was not told to be over", renumber: true, hooks: lastEnd},
	{name: "gives all waits for input one name", word: "waitingForInput", says: "which was told to be over|waitId: expected", slow: true, hooks: always(event("waitingForInput"), func(_ *faultProxy, m *packet) []*packet {
		m.object("params")["waitId"] = "1"
		m.touch()
		return []*packet{m}
	})},
	{name: "tells a wait for input before the output that it speaks of", word: "waitingForInput", says: "expected job/waitingForInput", slow: true, renumber: true, hooks: behind(chunks(1), sameJob("waitingForInput"))},
	{name: "tells a wait for input that nobody asked for", says: "was not asked for", renumber: true, hooks: once(event("exited"), func(_ *faultProxy, m *packet) []*packet {
		more := m.copy()
		more.v["method"] = "job/waitingForInput"
		more.v["params"] = map[string]any{"handle": m.object("params")["handle"], "seq": m.object("params")["seq"], "waiting": false, "waitId": "1"}
		more.touch()
		return []*packet{more, m}
	})},
	{name: "tells of the end of a wait for input more than its name", word: "waitingForInput", says: "is there, and there is no wait for input", hooks: inside("params", waits(false), set("why", "x"))},
	{name: "tells a wait for input without its prompt", word: "waitingForInput", says: "is told without its prompt", hooks: inside("params", waits(true), unset("prompt"))},
	{name: "tells another prompt", word: "prompt:", says: "/prompt: expected|expected job/waitingForInput", slow: true, hooks: tellsOfWaits("prompt", "x")},
	{name: "takes a password for a line", word: "password", says: "/kind: expected|expected job/waitingForInput|by the condition input", slow: true, hooks: takesFor("kind", "password", "line")},
	{name: "takes keys for a line", word: "raw", says: "/kind: expected|expected job/waitingForInput|by the condition input", slow: true, hooks: takesFor("kind", "raw", "line")},
	{name: "takes a full screen for single keys", word: "fullscreen", says: "/kind: expected|expected job/waitingForInput|by the condition input", slow: true, hooks: takesFor("kind", "fullscreen", "raw")},
	{name: "takes who listens for one who reads", word: "listening", says: "/state: expected|expected job/waitingForInput", slow: true, hooks: takesFor("state", "listening", "reading")},
	{name: "takes what is likely for exact", word: "likely", says: "/confidence: expected", slow: true, hooks: takesFor("confidence", "likely", "exact")},
	{name: "ends a wait for another kind of input", word: "kinds", says: "by the condition input", hooks: accepts("kinds")},
	{name: "ends a wait for input that is not so sure", word: "minConfidence", says: "by the condition input", hooks: accepts("minConfidence")},
	{name: "ends a wait for input where it is listening alone", word: "listening", says: "by the condition input", hooks: takesFor("state", "reading", "listening")},
	{name: "ends a wait for input, and tells of none", word: "input: true", says: "by the condition input", hooks: inside("result", result().where(endedByInput), in("outcome", in("job", unset("waitingForInput"))))},
	{name: "takes ifWaiting of a wait for input that is over", word: "ifWaiting", says: "expected an error for .* got the result|(did not|cannot) come|expected an answer", slow: true, hooks: asks(asking("job/write").where(func(m *packet) bool {
		return m.object("params")["ifWaiting"] != nil
	}), func(_ *faultProxy, m *packet) []*packet {
		delete(m.object("params"), "ifWaiting")
		m.touch()
		return []*packet{m}
	})},
	{name: "refuses ifWaiting of a wait for input that goes on", word: "ifWaiting", says: "expected a result for", hooks: asks(asking("job/write").where(func(m *packet) bool {
		return m.object("params")["ifWaiting"] != nil
	}), func(_ *faultProxy, m *packet) []*packet {
		m.object("params")["ifWaiting"] = "none"
		m.touch()
		return []*packet{m}
	})},
	{name: "tells of a job that has ended that it waits for input", word: "waitingForInput", says: "has ended, and waitingForInput is there", hooks: inside("result", result("job/get").where(func(m *packet) bool {
		job, _ := m.object("result")["job"].(map[string]any)
		return job["exit"] != nil
	}), in("job", set("waitingForInput", map[string]any{"waiting": false, "why": "x"})))},
	{name: "says of a job that works that it waits for input", word: "waiting: false", says: "/waiting: expected", hooks: inside("result", result("job/get").where(func(m *packet) bool {
		return waitIn(m.object("result"))["waiting"] == false
	}), in("job", set("waitingForInput", aWait)))},
	{name: "does not say why a job does not wait for input", word: "waiting: false", says: "/why: expected|waitingForInput: expected", hooks: inside("result", result("job/get"), in("job", in("waitingForInput", unset("why"))))},
	{name: "tells in job/list that a job does not wait for input", word: "job/list", says: "job/get alone does", hooks: inside("result", result("job/list"), func(o map[string]any) {
		list, _ := o["jobs"].([]any)
		for _, job := range list {
			if job, ok := job.(map[string]any); ok && job["exit"] == nil {
				job["waitingForInput"] = map[string]any{"waiting": false, "why": "x"}
			}
		}
	})},
}

// waits picks the begins or the ends of waits for input.
func waits(is bool) which {
	return event("waitingForInput").where(func(m *packet) bool { return m.object("params")["waiting"] == is })
}

// aWait is a wait for input that does not exist.
var aWait = map[string]any{
	"waiting": true, "waitId": "1", "state": "reading", "kind": "line", "since": "2026-01-02T03:04:05Z", "prompt": "", "why": "x", "confidence": "exact",
}

// waitIn returns the wait for input of the job in a result.
func waitIn(result map[string]any) map[string]any {
	job, _ := result["job"].(map[string]any)
	w, _ := job["waitingForInput"].(map[string]any)
	return w
}

func endedByInput(m *packet) bool {
	outcome, _ := m.object("result")["outcome"].(map[string]any)
	return outcome["reason"] == "input"
}

// tellsOfWaits changes a member of all reported waits for input.
func tellsOfWaits(member string, v any) func() hooks {
	return everyWait(func(o map[string]any) bool {
		_, ok := o[member]
		if ok {
			o[member] = v
		}
		return ok
	})
}

// takesFor replaces a value of a member in all waits for input that have it.
func takesFor(member, was, is string) func() hooks {
	return everyWait(func(o map[string]any) bool {
		if o[member] != any(was) {
			return false
		}
		o[member] = is
		return true
	})
}

// everyWait changes waits for input in all messages.
func everyWait(change func(map[string]any) bool) func() hooks {
	return always(func(m *packet) bool {
		found := false
		for _, part := range []any{m.v["params"], m.v["result"]} {
			each(part, func(o map[string]any) {
				if o["waiting"] == true && o["waitId"] != nil {
					found = change(o) || found
				}
			})
		}
		return found
	}, func(_ *faultProxy, m *packet) []*packet {
		m.touch()
		return []*packet{m}
	})
}

// accepts ends a wait by an input condition that has this member and does not hold: the first one that has it, of
// several.
func accepts(member string) func() hooks {
	return once(result().where(func(m *packet) bool {
		if !endedByInput(m) {
			return false
		}
		i, _ := wire.Int(m.object("result")["outcome"].(map[string]any)["index"])
		return i > 0 && conditionHas(m, i-1, member)
	}), func(_ *faultProxy, m *packet) []*packet {
		add("index", -1)(m.object("result")["outcome"].(map[string]any))
		m.touch()
		return []*packet{m}
	})
}

// conditionHas reports whether an input condition of the answered request has a member.
func conditionHas(m *packet, index int64, member string) bool {
	wait, _ := m.askedFor.params["wait"].(map[string]any)
	if m.askedFor.method == "job/wait" {
		wait = m.askedFor.params
	}
	until, _ := wait["until"].([]any)
	if int(index) >= len(until) {
		return false
	}
	condition, _ := until[index].(map[string]any)
	input, _ := condition["input"].(map[string]any)
	return input[member] != nil
}

// lastEnd sends the end of a job's last wait for input after its exit.
func lastEnd() hooks {
	var held *packet
	done := false
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		switch {
		case held != nil && held.job() == m.job() && event("exited")(m):
			p.commit()
			ms := []*packet{m, held}
			held, done = nil, true
			return ms
		case held != nil && held.job() == m.job():
			ms := []*packet{held, m}
			held = nil
			return ms
		case !done && held == nil && waits(false)(m):
			held = m
			return nil
		}
		return []*packet{m}
	}}
}
