//go:build linux

package conformance

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/conformance/internal/wire"
)

// eventFaults are faults with events: wrong order, wrong numbers, lost events.
var eventFaults = []fault{
	{name: "loses an event", says: "seq of job .* is .* after", hooks: drop(event("output", "patternMatched", "stateChanged"))},
	{name: "repeats an event", says: "seq of job .* is .* after", hooks: repeat(event("started", "output", "patternMatched", "stateChanged", "exited"))},
	{name: "swaps two events", says: "seq of job .* is .* after", hooks: behind(event(), sameJob())},
	{name: "skips a seq", says: "seq of job .* is .* after", hooks: shiftSeq(1)},
	{name: "repeats a seq", says: "seq of job .* is .* after", hooks: shiftSeq(-1)},
	{name: "counts seq from 0", says: "seq.*must be >= 1", hooks: always(event(), func(_ *faultProxy, m *packet) []*packet {
		add("seq", -1)(m.object("params"))
		m.touch()
		return []*packet{m}
	})},
	{name: "counts seq over all jobs", says: "seq of job .* is .* after", hooks: seqOverAll},

	{name: "loses job/started", says: "answered before its job/started|the first event of job .* not job/started", renumber: true, hooks: drop(event("started"))},
	{name: "sends job/started after the next event", says: "the first event of job .* not job/started|answered before its job/started|job/started is the first event", renumber: true, hooks: behind(event("started"), sameJob())},
	{name: "sends job/started after the answer", says: "answered before its job/started", renumber: true, hooks: behind(event("started"), func(held, m *packet) bool {
		return m.v["id"] != nil && wire.Show(m.v["id"]) == wire.Show(held.object("params")["requestId"])
	})},
	{name: "sends job/started twice", says: "job/started is the first event", renumber: true, hooks: repeat(event("started"))},
	{name: "names another request in job/started", says: "no start that is in flight has the id", hooks: inside("params", event("started"), set("requestId", wire.Number("1")))},
	{name: "spells the request's id differently in job/started", says: "no start that is in flight has the id", hooks: inside("params", event("started"), func(o map[string]any) { o["requestId"] = wire.Show(o["requestId"]) + " " })},
	{name: "reports another job in job/started", says: "tells of job", hooks: inside("params", event("started"), in("job", add("handle", 1)))},

	{name: "loses output", says: "goes on at .* and this chunk begins at|was sent up to .* there are|no more output comes", renumber: true, hooks: drop(chunks(1))},
	{name: "loses the end of the output before job/exited", says: "was sent up to .* there are|no more output comes", renumber: true, hooks: loseTail},
	{name: "loses output without a jump in the offsets", says: "the output differs|was sent up to .* there are|job/read gave other bytes", renumber: true, hooks: splice(func(o map[string]any) []byte { return chunk(o)[1:] })},
	{name: "loses output and reports a gap", says: "the output differs|no more output comes|/gap: expected no such member|expected 0 of job/output", renumber: true, hooks: pretendGap},
	{name: "loses bytes within a chunk", says: "bytes is .* and the chunk has", hooks: inside("params", chunks(2), func(o map[string]any) { recode(o, chunk(o)[1:]) })},
	{name: "changes a byte of the output", says: "the output differs|job/read gave other bytes|/text: expected", hooks: inside("params", chunks(1), func(o map[string]any) {
		b := chunk(o)
		n := o["bytes"]
		b[0] = 'a' + (b[0]+1)%26
		recode(o, b)
		o["bytes"] = n
	})},
	{name: "replaces invalid UTF-8 by U+FFFD", says: "bytes is .* and the chunk has", hooks: inside("params", chunks(1).has("base64").where(broken), func(o map[string]any) {
		b := []byte(strings.ToValidUTF8(string(chunk(o)), "\ufffd"))
		delete(o, "base64")
		o["text"] = string(b)
	})},
	{name: "repeats output", says: "goes on at .* and this chunk begins at", renumber: true, hooks: repeat(chunks(1))},
	{name: "swaps two chunks of output", says: "goes on at .* and this chunk begins at", renumber: true, hooks: behind(chunks(1), sameStream)},
	{name: "reports an offset one too high", says: "goes on at .* and this chunk begins at", hooks: inside("params", chunks(1).where(unrestarted), add("offset", 1))},
	{name: "counts offsets in characters", says: "goes on at .* and this chunk begins at", hooks: runeOffsets},
	{name: "reports bytes one too high", says: "bytes is .* and the chunk has", hooks: inside("params", chunks(1), add("bytes", 1))},
	{name: "splits a character between two chunks", says: "half of the character", renumber: true, hooks: once(chunks(2).where(wide), splitRune)},
	{name: "sends text as base64", says: "come as text, where base64 was not asked for", hooks: inside("params", chunks(1).has("text").where(unchosen), func(o map[string]any) {
		o["base64"] = base64.StdEncoding.EncodeToString(chunk(o))
		delete(o, "text")
	})},
	{name: "sends text although base64 was requested", says: "comes as text, where base64 was asked for", hooks: inside("params", chunks(1).has("base64").where(func(m *packet) bool { return utf8.Valid(chunk(m.object("params"))) }), func(o map[string]any) {
		o["text"] = string(chunk(o))
		delete(o, "base64")
	})},
	{name: "sends a chunk that is too long", says: "/bytes: must be <= 65536", renumber: true, hooks: joinChunks},
	{name: "sends output in another stream", says: "goes on at .* and this chunk begins at|was sent up to .* there are|/stream: expected", hooks: inside("params", chunks(1).where(func(m *packet) bool { return m.object("params")["stream"] == "stdout" }), set("stream", "stderr"))},
	{name: "sends output of another job", says: "there is no job .* yet|seq of job .* is .* after", hooks: inside("params", chunks(1), add("handle", 1))},
	{name: "omits a gap", says: "goes on at .* and this chunk begins at|/gap: expected", hooks: inside("params", event("output").has("gap"), unset("gap"))},
	{name: "reports a gap one byte too short", says: "the gap from", hooks: inside("params", event("output").has("gap"), in("gap", add("to", -1)))},
	{name: "holds output back until the job ends", says: "(did not|cannot) come", slow: true, hooks: holdOutput},

	{name: "sends job/exited before the last output", says: "after its job/exited is late", renumber: true, hooks: sendEarly("exited", false)},
	{name: "sends job/exited before the last output, and marks that late", says: "job/output|output .*late|the output differs", slow: true, renumber: true, hooks: sendEarly("exited", true)},
	{name: "does not mark late output", says: "after its job/exited is late|/late: expected", hooks: inside("params", event("output").has("late"), unset("late"))},
	{name: "marks output late that is not", says: "before its job/exited is not late", hooks: inside("params", chunks(1).where(func(m *packet) bool { return m.object("params")["late"] == nil }), set("late", true))},
	{name: "delays job/exited until the job is closed", says: "expected job/exited as here|comes before its job/exited|before its job/exited is not late", slow: true, renumber: true, hooks: behind(event("exited"), sameJob("closed"))},
	{name: "loses job/exited", says: "comes before its job/exited|job/exited of job .* never came|expected job/exited", renumber: true, hooks: drop(event("exited"))},
	{name: "sends job/exited twice", says: "job/exited of job .* comes once", renumber: true, hooks: repeat(event("exited"))},
	{name: "sends job/closed before job/exited", says: "job/closed of job .* comes before its job/exited", renumber: true, hooks: behind(event("exited"), sameJob("closed"))},
	{name: "sends job/closed before the last output", says: "nothing of job .* comes after its job/closed|is over and its output|comes before its job/exited", renumber: true, hooks: sendEarly("closed", false)},
	{name: "sends job/closed while a process of the job is alive", says: "nothing of job .* comes after its job/closed|cannot come any more: job .* is closed", renumber: true, hooks: closedEarly},
	{name: "loses job/closed", says: "job/closed of job .* never came|expected job/closed as here", slow: true, renumber: true, hooks: drop(event("closed"))},
	{name: "sends job/closed twice", says: "nothing of job .* comes after its job/closed", renumber: true, hooks: repeat(event("closed"))},
	{name: "sends an event after job/closed", says: "nothing of job .* comes after its job/closed", renumber: true, hooks: once(event("closed"), func(_ *faultProxy, m *packet) []*packet {
		more := m.copy()
		more.v["method"] = "job/stateChanged"
		more.v["params"] = map[string]any{"handle": m.object("params")["handle"], "seq": moreBy(m.object("params")["seq"], 1), "changed": []any{"bell"}, "bell": wire.Number("1")}
		more.touch()
		return []*packet{m, more}
	})},
	{name: "reports a wrong exit code", says: "/exit/code: expected|the exit of job .* is told as", slow: true, hooks: inside("params", event("exited"), in("exit", func(o map[string]any) {
		if o["code"] != nil {
			o["code"] = moreBy(o["code"], 1)
		} else {
			o["code"] = wire.Number("0")
		}
	}))},
	{name: "reports a wrong exit reason", says: "/exit/reason: expected|the exit of job .* is told as", slow: true, hooks: inside("params", event("exited"), in("exit", func(o map[string]any) {
		o["reason"] = map[string]string{"exited": "killed", "killed": "signaled"}[o["reason"].(string)]
		if o["reason"] == "" {
			o["reason"] = "exited"
		}
	}))},
	{name: "reports different exits in answer and event", says: "the exit of job .* is told as|/exit/code: expected", hooks: inside("result", result().has("job").where(func(m *packet) bool {
		job, _ := m.object("result")["job"].(map[string]any)
		return job["exit"] != nil
	}), in("job", in("exit", func(o map[string]any) { o["code"], o["signal"] = wire.Number("77"), nil })))},
	{name: "omits background processes", says: "/background: expected", slow: true, hooks: inside("params", event("exited").where(func(m *packet) bool {
		list, _ := m.object("params")["background"].([]any)
		return len(list) > 0
	}), set("background", []any{}))},
	{name: "omits background processes in job/get", says: "/background: expected", slow: true, hooks: inside("result", result("job/get").where(func(m *packet) bool {
		job, _ := m.object("result")["job"].(map[string]any)
		list, _ := job["background"].([]any)
		return len(list) > 0
	}), in("job", set("background", []any{})))},
	{name: "omits job/started after a job/run that left processes", says: "first event of job .* not job/started|job/started is the first event|expected job/started", slow: true, renumber: true, hooks: drop(event("started").where(func(m *packet) bool {
		job, _ := m.object("params")["job"].(map[string]any)
		return job["status"] == "exited"
	}))},
	{name: "omits the signal that stopped a job", says: "/signal: expected", slow: true, hooks: inside("params", event("stateChanged").has("signal"), unset("signal"))},

	{name: "reports a match before its output", says: "speaks of bytes up to .* was sent up to", renumber: true, hooks: behind(event("output"), sameJob("patternMatched"))},
	{name: "loses a match", says: "job/patternMatched", slow: true, renumber: true, hooks: drop(event("patternMatched"))},
	{name: "repeats a match", says: "do not overlap", renumber: true, hooks: repeat(event("patternMatched"))},
	{name: "reports a match one byte too far", says: "/offset: expected", slow: true, hooks: inside("params", event("patternMatched"), add("offset", 1))},
	{name: "reports a wrong text of a match", says: "/match: expected", slow: true, hooks: inside("params", event("patternMatched"), set("match", "zzz"))},
	{name: "reports another watch", says: "/watchId: expected", slow: true, hooks: inside("params", event("patternMatched"), add("watchId", 1))},
	{name: "loses a state change", says: "job/stateChanged", slow: true, renumber: true, hooks: drop(event("stateChanged"))},
	{name: "loses a screen change", word: "screenChanged", says: "job/screenChanged", slow: true, renumber: true, hooks: drop(event("screenChanged"))},
	{name: "repeats a screen change", word: "screenChanged", says: "tells the revision .* after", renumber: true, hooks: repeat(event("screenChanged"))},
	{name: "reports a screen change before its output", word: "screenChanged", says: "job/screenChanged of job .* speaks of bytes up to", renumber: true, hooks: behind(event("output"), sameJob("screenChanged"))},
	{name: "sends an unrequested screen change", says: "was not asked for", renumber: true, hooks: once(event("exited"), func(_ *faultProxy, m *packet) []*packet {
		more := m.copy()
		more.v["method"] = "job/screenChanged"
		more.v["params"] = map[string]any{"handle": m.object("params")["handle"], "seq": m.object("params")["seq"], "revision": wire.Number("1"), "offset": wire.Number("0")}
		more.touch()
		return []*packet{more, m}
	})},
	{name: "omits the screen position of a match", says: "/row: expected", slow: true, hooks: inside("params", event("patternMatched").has("row"), func(o map[string]any) { delete(o, "row"); delete(o, "col") })},
	{name: "reports a state change without its value", says: notSent + "changed is .* and the member", hooks: inside("params", event("stateChanged"), func(o map[string]any) {
		list, _ := o["changed"].([]any)
		delete(o, list[0].(string))
	})},
	{name: "reports an unchanged value", says: notSent + "changed is .* and the member", hooks: inside("params", event("stateChanged").where(func(m *packet) bool { return m.object("params")["bell"] == nil }), set("bell", wire.Number("1")))},
}

