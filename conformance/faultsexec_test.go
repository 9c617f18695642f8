//go:build linux

package conformance

import (
	"slices"

	"shelld.dev/shelld/conformance/internal/wire"
)

// execFaults are faults with the commands of a shell.
var execFaults = []fault{
	{name: "includes the prompt in a command's output", word: "job/exec", says: "/output: expected", hooks: ran(func(o map[string]any) {
		o["output"] = "$ " + o["output"].(string)
	})},
	{name: "includes the command in its output", word: "job/exec", says: "/output: expected", hooks: once(result("job/exec"), func(_ *faultProxy, m *packet) []*packet {
		o := m.object("result")
		o["output"] = m.askedFor.params["command"].(string) + "\n" + o["output"].(string)
		m.touch()
		return []*packet{m}
	})},
	{name: "omits the last line end of a command's output", word: "job/exec", says: "/output: expected", hooks: cutsOutput},
	{name: "reports exit code 0 for every command", word: "job/exec", says: "/exitCode: expected|was told to have|expected job/commandFinished", hooks: everyCommand("exitCode", wire.Number("0"))},
	{name: "reports a wrong directory of a command", word: "job/exec", says: "/cwd: expected", hooks: ran(set("cwd", "/nowhere"))},
	{name: "reports a command's output range one byte too far", word: "job/exec", says: "/range/|was told to have", hooks: ran(in("range", add("to", 1)))},
	{name: "reports a running command as ended", word: "finished: false", says: "/finished: expected", hooks: inside("result", result("job/exec").where(func(m *packet) bool {
		return m.object("result")["finished"] == false
	}), set("finished", true))},
	{name: "omits that a command is queued", word: "queued", says: "/queued: expected", hooks: inside("result", result("job/exec").has("queued"), unset("queued"))},
	{name: "omits that a command was interrupted", word: "interrupted", says: "/interrupted: expected", hooks: inside("result", result("job/exec").has("interrupted"), unset("interrupted"))},
	{name: "omits that a command was dropped", word: "dropped: true", says: "/dropped: expected", hooks: inside("result", result("job/exec").has("dropped"), unset("dropped"))},
	{name: "reports a command that never began as interrupted", word: "dropped: true", says: "/interrupted: expected", hooks: inside("result", result("job/exec").has("dropped"), set("interrupted", true))},
	{name: "omits the foreground process of a running command", word: "foreground: {", says: "/foreground: expected", hooks: inside("result", result("job/exec").has("foreground"), unset("foreground"))},
	{name: "omits that a command was killed", word: "killed", says: "/killed: expected", hooks: inside("result", result("job/exec").has("killed"), unset("killed"))},
	{name: "does not kill a command that survives interrupts", word: "onTimeout: \"kill\"", says: "/exitCode: expected|/finished: expected", hooks: editRequest("job/exec", func(params map[string]any) bool {
		if params["onTimeout"] != "kill" {
			return false
		}
		params["onTimeout"] = "interrupt"
		return true
	})},
	{name: "omits why a shell could not run a command", word: "job/exec", says: "/hint: expected", hooks: inside("result", result("job/exec").has("hint"), unset("hint"))},
	{name: "loses a command that is sent while another runs", word: "ifBusy", says: "(did not|cannot) come|expected an answer|/commandId: expected", slow: true, hooks: losesSecond},
	{name: "reuses a commandId", word: "job/exec", says: "/commandId: expected|was told to have|twice", hooks: everyCommand("commandId", wire.Number("1"))},
	{name: "reports a command's end before its output", word: "commandFinished", says: "job/commandFinished of job .* speaks of bytes|expected job/commandFinished", slow: true, renumber: true, hooks: endEarly},
	{name: "loses a command's end", word: "commandFinished", says: "job/commandFinished", slow: true, renumber: true, hooks: drop(event("commandFinished"))},
	{name: "repeats a command's end", word: "commandFinished", says: "the end of command .* twice", renumber: true, hooks: repeat(event("commandFinished"))},
	{name: "sends an unrequested command's end", word: "commandFinished", says: "was not asked for|expected 1 .* got 2|came 2 times|commandFinished", renumber: true, hooks: tellsUnasked},
	{name: "reports a command's end after the job's", word: "commandFinished", says: "comes after its job/exited", renumber: true, hooks: behind(event("commandFinished"), sameJob("exited"))},
	{name: "reports the origin exec for a typed command", word: "typed", says: "/origin: expected|expected job/commandFinished", slow: true, hooks: everyCommand("origin", "exec")},
	{name: "reverses a history", word: "job/history", says: "/commands", hooks: pastOf(func(list []any) []any {
		slices.Reverse(list)
		return list
	})},
	{name: "omits the last command of a history", word: "job/history", says: "/commands", hooks: pastOf(func(list []any) []any { return list[:len(list)-1] })},
	{name: "reports a wrong exit code in a history", word: "job/history", says: "/exitCode: expected|was told to have", hooks: pastOf(func(list []any) []any {
		add("exitCode", 1)(list[0].(map[string]any))
		return list
	})},
	{name: "reports the output end of a running command", word: "finished: false", says: "/to|/output|is there", hooks: inside("result", result("job/history"), func(o map[string]any) {
		for _, c := range o["commands"].([]any) {
			if c, ok := c.(map[string]any); ok && c["finished"] == false {
				c["output"].(map[string]any)["to"] = wire.Number("99999")
			}
		}
	})},
	{name: "reports a truncated history as complete", word: "hasMore", says: "/hasMore: expected", hooks: inside("result", result("job/history").where(func(m *packet) bool {
		return m.object("result")["hasMore"] == true
	}), set("hasMore", false))},
	{name: "omits the state of a cancelled command", word: "dropped", says: "/command", hooks: inside("error", refusal("canceled").where(methodIs("job/exec")), in("data", unset("command")))},
	{name: "reports a cancelled command as running", word: "dropped", says: "/command: expected", hooks: inside("error", refusal("canceled").where(methodIs("job/exec")), in("data", set("command", "running")))},
	{name: "omits a command's end in the outcome of a wait", word: "reason: \"command\"", says: "/command", hooks: inside("result", result("job/wait").where(func(m *packet) bool {
		o, _ := m.object("result")["outcome"].(map[string]any)
		return o["command"] != nil
	}), in("outcome", unset("command")))},
	{name: "omits that a shell was replaced", word: "replaced: true", says: "/replaced: expected", hooks: inside("result", result("job/exec").has("replaced"), unset("replaced"))},
	{name: "reports integration after the shell was replaced", word: "replaced: true", says: "shellIntegration: expected", hooks: inside("result", result("job/get").where(func(m *packet) bool {
		job, _ := m.object("result")["job"].(map[string]any)
		return job["shellIntegration"] == nil
	}), in("job", set("shellIntegration", "bash")))},
	{name: "reports shell integration although it is off", word: "shellIntegration", says: "shellIntegration: expected", hooks: inside("result", result("job/start").where(func(m *packet) bool {
		job, _ := m.object("result")["job"].(map[string]any)
		return job["shellIntegration"] == nil
	}), in("job", set("shellIntegration", "bash")))},
}

