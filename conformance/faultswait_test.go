//go:build linux

package conformance

import (
	"shelld.dev/shelld/conformance/internal/wire"
)

// waitFaults are faults with waits for input: in their reports and in the reactions to them.
var waitFaults = []fault{
	{name: "loses the start of a wait for input", word: "waitingForInput", says: "job/waitingForInput|is told to be over, and the one that was told is", slow: true, renumber: true, hooks: drop(waits(true))},
	{name: "repeats a wait for input", word: "waitingForInput", says: "is told again, and is as it was told", renumber: true, hooks: repeat(waits(true))},
	{name: "loses the end of a wait for input", word: "waitingForInput", says: "was not told to be over", renumber: true, hooks: drop(waits(false))},
	{name: "repeats the end of a wait for input", word: "waitingForInput", says: "which was told to be over", renumber: true, hooks: repeat(waits(false))},
	{name: "reports the end of another wait for input", word: "waitingForInput", says: "is told to be over, and the one that was told is", hooks: inside("params", waits(false), set("waitId", "none"))},
	{name: "reports a wait for input before the end of the previous one", word: "waitingForInput", says: "was not told to be over", renumber: true, hooks: behind(waits(false), sameJob("waitingForInput"))},
	{name: "reports the end of a wait for input after job/exited", word: "waitingForInput", says: "was not told to be over", renumber: true, hooks: lastEnd},
	{name: "reuses a waitId", word: "waitingForInput", says: "which was told to be over|waitId: expected", slow: true, hooks: always(event("waitingForInput"), func(_ *faultProxy, m *packet) []*packet {
		m.object("params")["waitId"] = "1"
		m.touch()
		return []*packet{m}
	})},
	{name: "reports a wait for input before its output", word: "waitingForInput", says: "expected job/waitingForInput", slow: true, renumber: true, hooks: behind(chunks(1), sameJob("waitingForInput"))},
	{name: "sends an unrequested wait for input", says: "was not asked for", renumber: true, hooks: once(event("exited"), func(_ *faultProxy, m *packet) []*packet {
		more := m.copy()
		more.v["method"] = "job/waitingForInput"
		more.v["params"] = map[string]any{"handle": m.object("params")["handle"], "seq": m.object("params")["seq"], "waiting": false, "waitId": "1"}
		more.touch()
		return []*packet{more, m}
	})},
	{name: "adds members to the end of a wait for input", word: "waitingForInput", says: "is there, and there is no wait for input", hooks: inside("params", waits(false), set("why", "x"))},
	{name: "omits the prompt of a wait for input", word: "waitingForInput", says: "is told without its prompt", hooks: inside("params", waits(true), unset("prompt"))},
	{name: "reports a wrong prompt", word: "prompt:", says: "/prompt: expected|expected job/waitingForInput", slow: true, hooks: tellsOfWaits("prompt", "x")},
	{name: "reports a password wait as a line", word: "password", says: "/kind: expected|expected job/waitingForInput|by the condition input", slow: true, hooks: takesFor("kind", "password", "line")},
	{name: "reports a key wait as a line", word: "raw", says: "/kind: expected|expected job/waitingForInput|by the condition input", slow: true, hooks: takesFor("kind", "raw", "line")},
	{name: "reports a full-screen wait as keys", word: "fullscreen", says: "/kind: expected|expected job/waitingForInput|by the condition input", slow: true, hooks: takesFor("kind", "fullscreen", "raw")},
	{name: "reports a listening program as reading", word: "listening", says: "/state: expected|expected job/waitingForInput", slow: true, hooks: takesFor("state", "listening", "reading")},
	{name: "reports a likely wait as exact", word: "likely", says: "/confidence: expected", slow: true, hooks: takesFor("confidence", "likely", "exact")},
	{name: "ends a wait at another kind of input", word: "kinds", says: "by the condition input", hooks: accepts("kinds")},
	{name: "ends a wait at too low a confidence", word: "minConfidence", says: "by the condition input", hooks: accepts("minConfidence")},
	{name: "ends a wait at a listening program", word: "listening", says: "by the condition input", hooks: takesFor("state", "reading", "listening")},
	{name: "ends a wait at input, and reports no wait for input", word: "input: true", says: "by the condition input", hooks: inside("result", result().where(endedByInput), in("outcome", in("job", unset("waitingForInput"))))},
	{name: "accepts ifWaiting for an ended wait for input", word: "ifWaiting", says: "expected an error for .* got the result|(did not|cannot) come|expected an answer", slow: true, hooks: asks(asking("job/write").where(func(m *packet) bool {
		return m.object("params")["ifWaiting"] != nil
	}), func(_ *faultProxy, m *packet) []*packet {
		delete(m.object("params"), "ifWaiting")
		m.touch()
		return []*packet{m}
	})},
	{name: "rejects ifWaiting for an open wait for input", word: "ifWaiting", says: "expected a result for", hooks: asks(asking("job/write").where(func(m *packet) bool {
		return m.object("params")["ifWaiting"] != nil
	}), func(_ *faultProxy, m *packet) []*packet {
		m.object("params")["ifWaiting"] = "none"
		m.touch()
		return []*packet{m}
	})},
	{name: "reports that an ended job waits for input", word: "waitingForInput", says: "has ended, and waitingForInput is there", hooks: inside("result", result("job/get").where(func(m *packet) bool {
		job, _ := m.object("result")["job"].(map[string]any)
		return job["exit"] != nil
	}), in("job", set("waitingForInput", map[string]any{"waiting": false, "why": "x"})))},
	{name: "reports that a working job waits for input", word: "waiting: false", says: "/waiting: expected", hooks: inside("result", result("job/get").where(func(m *packet) bool {
		return waitIn(m.object("result"))["waiting"] == false
	}), in("job", set("waitingForInput", aWait)))},
	{name: "omits why a job does not wait for input", word: "waiting: false", says: "/why: expected|waitingForInput: expected", hooks: inside("result", result("job/get"), in("job", in("waitingForInput", unset("why"))))},
	{name: "reports in job/list that a job does not wait for input", word: "job/list", says: "job/get alone does", hooks: inside("result", result("job/list"), func(o map[string]any) {
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
