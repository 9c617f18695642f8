//go:build linux

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"shelld.dev/shelld/conformance/internal/wire"
)

// effectFaults are faults in the server's actions: with subscriptions, with requests that it does not carry out
// as specified, and with its end.
var effectFaults = []fault{
	{name: "sends all events despite the events of initialize", says: "was not asked for", hooks: editRequest("initialize", func(o map[string]any) bool {
		return remove(o, "options", "events")
	})},
	{name: "sends all events despite the events of a start", says: "was not asked for", hooks: editRequest("job/start", func(o map[string]any) bool {
		_, had := o["events"]
		delete(o, "events")
		return had
	})},
	{name: "sends no events although all were requested", says: "answered before its job/started", hooks: editRequest("job/start", func(o map[string]any) bool {
		was := o["events"]
		o["events"] = []any{}
		return was == nil
	})},
	{name: "omits an event that initialize requests", says: "answered before its job/started|(did not|cannot) come", slow: true, hooks: editRequest("initialize", func(o map[string]any) bool {
		options, _ := o["options"].(map[string]any)
		list, _ := options["events"].([]any)
		if len(list) > 0 {
			options["events"] = list[:len(list)-1]
		}
		return len(list) > 0
	})},
	{name: "omits the last event that a start requests", says: "never came|(did not|cannot) come|was sent up to .* there are", slow: true, hooks: editRequest("job/start", func(o map[string]any) bool {
		list, _ := o["events"].([]any)
		if len(list) > 0 {
			o["events"] = list[:len(list)-1]
		}
		return len(list) > 0
	})},
	{name: "sends an event that a start did not request", says: "was not asked for", hooks: editRequest("job/start", func(o map[string]any) bool {
		list, ok := o["events"].([]any)
		o["events"] = append(list, "exited")
		return ok && !listed(list, "exited")
	})},
	{name: "sends events of a job/run that requested none", says: "was not asked for", hooks: editRequest("job/run", func(o map[string]any) bool {
		was := o["events"]
		o["events"] = []any{"output", "exited", "closed"}
		return was == nil
	})},
	{name: "keeps sending after job/unsubscribe", says: "was not asked for", hooks: pretends("{}", "job/unsubscribe")},
	{name: "ignores job/subscribe", says: "(did not|cannot) come|was not asked for|restart is", slow: true, hooks: pretends("{}", "job/subscribe")},
	{name: "subscribes to all events although some were requested", says: "was not asked for", hooks: editRequest("job/subscribe", func(o map[string]any) bool {
		was := o["events"]
		o["events"] = []any{"started", "output", "patternMatched", "watchRemoved", "stateChanged", "exited", "closed"}
		return was != nil
	})},
	{name: "answers job/subscribe after its first event", says: "restart is true|was not asked for|is job/output", renumber: true, hooks: behind(result("job/subscribe"), func(_, m *packet) bool { return m.job() != "" })},
	{name: "omits restart", says: "restart is false", hooks: inside("params", event("output").has("restart"), unset("restart"))},
	{name: "answers terminal queries for a client that answers them", says: "the output differs", hooks: editRequest("job/start", func(o map[string]any) bool {
		was := o["queries"]
		if was == "client" {
			o["queries"] = "keep"
		}
		return was == "client"
	})},
	{name: "stops answering terminal queries after job/unsubscribe", says: "/text: expected", hooks: func() hooks {
		h := asks(asking("job/unsubscribe"), func(_ *faultProxy, m *packet) []*packet {
			m.v["method"] = "job/subscribe"
			m.object("params")["events"] = []any{"watchRemoved"} // which never occurs
			m.touch()
			return []*packet{m}
		})()
		h.server = func(_ *faultProxy, m *packet) []*packet {
			if result("job/unsubscribe")(m) {
				delete(m.object("result"), "job")
				m.touch()
			}
			return []*packet{m}
		}
		return h
	}},
	{name: "adds restart to contiguous output", says: "restart is true", hooks: inside("params", chunks(1).where(unrestarted), set("restart", true))},
}