// ran changes the first result of a finished command.
func ran(change func(map[string]any)) func() hooks {
	return inside("result", result("job/exec").where(func(m *packet) bool { return m.object("result")["finished"] == true }), change)
}

// cutsOutput removes the line end from the first output that has one.
func cutsOutput() hooks {
	ends := func(m *packet) bool {
		out, _ := m.object("result")["output"].(string)
		return out != "" && out[len(out)-1] == '\n'
	}
	return inside("result", result("job/exec").where(ends), func(o map[string]any) {
		out := o["output"].(string)
		o["output"] = out[:len(out)-1]
	})()
}

// everyCommand changes a member of all commands, in all messages that report them.
func everyCommand(member string, v any) func() hooks {
	return always(func(m *packet) bool {
		found := false
		for _, part := range []any{m.v["params"], m.v["result"]} {
			each(part, func(o map[string]any) {
				if o["commandId"] != nil && o[member] != nil && wire.Show(o[member]) != wire.Show(v) {
					o[member] = v
					found = true
				}
			})
		}
		return found
	}, func(_ *faultProxy, m *packet) []*packet {
		m.touch()
		return []*packet{m}
	})
}

// pastOf changes the first history with several commands.
func pastOf(change func([]any) []any) func() hooks {
	return inside("result", result("job/history").where(func(m *packet) bool {
		list, _ := m.object("result")["commands"].([]any)
		if len(list) < 2 {
			return false
		}
		first, _ := list[0].(map[string]any)
		return first["exitCode"] != nil
	}), func(o map[string]any) { o["commands"] = change(o["commands"].([]any)) })
}

// losesSecond drops the second of two commands that are requested while the first is unanswered.
func losesSecond() hooks {
	open, done := 0, false
	return hooks{
		client: func(p *faultProxy, m *packet) []*packet {
			if m.method() != "job/exec" || done {
				return []*packet{m}
			}
			if open++; open < 2 {
				return []*packet{m}
			}
			done = true
			p.commit()
			return nil
		},
		server: func(_ *faultProxy, m *packet) []*packet {
			if m.askedFor != nil && m.askedFor.method == "job/exec" {
				open--
			}
			return []*packet{m}
		},
	}
}

// endEarly sends the end of a command before the last output that precedes it.
func endEarly() hooks {
	var held *packet
	done := false
	release := func(m *packet) []*packet {
		ms := []*packet{held, m}
		held = nil
		return ms
	}
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		switch {
		case !done && held == nil && chunks(1)(m):
			held = m
			return nil
		case held == nil:
			return []*packet{m}
		case chunks(1)(m):
			before := held
			held = m
			return []*packet{before}
		case event("commandFinished")(m) && m.job() == held.job():
			p.commit()
			done = true
			ms := []*packet{m, held}
			held = nil
			return ms
		case m.job() != "":
			return release(m)
		}
		return []*packet{m}
	}}
}

// tellsUnasked sends the end of the first command of a job that is subscribed only to output.
func tellsUnasked() hooks {
	return once(result("job/exec").where(func(m *packet) bool {
		return m.object("result")["output"] == "unheard\n"
	}), func(_ *faultProxy, m *packet) []*packet {
		o := m.object("result")
		outcome, _ := o["outcome"].(map[string]any)
		job, _ := outcome["job"].(map[string]any)
		e := packetOf(`{"jsonrpc":"2.0","method":"job/commandFinished"}`)
		e.v["params"] = map[string]any{
			"handle": job["handle"], "seq": wire.Number("1"), "commandId": o["commandId"], "origin": "exec", "exitCode": o["exitCode"], "startedAt": "2026-01-02T03:04:05Z",
			"endedAt": "2026-01-02T03:04:05Z", "durationMs": wire.Number("0"), "output": o["range"],
		}
		e.touch()
		return []*packet{m, e}
	})()
}
