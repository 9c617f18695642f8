//go:build linux

package conformance

import (
	"fmt"
	"os"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// secretFaults are faults of a server that asks the client for passwords.
var secretFaults = []fault{
	{name: "never requests a password", says: "client/secret", slow: true, hooks: drop(serverAsks)},
	{name: "requests a password before it sends the prompt", says: "client/secret", slow: true, renumber: true, hooks: askEarly},
	{name: "requests a password twice", says: "of client/secret as here in the session, got", hooks: once(serverAsks, func(_ *faultProxy, m *packet) []*packet {
		twice := m.copy()
		twice.v["id"] = "another"
		twice.touch()
		return []*packet{m, twice}
	})},
	{name: "reuses an open request id", says: "is not answered yet", hooks: repeat(serverAsks)},
	{name: "sends a request with id null", says: "the message itself|must be", hooks: edit(serverAsks, set("id", nil))},
	{name: "does not count password attempts", says: "client/secret", slow: true, hooks: always(serverAsks, func(_ *faultProxy, m *packet) []*packet {
		m.object("params")["attempt"] = wire.Number("1")
		m.touch()
		return []*packet{m}
	})},
	{name: "does not cancel a request to the client", says: `\$/cancelRequest`, slow: true, hooks: drop(takesBack)},
	{name: "cancels a request to the client twice", says: "back twice", hooks: repeat(takesBack)},
	{name: "cancels a request that it has not sent", says: "which it has not sent", hooks: inside("params", takesBack, set("id", "s99"))},
	{name: "types a late password", says: "no more output comes|differs", hooks: typeLate},
	{name: "does not redact a password that a program prints", says: "bytes|text", hooks: showPassword},
	{name: "logs a password from the client", says: "has what was written as a secret", hooks: func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			if value, ok := m.object("result")["value"].(string); ok {
				p.commit()
				fmt.Fprintln(os.Stderr, "typing", value)
			}
			return []*packet{m}
		}}
	}},
}

func serverAsks(m *packet) bool { return m.method() == "client/secret" }

func takesBack(m *packet) bool { return m.method() == "$/cancelRequest" }

// askEarly delays a prompt until the question is sent.
func askEarly() hooks {
	var prompt *packet
	done := false
	return hooks{server: func(p *faultProxy, m *packet) []*packet {
		text, _ := m.object("params")["text"].(string)
		switch {
		case !done && prompt == nil && chunks(1)(m) && strings.HasSuffix(text, "Password: "):
			p.commit()
			prompt = m
			return nil
		case prompt != nil && (serverAsks(m) || m.job() != ""):
			ms := []*packet{m, prompt}
			done, prompt = true, nil
			return ms
		}
		return []*packet{m}
	}}
}

// showPassword replaces *** by the client's answer.
func showPassword() hooks {
	value := ""
	return hooks{
		client: func(_ *faultProxy, m *packet) []*packet {
			if v, ok := m.object("result")["value"].(string); ok {
				value = v
			}
			return []*packet{m}
		},
		server: func(p *faultProxy, m *packet) []*packet {
			params := m.object("params")
			if text, _ := params["text"].(string); value != "" && strings.Contains(text, "***") {
				p.commit()
				params["text"] = strings.ReplaceAll(text, "***", value)
				m.touch()
			}
			return []*packet{m}
		},
	}
}

// typeLate types the answer to a question that is over.
func typeLate() hooks {
	over, handle := map[string]bool{}, any(nil)
	return hooks{
		server: func(_ *faultProxy, m *packet) []*packet {
			switch {
			case serverAsks(m):
				handle = m.object("params")["handle"]
			case takesBack(m):
				over[wire.Show(m.object("params")["id"])] = true
			case m.v["id"] == "late":
				return nil
			}
			return []*packet{m}
		},
		client: func(p *faultProxy, m *packet) []*packet {
			value, ok := m.object("result")["value"].(string)
			if !ok || !over[wire.Show(m.v["id"])] {
				return []*packet{m}
			}
			p.commit()
			w := packetOf(`{"jsonrpc":"2.0","id":"late","method":"job/write","params":{"appendNewline":true}}`)
			w.object("params")["handle"], w.object("params")["input"] = handle, value
			return []*packet{w}
		},
	}
}