// moreEffects are the rest.
var moreEffects = []fault{
	{name: "reports output in an answer and never sends it", says: "was sent up to .* there are", hooks: inside("result", result().has("job"), in("job", in("streams", func(o map[string]any) {
		for _, s := range o {
			add("nextOffset", 1)(s.(map[string]any))
		}
	})))},
	{name: "returns different bytes in job/read and job/output", says: "job/read gave other bytes|/text: expected", hooks: inside("result", result("job/read").has("text").where(func(m *packet) bool { return m.object("result")["text"] != "" }), func(o map[string]any) {
		text := []byte(o["text"].(string))
		text[0] = 'a' + (text[0]+1)%26
		o["text"] = string(text)
	})},
	{name: "leaves a control character in plain output", word: `\\302\\233`, says: "/text: expected", hooks: inside("result", result("job/read").has("text").where(func(m *packet) bool {
		text, _ := m.object("result")["text"].(string)
		return strings.HasPrefix(text, "a31m")
	}), func(o map[string]any) { o["text"] = "a\u009b" + o["text"].(string)[1:] })},
	{name: "returns a wrong nextOffset of a read", says: "and nextOffset is", hooks: inside("result", result("job/read"), add("nextOffset", 1))},
	{name: "returns a wrong hasMore", says: "/hasMore: expected", hooks: inside("result", result("job/read").has("hasMore").where(func(m *packet) bool { return m.object("result")["hasMore"] == true }), set("hasMore", false))},
	{name: "reports a wrong reason of a wait's end", says: "/reason: expected|with the reason .* and its condition|by its condition|index is", hooks: inside("result", result().has("outcome"), in("outcome", func(o map[string]any) {
		if o["reason"] == "timeout" {
			o["reason"] = "exit"
		} else {
			o["reason"] = "timeout"
		}
	}))},
	{name: "reports a wrong index of a wait's end", says: "with the reason .* and its condition|conditions, and index is", hooks: inside("result", result().has("outcome"), in("outcome", func(o map[string]any) {
		if o["index"] == nil {
			o["index"] = wire.Number("0")
		} else {
			o["index"] = moreBy(o["index"], 1)
		}
	}))},
	{name: "omits the output of an outcome", says: "/output/.*/text: expected", hooks: inside("result", result().has("outcome"), in("outcome", func(o map[string]any) {
		each(o["output"], func(o map[string]any) {
			if o["text"] != nil {
				o["text"] = ""
			}
		})
	}))},
	{name: "truncates an outcome silently", says: "/truncated: expected|a member truncated", hooks: inside("result", result().where(func(m *packet) bool {
		found := false
		each(m.object("result")["outcome"], func(o map[string]any) { found = found || o["truncated"] != nil })
		return found
	}), func(o map[string]any) { each(o["outcome"], func(o map[string]any) { delete(o, "truncated") }) })},
	{name: "lists jobs in another order", says: "/jobs/0/.*: expected", hooks: inside("result", result("job/list").where(func(m *packet) bool {
		list, _ := m.object("result")["jobs"].([]any)
		return len(list) > 1
	}), func(o map[string]any) {
		list := o["jobs"].([]any)
		list[0], list[1] = list[1], list[0]
	})},
	{name: "lists an ended job as live", says: "there is one where it has ended", hooks: inside("result", result().where(func(m *packet) bool {
		found := false
		each(m.object("result"), func(o map[string]any) { found = found || o["status"] == "closed" })
		return found
	}), func(o map[string]any) {
		each(o, func(o map[string]any) {
			if o["status"] == "closed" {
				o["status"] = "running"
			}
		})
	})},
	{name: "writes input twice", says: "differs|/text: expected|/bytesWritten: expected", hooks: asks(asking("job/write").where(func(m *packet) bool { return m.object("params")["input"] != nil }), func(_ *faultProxy, m *packet) []*packet {
		o := m.object("params")
		text, _ := o["input"].(string)
		o["input"] = text + text
		m.touch()
		return []*packet{m}
	})},
	{name: "handles one request at a time", says: "expected .* (did not|cannot) come", slow: true, hooks: oneAtATime},
	{name: "stops reading while the client does not read", says: "(did not|cannot) come|to be gone within|never answered", slow: true, hooks: func() hooks { return hooks{lockstep: true} }},
	{name: "ignores cancellation", says: "expected an answer .* (did not|cannot) come|got the result", slow: true, hooks: asks(asking("$/cancelRequest"), func(*faultProxy, *packet) []*packet { return nil })},
	{name: "ignores acknowledgements", says: "no more output comes|(did not|cannot) come", slow: true, hooks: asks(asking("job/ack"), func(*faultProxy, *packet) []*packet { return nil })},
	{name: "kills with TERM alone", says: "/survivors: expected|/job/status: expected|/signal: expected", slow: true, hooks: editRequest("job/kill", func(o map[string]any) bool {
		was := o["force"]
		o["force"] = false
		return was == nil
	})},
	{name: "reports a kill without killing", says: "to be gone within|(did not|cannot) come|/killed|/status|is told as|expected", slow: true, hooks: pretends(`{"signals":[],"killed":[],"survivors":[],"alreadyClosed":false,"job":{"handle":1,"status":"closed","exit":{"code":null,"signal":"SIGTERM","coreDumped":false,"reason":"killed"},"streams":{"stdout":{"nextOffset":0},"stderr":{"nextOffset":0}}}}`, "job/kill")},
	{name: "leaves a job's process running", says: "has outlived the server", slow: true, hooks: leaveProcess},
	{name: "reports different pids in answer and event", says: notSent + "the pid of job .* is .* and was", hooks: inside("result", result("job/start"), in("job", add("pid", 1)))},
	{name: "leaks its stdout to another process", says: "something that it started holds its stdout open", hooks: func() hooks {
		return hooks{status: func(p *faultProxy, status int) int {
			p.commit()
			c := sleeper()
			c.Stdout = os.Stdout
			if err := c.Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			return status
		}}
	}},
	{name: "crashes", says: "the server has ended \\(exit status 139\\)", hooks: once(result(), func(p *faultProxy, m *packet) []*packet {
		p.die(139)
		return nil
	})},
	{name: "crashes after its last message", says: "the server has ended \\(exit status 2\\)|got exit status 2|never answered|never came|is over and its output", hooks: once(result(), func(p *faultProxy, m *packet) []*packet {
		p.tell([]*packet{m})
		p.die(2)
		return nil
	})},
	{name: "exits with 0 without shutdown", says: "expected the server's exit status 1.*got exit status 0", hooks: changedStatus(false, 0)},
	{name: "exits with 1 after shutdown", says: "expected the server's exit status 0.*got exit status 1", hooks: changedStatus(true, 1)},
	{name: "ignores the end of stdin", says: "did not end within|the server's end", slow: true, hooks: func() hooks { return hooks{deaf: true} }},
	{name: "does not exit at the end", says: "did not end within|the server's end", slow: true, hooks: func() hooks {
		return hooks{status: func(p *faultProxy, _ int) int { p.commit(); select {} }}
	}},
	{name: "logs a secret", says: "has what was written as a secret", hooks: func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			if o := m.object("params"); m.method() == "job/write" && o["secret"] == true {
				p.commit()
				fmt.Fprintln(os.Stderr, "writing", wire.Show(o["input"]))
			}
			return []*packet{m}
		}}
	}},
	{name: "sends a secret in an event", says: "has what was written as a secret", hooks: func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			if o := m.object("params"); m.method() == "job/write" && o["secret"] == true {
				p.commit()
				log := packetOf(`{"jsonrpc":"2.0","method":"log/message","params":{"level":"info"}}`)
				log.v["params"].(map[string]any)["text"] = "writing " + wire.Show(o["input"])
				log.back = true
				return []*packet{log, m}
			}
			return []*packet{m}
		}}
	}},
	{name: "drops a screen request at the removal of its job", word: "job/remove", says: "expected a result for", hooks: edit(result("job/screen"), func(v map[string]any) {
		delete(v, "result")
		v["error"] = map[string]any{"code": wire.Number("-32010"), "message": "the job is gone", "data": map[string]any{"kind": "jobNotFound", "jobs": []any{}}}
	})},
	{name: "reports the removal of a job without it", says: "expected an error|/jobs", slow: true, hooks: pretends("{}", "job/remove")},
	{name: "reports a signal without sending it", says: "(did not|cannot) come|differs|no more output comes", slow: true, hooks: pretends("{}", "job/signal")},
	{name: "reports a resize without it", says: "(did not|cannot) come|: expected", slow: true, hooks: pretends("{}", "job/resize")},
	{name: "reports the end of a watch without it", says: "expected an error for .* got the result|job/patternMatched", slow: true, hooks: pretends("{}", "job/unwatch")},
	{name: "answers shutdown before the jobs have ended", says: "to be gone within", hooks: hastyShutdown},
	{name: "ignores the notification exit", says: "the server's end", slow: true, hooks: asks(asking("exit"), func(*faultProxy, *packet) []*packet { return nil })},
	{name: "ignores termination signals", says: "the server's end", slow: true, hooks: func() hooks { return hooks{calm: true} }},
	{name: "counts handles from 2", says: "there is no job 2 yet", hooks: otherHandles},
	{name: "does not move the read cursor", says: "text: expected|offset: expected|base64: expected", hooks: editRequest("job/read", func(o map[string]any) bool {
		was := o["offset"]
		o["offset"] = wire.Number("0")
		return was == nil
	})},
	{name: "omits the hint", says: "hint", hooks: inside("result", result("job/run").has("hint"), unset("hint"))},
	{name: "reports incomplete output as complete", says: "/outputComplete: expected", slow: true, hooks: inside("result", result("job/run").where(func(m *packet) bool { return m.object("result")["outputComplete"] == false }), set("outputComplete", true))},
	{name: "omits that a run has timed out", says: "/timedOut: expected", slow: true, hooks: inside("result", result("job/run").where(func(m *packet) bool { return m.object("result")["timedOut"] == true }), set("timedOut", false))},
	{name: "truncates the output of a run silently", says: "truncated", hooks: inside("result", result("job/run").has("truncated"), unset("truncated"))},
	{name: "omits the place of a truncation mark", says: "/mark: expected", word: "mark: {", hooks: inside("result", result("job/run").has("truncated"), func(o map[string]any) {
		cut, _ := o["truncated"].(map[string]any)
		for _, stream := range cut {
			delete(stream.(map[string]any), "mark")
		}
	})},
	{name: "omits the text of a run if its bytes are not UTF-8", says: "/stdout: expected", word: "stdoutBase64", hooks: inside("result", result("job/run").has("stdoutBase64").has("stdout"), unset("stdout"))},
	{name: "runs a shell for a job/run without command", says: "expected an error for .* got the result", word: "job/run {}", hooks: editRequest("job/run", func(o map[string]any) bool {
		if o["command"] != nil || o["argv"] != nil {
			return false
		}
		o["command"] = ""
		return true
	})},
	{name: "stores no output", says: "/stateDirectory: expected|/exit/code: expected|differs|/stdout: expected|stdout.txt|info.json", word: "stdout.txt", hooks: editRequest("initialize", func(o map[string]any) bool {
		options, _ := o["options"].(map[string]any)
		if options == nil {
			options = map[string]any{}
			o["options"] = options
		}
		options["persist"] = map[string]any{"mode": "memory"}
		return true
	})},
}