// chunks picks output with at least that many bytes.
func chunks(least int64) which {
	return event("output").where(func(m *packet) bool { n, _ := wire.Int(m.object("params")["bytes"]); return n >= least })
}

// chunk returns the bytes in an output's params.
func chunk(o map[string]any) []byte {
	b, _ := wire.OutputBytes(o)
	return b
}

// recode replaces the bytes of a chunk; their number stays.
func recode(o map[string]any, b []byte) {
	if o["text"] != nil && utf8.Valid(b) {
		o["text"] = string(b)
		return
	}
	delete(o, "text")
	o["base64"] = base64.StdEncoding.EncodeToString(b)
}

// wide picks chunks with a multibyte character.
func wide(m *packet) bool {
	text, _ := m.object("params")["text"].(string)
	return len([]rune(text)) < len(text)
}

func broken(m *packet) bool { return !utf8.Valid(chunk(m.object("params"))) }

func unrestarted(m *packet) bool { return m.object("params")["restart"] == nil }

func unchosen(m *packet) bool { return m.object("params")["restart"] == nil }

// shiftSeq adds n to seq from a job's second event on.
func shiftSeq(n int64) func() hooks {
	return always(event().where(func(m *packet) bool { seq, _ := wire.Int(m.object("params")["seq"]); return seq > 1 }), func(_ *faultProxy, m *packet) []*packet {
		add("seq", n)(m.object("params"))
		m.touch()
		return []*packet{m}
	})
}

