//go:build linux

package conformance

import (
	"encoding/base64"
	"unicode/utf8"

	"shelld.dev/shelld/conformance/internal/wire"
)

// sessionFaults are faults of a server with sessions that clients come back to. Each connection has a proxy of its own. So
// the proxy often asks the server for something else than the client does, and tells the client what it has asked for.
//
// A proxy cannot make a server carry out two answers of two clients to one question: a server asks only the client whose
// request it is.
var sessionFaults = []fault{
	{name: "sends a returning client output from one byte too early", says: "offset: expected|bytes|differs", hooks: resumes(func(o map[string]any) bool { return shift(o, -1) })},
	{name: "sends a returning client output from one byte too late", says: "offset: expected|bytes|differs|no more output comes", slow: true, hooks: resumes(func(o map[string]any) bool { return shift(o, 1) })},
	{name: "sends a returning client all output", says: "offset: expected|bytes|differs", hooks: resumes(func(o map[string]any) bool {
		at, ok := wire.Int(o["from"])
		o["from"] = "start"
		return ok && at > 0
	})},
	{name: "sends a returning client the events that it has", says: "/n: expected|n of job", hooks: resumes(func(o map[string]any) bool {
		at, ok := wire.Int(o["after"])
		o["after"] = moreBy(o["after"], -1)
		return ok && at > 1
	})},
	{name: "leaves out the first event that a returning client misses", says: "was left out|/n: expected|next", slow: true, hooks: resumes(func(o map[string]any) bool {
		_, ok := wire.Int(o["after"])
		o["after"] = moreBy(o["after"], 1)
		return ok
	})},
	{name: "splits a character at the seam", says: "half of the character", renumber: true, hooks: afterReturn(splits, func(_ *faultProxy, m *packet) []*packet {
		data, _ := wire.OutputBytes(m.object("params"))
		return []*packet{m.piece(data, 0, 1), m.piece(data, 1, len(data))}
	})},
	{name: "sends a returning client `job/exited` twice", says: "comes once|n of job", renumber: true, hooks: afterReturn(event("exited"), func(_ *faultProxy, m *packet) []*packet {
		return []*packet{m, m.copy()}
	})},
	{name: "sends a returning client no `job/exited`", says: "job/exited|was left out", slow: true, renumber: true, hooks: afterReturn(event("exited"), func(*faultProxy, *packet) []*packet { return nil })},
	{name: "sends a returning client `job/exited` before the output", says: "next|late|job/output", renumber: true, hooks: exitFirst},
	{name: "sends a returning client a match again", says: "n of job", renumber: true, hooks: afterReturn(event("patternMatched"), func(_ *faultProxy, m *packet) []*packet {
		return []*packet{m, m.copy()}
	})},
	{name: "counts `n` per connection", says: "/n: expected|n of job|is told as|has n|the last event", hooks: func() hooks {
		last := map[string]int64{}
		return hooks{server: func(p *faultProxy, m *packet) []*packet {
			o := m.object("params")
			if m.job() == "" || o["n"] == nil {
				return []*packet{m}
			}
			p.commit()
			last[m.job()]++
			o["n"] = moreBy(nil, last[m.job()])
			m.touch()
			return []*packet{m}
		}}
	}},
	{name: "sends events without `n`", says: "has no n|has n|/n: expected", hooks: inside("params", event("exited", "closed", "patternMatched").has("n"), unset("n"))},
	{name: "does not report a gap to a returning client", says: "gap", slow: true, hooks: afterReturn(event("output").has("gap"), func(_ *faultProxy, m *packet) []*packet {
		delete(m.object("params"), "gap")
		m.touch()
		return []*packet{m}
	})},
	{name: "carries out a start with a known key", says: "replayed|handle|an error for", hooks: asksFor(keyed("job/start", "job/run"), unset("key"), nil)},
	{name: "types input with a known key", says: "replayed|differs|an error for", hooks: asksFor(keyed("job/write"), unset("key"), nil)},
	{name: "answers with the answer of another key", says: "replayed|handle|an error|a result for", hooks: asksFor(keyed("job/start"), set("key", "all"), nil)},
	{name: "gives no `replayed`", says: "replayed", hooks: inside("result", result().has("replayed"), unset("replayed"))},
	{name: "ends jobs as soon as their client is gone", says: "expected", slow: true, hooks: asksFor(asking("job/start"), set("detachGraceMs", wire.Number("0")), in("job", set("detachGraceMs", wire.Number("60000"))))},
	{name: "never ends jobs whose client is gone", says: "jobs|job/exited", slow: true, hooks: asksFor(asking("job/start"), set("onDetach", "keep"), in("job", set("onDetach", "end")))},
	{name: "ends jobs although their client has come back", says: "endsAt|reason|attached|job/exited", slow: true, hooks: strangers("returned")},
	{name: "counts the lease while a client is attached", says: "reason|status", slow: true, hooks: asksFor(asking("job/start").where(isKept), set("killAfterMs", wire.Number("400")), in("job", unset("killAfterMs")))},
	{name: "ends kept jobs at `shutdown`", says: "status|expected|jobs", slow: true, hooks: asksFor(asking("job/start").where(isKept), set("onDetach", "end"), in("job", set("onDetach", "keep")))},
	{name: "refuses a client that is attached already", says: "initialize failed", hooks: func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			if m.method() != "initialize" || !isReturn(m) {
				return []*packet{m}
			}
			p.commit()
			a := packetOf(`{"jsonrpc":"2.0","error":{"code":-32018,"message":"this client is attached already","data":{"kind":"resourceUnavailable","retryable":true}}}`)
			a.v["id"], a.back = m.v["id"], true
			return []*packet{a}
		}}
	}},
	{name: "lets a replaced client go on", says: "session/replaced|clients", slow: true, hooks: strangers("replaced")},
	{name: "lets a viewer do everything", says: "expected an error for", hooks: func() hooks {
		return hooks{
			client: func(p *faultProxy, m *packet) []*packet {
				if session, _ := m.object("params")["session"].(map[string]any); session["share"] == "viewer" {
					p.commit()
					session["share"] = "driver"
					m.touch()
				}
				return []*packet{m}
			},
			server: func(_ *faultProxy, m *packet) []*packet {
				session, _ := m.object("result")["session"].(map[string]any)
				for name, v := range map[string]string{"share": "viewer", "role": "viewer"} {
					if session[name] == "driver" {
						session[name] = v
						m.touch()
					}
				}
				return []*packet{m}
			},
		}
	}},
	{name: "resizes terminals for a client that joins", says: "cols|size|rows", slow: true, hooks: resizesForJoining},
	{name: "lets a client that does not read hold up the others", says: "expected", slow: true, hooks: asksFor(asking("job/start"), set("whenSlow", "block"), nil)},
	{name: "does not ask a client that comes later for a password", says: "client/secret", slow: true, hooks: afterJoining(serverAsks, func(*faultProxy, *packet) []*packet { return nil })},
	{name: "asks before it answers `initialize`", says: "before the answer to initialize", hooks: askBefore},
	{name: "does not warn of options that do not count", says: "warnings", hooks: inside("result", func(m *packet) bool {
		return m.askedFor != nil && m.object("result")["warnings"] != nil && joined(m)
	}, unset("warnings"))},
	{name: "does not tell a client that it is replaced", says: "session/replaced", slow: true, hooks: drop(is("session/replaced"))},
	{name: "sends more after `session/replaced`", says: "the last message of a connection", hooks: also(is("session/replaced"), false, `{"jsonrpc":"2.0","method":"session/clientLeft","params":{"clientId":"x","reason":"lost"}}`)},
	{name: "does not report that a client has come", says: "session/clientJoined", slow: true, hooks: drop(is("session/clientJoined"))},
	{name: "does not report that a client has gone", says: "session/clientLeft", slow: true, hooks: drop(is("session/clientLeft"))},
	{name: "does not say when the jobs of a client end", says: "endsAt", slow: true, hooks: inside("params", is("session/clientLeft"), unset("endsAt"))},
	{name: "gives everyone the token", says: "token", hooks: func() hooks {
		return hooks{server: func(p *faultProxy, m *packet) []*packet {
			if session, _ := m.object("result")["session"].(map[string]any); joined(m) && session["token"] == nil {
				p.commit()
				session["token"] = "a"
				m.touch()
			}
			return []*packet{m}
		}}
	}},
	{name: "never sends pings", says: `\$/ping`, slow: true, hooks: always(is("$/ping"), func(*faultProxy, *packet) []*packet { return nil })},
	{name: "does not answer a ping", says: `\$/pong`, slow: true, hooks: drop(is("$/pong"))},
	{name: "never gives a silent client up", says: "session/clientLeft", slow: true, hooks: func() hooks {
		return hooks{server: func(p *faultProxy, m *packet) []*packet {
			if m.method() == "$/ping" {
				p.commit()
				p.write(p.stdin, []*packet{packetOf(`{"jsonrpc":"2.0","method":"$/pong"}`)})
			}
			return []*packet{m}
		}}
	}},
	{name: "sends two clients different output", says: "different bytes|differs|expected", hooks: afterJoining(event("output").has("text"), func(_ *faultProxy, m *packet) []*packet {
		o := m.object("params")
		text := []byte(o["text"].(string))
		text[0] = '#'
		o["text"] = string(text)
		m.touch()
		return []*packet{m}
	})},
	{name: "tells an offset of the screen that its output does not continue", says: "offset|output", slow: true, hooks: inside("result", result("job/screen").has("offset"), add("offset", 1))},
}