func listed(list []any, name string) bool {
	for _, v := range list {
		if v == name {
			return true
		}
	}
	return false
}

// remove deletes a member of a member.
func remove(o map[string]any, outer, inner string) bool {
	within, _ := o[outer].(map[string]any)
	_, had := within[inner]
	delete(within, inner)
	return had
}

// editRequest changes a request before the server receives it; change reports whether that is a fault.
func editRequest(method string, change func(params map[string]any) bool) func() hooks {
	return func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			if m.method() != method {
				return []*packet{m}
			}
			c := m.copy()
			if o, ok := c.v["params"].(map[string]any); ok && change(o) {
				p.commit()
				c.touch()
				return []*packet{c}
			}
			return []*packet{m}
		}}
	}
}

// hastyShutdown answers the request before the server executes it.
func hastyShutdown() hooks {
	return hooks{
		client: func(p *faultProxy, m *packet) []*packet {
			if m.method() != "shutdown" || m.v["id"] == nil {
				return []*packet{m}
			}
			p.commit()
			a := packetOf(`{"jsonrpc":"2.0","result":{}}`)
			a.v["id"] = m.v["id"]
			a.back = true
			return []*packet{a, m}
		},
		server: func(p *faultProxy, m *packet) []*packet {
			if m.v["method"] == nil && m.askedFor == nil && m.v["id"] != nil {
				return nil // the second answer
			}
			return []*packet{m}
		},
	}
}