// seqOverAll uses one counter for all jobs. That is a fault as soon as there is a second job.
func seqOverAll() hooks {
	jobs, n := map[string]bool{}, int64(0)
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		if m.job() != "" {
			n++
			if jobs[m.job()] = true; len(jobs) > 1 {
				p.commit()
			}
			m.object("params")["seq"] = moreBy(wire.Number("0"), n)
			m.touch()
		}
		return []*packet{m}
	}}
}

// loseTail delays each chunk until it is known whether another follows before the exit, and drops the last.
func loseTail() hooks {
	held := map[string]*packet{}
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		before := held[m.job()]
		delete(held, m.job())
		switch {
		case m.job() == "":
			return []*packet{m}
		case m.method() == "job/exited" && before != nil:
			p.commit()
			return []*packet{m}
		case chunks(1)(m):
			held[m.job()] = m
			m = nil
		}
		var ms []*packet
		for _, m := range []*packet{before, m} {
			if m != nil {
				ms = append(ms, m)
			}
		}
		return ms
	}}
}

// splice cuts the first chunk of several bytes, and moves all later positions.
func splice(cut func(o map[string]any) []byte) func() hooks {
	return func() hooks {
		job, stream, less := "", "", int64(0)
		return hooks{server: func(p *faultProxy, m *packet) []*packet {
			o := m.object("params")
			if less == 0 && chunks(3)(m) {
				p.commit()
				b := cut(o)
				n, _ := wire.Int(o["bytes"])
				job, stream, less = m.job(), o["stream"].(string), n-int64(len(b))
				recode(o, b)
				o["bytes"] = moreBy(o["bytes"], -less)
				m.touch()
				return []*packet{m}
			}
			if less == 0 {
				return []*packet{m}
			}
			if m.job() == job && o["stream"] == stream && o["offset"] != nil {
				add("offset", -less)(o)
				m.touch()
			}
			each(m.v["result"], func(o map[string]any) {
				if inner, ok := o[stream].(map[string]any); ok && inner["nextOffset"] != nil {
					add("nextOffset", -less)(inner)
					m.touch()
				}
			})
			return []*packet{m}
		}}
	}
}