func init() {
	for i := range sessionFaults {
		sessionFaults[i].level = shared
	}
}

func is(method string) which { return func(m *packet) bool { return m.method() == method } }

// keyed picks requests of these methods that have a key.
func keyed(methods ...string) which {
	return asking(methods...).where(func(m *packet) bool { return m.object("params")["key"] != nil })
}

func isKept(m *packet) bool { return m.object("params")["onDetach"] == "keep" }

// joined reports whether a message is the answer to the initialize of a client that is new in a session that was there.
func joined(m *packet) bool {
	session, _ := m.object("result")["session"].(map[string]any)
	return session["attached"] == "joined"
}

// isReturn reports whether an initialize resumes subscriptions.
func isReturn(m *packet) bool {
	session, _ := m.object("params")["session"].(map[string]any)
	return session["resume"] != nil
}

// asksFor changes the params of each picked request before the server receives them, and the result before the client
// does.
func asksFor(w which, change, told func(map[string]any)) func() hooks {
	return func() hooks {
		changed := map[string]bool{}
		return hooks{
			client: func(p *faultProxy, m *packet) []*packet {
				if !w(m) {
					return []*packet{m}
				}
				p.commit()
				changed[wire.Show(m.v["id"])] = true
				change(m.object("params"))
				m.touch()
				return []*packet{m}
			},
			server: func(_ *faultProxy, m *packet) []*packet {
				if m.askedFor != nil && changed[wire.Show(m.v["id"])] && m.v["result"] != nil && told != nil {
					told(m.object("result"))
					m.touch()
				}
				return []*packet{m}
			},
		}
	}
}

