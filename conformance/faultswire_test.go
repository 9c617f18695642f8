//go:build linux

package conformance

import (
	"fmt"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

const (
	noMessage = "stdout has what is no message"
	notSent   = "the server sent what it must not: "
)

// anyMessage picks every message except the answer to initialize.
func anyMessage(m *packet) bool { return m.askedFor == nil || m.askedFor.method != "initialize" }

// wireFaults are faults of the transport.
var wireFaults = []fault{
	{name: "answers in lines a client that uses headers", says: noMessage, framing: "header", hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string {
		return string(wire.Frame("line", m.body))
	})},
	{name: "answers with headers a client that uses lines", says: noMessage, framing: "line", hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string {
		return string(wire.Frame("header", m.body))
	})},
	{name: "announces a Content-Length one byte too long", says: noMessage + "|(did not|cannot) come", framing: "header", slow: true, hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string {
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(m.body)+1, m.body)
	})},
	{name: "announces a Content-Length one byte too short", says: noMessage, framing: "header", hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string {
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(m.body)-1, m.body)
	})},
	{name: "counts characters in Content-Length", says: noMessage, framing: "header", hooks: spoil(which(anyMessage).where(func(m *packet) bool { return len([]rune(string(m.body))) < len(m.body) }), func(_ *faultProxy, m *packet) string {
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len([]rune(string(m.body))), m.body)
	})},
	{name: "omits Content-Length", says: noMessage, framing: "header", hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string {
		return "Content-Type: application/json\r\n\r\n" + string(m.body)
	})},
	{name: "ends header lines without CR", says: noMessage, framing: "header", hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string {
		return fmt.Sprintf("Content-Length: %d\n\n%s", len(m.body), m.body)
	})},
	{name: "breaks a line within a message", says: noMessage, framing: "line", hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string {
		return strings.Replace(string(m.raw), ",", ",\n", 1)
	})},
	{name: "sends two messages on one line or in one frame", says: noMessage, hooks: spoil(anyMessage, func(p *faultProxy, m *packet) string {
		body := strings.TrimSpace(string(m.body))
		return string(wire.Frame(p.framing, []byte(body+body)))
	})},
	{name: "prints a blank line between messages", says: noMessage, hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string { return "\n" + string(m.raw) })},
	{name: "prints a line that is no message", says: noMessage, hooks: spoil(anyMessage, func(_ *faultProxy, m *packet) string { return "debug: sending\n" + string(m.raw) })},
	{name: "prints a greeting first", says: noMessage, hooks: spoil(func(*packet) bool { return true }, func(_ *faultProxy, m *packet) string { return "Listening on stdin\n" + string(m.raw) })},
	{name: "begins with a byte order mark", says: noMessage, hooks: spoil(func(*packet) bool { return true }, func(_ *faultProxy, m *packet) string { return "\ufeff" + string(m.raw) })},
	{name: "sends invalid UTF-8", says: noMessage + ".*this is no UTF-8", hooks: spoil(textual, func(p *faultProxy, m *packet) string {
		return inText(p, m, "\xff")
	})},
	{name: "sends half of a surrogate pair", says: noMessage + ".*half of a surrogate pair", hooks: spoil(textual, func(p *faultProxy, m *packet) string {
		return inText(p, m, `\ud800`)
	})},
	{name: "sends an unescaped control character in a string", says: noMessage, hooks: spoil(textual, func(p *faultProxy, m *packet) string {
		return inText(p, m, "\x01")
	})},
	{name: "sends a duplicate member", says: noMessage + ".*is there twice", hooks: spoil(anyMessage, func(p *faultProxy, m *packet) string {
		return string(wire.Frame(p.framing, []byte(strings.Replace(string(m.body), "{", `{"jsonrpc":"2.0",`, 1))))
	})},
	{name: "sends a trailing comma", says: noMessage, hooks: spoil(anyMessage, func(p *faultProxy, m *packet) string {
		body := strings.TrimSpace(string(m.body))
		return string(wire.Frame(p.framing, []byte(body[:len(body)-1]+",}")))
	})},
	{name: "sends a batch", says: noMessage + ".*must be an object", hooks: spoil(anyMessage, func(p *faultProxy, m *packet) string {
		return string(wire.Frame(p.framing, []byte("["+strings.TrimSpace(string(m.body))+"]")))
	})},
	{name: "omits jsonrpc", says: noMessage + ".*jsonrpc", hooks: edit(anyMessage, unset("jsonrpc"))},
	{name: "sends jsonrpc 1.0", says: noMessage + ".*jsonrpc", hooks: edit(anyMessage, set("jsonrpc", "1.0"))},
	{name: "ends in the middle of a message", says: noMessage + ".*ended", hooks: once(anyMessage, func(p *faultProxy, m *packet) []*packet {
		m.raw = m.raw[:len(m.raw)-3]
		p.tell([]*packet{m})
		p.die(1)
		return nil
	})},
	{name: "sends an event with an id", says: notSent + "job/.* is a notification, and has no id", hooks: edit(event(), set("id", wire.Number("7000")))},
	{name: "sends an event with id null", says: notSent + "the message itself: /id", hooks: edit(event(), set("id", nil))},
	{name: "sends an unknown request", says: notSent + "the protocol has no workspace/configuration", hooks: also(result(), true, `{"jsonrpc":"2.0","id":"s1","method":"workspace/configuration","params":{}}`)},
	{name: "sends an unknown event", says: notSent + "the protocol has no job/progress", hooks: also(result(), true, `{"jsonrpc":"2.0","method":"job/progress","params":{"handle":1}}`)},
	{name: "sends a message that only clients send", says: notSent + "the protocol has no initialized for a server", hooks: also(result(), true, `{"jsonrpc":"2.0","method":"initialized","params":{}}`)},
}

// textual picks messages with a string that can be made invalid.
func textual(m *packet) bool { return anyMessage(m) && strings.Contains(string(m.body), `"text":"`) }

func inText(p *faultProxy, m *packet, what string) string {
	return string(wire.Frame(p.framing, []byte(strings.Replace(strings.TrimSpace(string(m.body)), `"text":"`, `"text":"`+what, 1))))
}