// pretendGap drops a chunk, and reports a gap with the next.
func pretendGap() hooks {
	var lost *packet
	done := false
	return hooks{
		server: func(p *faultProxy, m *packet) []*packet {
			switch {
			case lost == nil && chunks(1)(m):
				lost = m
				return nil
			case lost != nil && !done && sameStream(lost, m):
				p.commit()
				done = true
				m.object("params")["gap"] = map[string]any{"from": lost.object("params")["offset"], "to": m.object("params")["offset"]}
				m.touch()
			}
			return []*packet{m}
		},
	}
}

// splitRune splits a chunk inside its first multibyte character.
func splitRune(_ *faultProxy, m *packet) []*packet {
	o, second := m.object("params"), m.copy()
	b := chunk(o)
	i := strings.IndexFunc(string(b), func(r rune) bool { return r >= utf8.RuneSelf }) + 1
	n := second.object("params")
	n["offset"], n["bytes"] = moreBy(n["offset"], int64(i)), moreBy(n["bytes"], -int64(i))
	recode(o, b[:i])
	o["bytes"] = wire.Number(strconv.Itoa(i))
	recode(n, b[i:])
	m.touch()
	second.touch()
	return []*packet{m, second}
}

// runeOffsets counts the characters of text instead of its bytes.
func runeOffsets() hooks {
	less := map[string]int64{}
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		o := m.object("params")
		if !event("output")(m) {
			return []*packet{m}
		}
		stream, _ := o["stream"].(string)
		key := m.job() + stream
		if less[key] > 0 {
			p.commit()
			add("offset", -less[key])(o)
			m.touch()
		}
		text, _ := o["text"].(string)
		less[key] += int64(len(text) - len([]rune(text)))
		return []*packet{m}
	}}
}