// otherHandles shifts the server's handles by one.
func otherHandles() hooks {
	move := func(v any, n int64) (moved bool) {
		each(v, func(o map[string]any) {
			if isNumber(o["handle"]) {
				add("handle", n)(o)
				moved = true
			}
		})
		return moved
	}
	return hooks{
		client: func(p *faultProxy, m *packet) []*packet {
			c := m.copy()
			if move(c.v["params"], -1) {
				c.touch()
			}
			return []*packet{c}
		},
		server: func(p *faultProxy, m *packet) []*packet {
			if move(m.v, 1) {
				p.commit()
				m.touch()
			}
			return []*packet{m}
		},
	}
}

// oneAtATime delays each request until the previous one is answered.
func oneAtATime() hooks {
	var queue []*packet
	busy := ""
	return hooks{
		client: func(p *faultProxy, m *packet) []*packet {
			id := m.v["id"]
			switch {
			case id == nil:
				return []*packet{m}
			case busy != "":
				p.commit()
				queue = append(queue, m)
				return nil
			}
			busy = wire.Show(id)
			return []*packet{m}
		},
		server: func(p *faultProxy, m *packet) []*packet {
			if m.v["method"] != nil || wire.Show(m.v["id"]) != busy {
				return []*packet{m}
			}
			busy = ""
			if len(queue) > 0 {
				next := queue[0]
				queue = queue[1:]
				busy = wire.Show(next.v["id"])
				p.write(p.stdin, []*packet{next})
			}
			return []*packet{m}
		},
	}
}

func sleeper() *exec.Cmd {
	c := exec.Command("sleep", "60")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c
}

// leaveProcess replaces a job's process by one that outlives the server.
func leaveProcess() hooks {
	var real, other any
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		if job, _ := m.object("params")["job"].(map[string]any); real == nil && event("started")(m) {
			c := sleeper()
			if err := c.Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return []*packet{m}
			}
			p.commit()
			real, other = job["pid"], wire.Number(fmt.Sprint(c.Process.Pid))
		}
		each(m.v, func(o map[string]any) {
			if real != nil && o["pid"] == real {
				o["pid"] = other
				m.touch()
			}
		})
		return []*packet{m}
	}}
}

// changedStatus changes the exit status, if shutdown was answered or if it was not.
func changedStatus(answered bool, status int) func() hooks {
	return func() hooks {
		return hooks{status: func(p *faultProxy, was int) int {
			if p.done != answered {
				return was
			}
			p.commit()
			return status
		}}
	}
}