// resumes changes each subscription that a client resumes, unless change refuses it.
func resumes(change func(map[string]any) bool) func() hooks {
	return func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			if m.method() != "initialize" || !isReturn(m) {
				return []*packet{m}
			}
			c := m.copy()
			all, _ := c.object("params")["session"].(map[string]any)["resume"].([]any)
			for _, one := range all {
				if !change(one.(map[string]any)) {
					return []*packet{m}
				}
			}
			p.commit()
			c.touch()
			return []*packet{c}
		}}
	}
}

// shift moves the place from which output is to be sent.
func shift(o map[string]any, by int64) bool {
	if of, ok := o["from"].(map[string]any); ok {
		for name := range of {
			of[name] = moreBy(of[name], by)
		}
		return true
	}
	at, ok := wire.Int(o["from"])
	o["from"] = moreBy(o["from"], by)
	return ok && at > 0
}

// afterReturn handles the first picked message on a connection that resumes subscriptions.
func afterReturn(w which, do func(p *faultProxy, m *packet) []*packet) func() hooks {
	return func() hooks {
		return onceAfter(once(w, do)(), func(m *packet) bool {
			return m.askedFor != nil && m.object("result")["session"].(map[string]any)["resumed"] != nil
		})
	}
}

// afterJoining handles the first picked message on a connection of a client that has joined a session.
func afterJoining(w which, do func(p *faultProxy, m *packet) []*packet) func() hooks {
	return func() hooks { return onceAfter(once(w, do)(), joined) }
}