// joinChunks joins chunks until they exceed the maximum length. Small chunks are joined too, because their size
// depends on the speed of the job and the load of the machine.
func joinChunks() hooks {
	var held []*packet
	bytes, done := int64(0), false
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		if done || !chunks(4096)(m) || len(held) > 0 && !sameStream(held[0], m) {
			ms := append(held, m)
			held, bytes = nil, 0
			return ms
		}
		n, _ := wire.Int(m.object("params")["bytes"])
		held, bytes = append(held, m), bytes+n
		if bytes <= 65536 {
			return nil
		}
		p.commit()
		done = true
		first := held[0]
		o := first.object("params")
		var b []byte
		for _, m := range held {
			b = append(b, chunk(m.object("params"))...)
		}
		recode(o, b)
		o["bytes"] = wire.Number(strconv.Itoa(len(b)))
		first.touch()
		held = nil
		return []*packet{first}
	}}
}

// holdOutput delays output until the job has exited.
func holdOutput() hooks {
	held := map[string][]*packet{}
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		switch {
		case m.job() == "":
			return []*packet{m}
		case m.method() == "job/started":
			return []*packet{m}
		case m.method() != "job/exited" && m.method() != "job/closed":
			p.commit()
			held[m.job()] = append(held[m.job()], m)
			return nil
		}
		ms := append(held[m.job()], m)
		delete(held, m.job())
		return ms
	}}
}

// sendEarly sends the event of this name before the last chunk that precedes it; late marks this chunk as late.
func sendEarly(name string, late bool) func() hooks {
	return func() hooks {
		var held []*packet
		done := false
		return hooks{server: func(p *faultProxy, m *packet) []*packet {
			switch {
			case !done && chunks(1)(m) && (held == nil || held[0].job() == m.job()):
				ms := held
				held = []*packet{m}
				return ms
			case held != nil && held[0].job() == m.job() && (m.method() == "job/exited" || m.method() == "job/closed"):
				ms := held
				held = nil
				if m.method() != "job/"+name {
					if name == "closed" {
						held = append(ms, m)
						return nil
					}
					return append(ms, m)
				}
				p.commit()
				done = true
				if late {
					ms[0].object("params")["late"] = true
					ms[0].touch()
				}
				return append([]*packet{m}, ms...)
			case held != nil && held[0].job() == m.job():
				ms := append(held, m)
				held = nil
				return ms
			}
			return []*packet{m}
		}}
	}
}

// closedEarly sends job/closed directly after job/exited, although a background process is alive.
func closedEarly() hooks {
	over := ""
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		list, _ := m.object("params")["background"].([]any)
		switch {
		case over == "" && event("exited")(m) && len(list) > 0:
			p.commit()
			over = m.job()
			closed := packetOf(`{"jsonrpc":"2.0","method":"job/closed","params":{}}`)
			closed.v["params"] = map[string]any{"handle": m.object("params")["handle"], "seq": wire.Number("1")}
			return []*packet{m, closed}
		case over != "" && m.job() == over && m.method() == "job/closed":
			return nil
		}
		return []*packet{m}
	}}
}