// onceAfter makes hooks begin with the answer to an initialize that begins accepts.
func onceAfter(h hooks, begins func(*packet) bool) hooks {
	on, inner := false, h.server
	h.server = func(p *faultProxy, m *packet) []*packet {
		if m.askedFor != nil && m.askedFor.method == "initialize" && m.object("result")["session"] != nil {
			on = begins(m)
		}
		if !on {
			return []*packet{m}
		}
		return inner(p, m)
	}
	return h
}

// strangers makes the server take a client that comes back for another one.
func strangers(attached string) func() hooks {
	return func() hooks {
		var id any
		return hooks{
			client: func(p *faultProxy, m *packet) []*packet {
				session, _ := m.object("params")["session"].(map[string]any)
				if m.method() == "initialize" && session["resume"] != nil {
					p.commit()
					id, session["clientId"] = session["clientId"], "stranger"
					m.touch()
				}
				return []*packet{m}
			},
			server: func(_ *faultProxy, m *packet) []*packet {
				if session, _ := m.object("result")["session"].(map[string]any); id != nil && session != nil {
					session["clientId"], session["attached"] = id, attached
					m.touch()
				}
				return []*packet{m}
			},
		}
	}
}

// splits picks output that begins with a character of several bytes.
func splits(m *packet) bool {
	text, _ := m.object("params")["text"].(string)
	_, n := utf8.DecodeRuneInString(text)
	return m.method() == "job/output" && n > 1
}

// piece returns a part of an output event as base64.
func (m *packet) piece(data []byte, from, to int) *packet {
	c := m.copy()
	o := c.object("params")
	delete(o, "text")
	if from > 0 {
		delete(o, "restart")
	}
	o["offset"], o["bytes"] = moreBy(o["offset"], int64(from)), moreBy(nil, int64(to-from))
	o["base64"] = base64.StdEncoding.EncodeToString(data[from:to])
	c.touch()
	return c
}

// exitFirst holds output back until the exit was sent, on a connection that resumes subscriptions.
func exitFirst() hooks {
	h := behind(event("output"), func(_, m *packet) bool { return event("exited")(m) })()
	return onceAfter(h, func(m *packet) bool { return m.object("result")["session"].(map[string]any)["resumed"] != nil })
}

// resizesForJoining resizes the first job when a client joins.
func resizesForJoining() hooks {
	const id = "resize-of-the-proxy"
	return hooks{
		client: func(_ *faultProxy, m *packet) []*packet {
			if session, _ := m.object("params")["session"].(map[string]any); session != nil {
				session["human"] = true // A person may take the input, and with it the size.
				m.touch()
			}
			return []*packet{m}
		},
		server: func(p *faultProxy, m *packet) []*packet {
			if m.v["id"] == any(id) {
				return nil
			}
			if joined(m) {
				p.commit()
				p.write(p.stdin, []*packet{packetOf(`{"jsonrpc":"2.0","id":"` + id + `","method":"job/takeInput","params":{"handle":1,"force":true,"cols":40,"rows":10}}`)})
			}
			return []*packet{m}
		},
	}
}

// askBefore sends the first question before the answer to initialize.
func askBefore() hooks {
	var answer *packet
	asked := false
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		switch {
		case !asked && answer == nil && joined(m) && m.askedFor.params["capabilities"] != nil:
			answer = m
			return nil
		case answer != nil && !asked && serverAsks(m):
			p.commit()
			asked = true
			return []*packet{m, answer}
		}
		return []*packet{m}
	}}
}
