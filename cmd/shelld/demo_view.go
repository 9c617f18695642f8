package main

import "strings"

// A demoView is a message prepared for printing.
type demoView struct {
	arrow  string
	paint  paint
	method string
	id     string
	body   string
	text   string // output of a program
}

// demoShown lists, for each method, the members that the demo shows of a message from the server: of the result, or of
// the params of an event. Messages from the client, errors, and methods not listed here are shown in full.
var demoShown = map[string][]string{
	"initialize": {"protocolVersion", "serverInfo.name", "serverInfo.version", "capabilities.modes",
		"capabilities.conditions", "capabilities.treeControl.kind", "platform.os", "platform.shell"},
	"job/start": {"job.handle", "job.mode", "job.pid", "outcome.reason", "outcome.match.text"},
	"job/write": {"bytesWritten", "outcome.reason", "outcome.match.text", "outcome.match.groups",
		"outcome.match.offset", "outcome.match.endOffset"},
	"job/wait": {"outcome.reason", "outcome.match.text", "outcome.match.groups",
		"outcome.match.offset", "outcome.match.endOffset"},
	"job/read":           {"base64", "offset", "nextOffset", "hasMore", "gap"},
	"job/kill":           {"signals", "killed", "survivors", "job.handle", "job.status"},
	"job/started":        {"handle", "seq", "requestId", "job.argv", "job.mode", "job.pid"},
	"job/patternMatched": {"handle", "seq", "watchId", "match", "offset", "endOffset"},
}

// demoTexts are the methods with a program's output in the member text.
var demoTexts = map[string]bool{"job/output": true, "job/read": true}

// view prepares a message.
func (p *demoPrinter) view(sent bool, m node) demoView {
	v := demoView{arrow: "←"}
	id, hasID := m.member("id")
	name, called := m.member("method")
	method := printable(name.string())
	params, _ := m.member("params")
	if hasID {
		v.id = " #" + id.scalar
	}
	failure, failed := m.member("error")
	switch {
	case sent:
		v.arrow, v.paint, v.method, v.body = "→", paintSent, method, params.members()
		p.methods[id.scalar] = v.method
	case called:
		v.paint, v.method = paintEvent, method
		v.choose(params, p.all)
	case failed:
		v.paint, v.method, v.body = paintError, p.methods[id.scalar]+" failed", failure.members()
	default:
		result, _ := m.member("result")
		v.paint, v.method = paintAnswer, p.methods[id.scalar]
		v.choose(result, p.all)
	}
	return v
}

// choose selects the members of a payload that are shown, and its text.
func (v *demoView) choose(payload node, all bool) {
	if text, ok := payload.member("text"); ok && demoTexts[v.method] {
		v.text = text.string()
		payload = payload.without("text")
	}
	if paths, ok := demoShown[v.method]; ok && !all {
		payload = payload.only(paths)
	}
	v.body = payload.members()
}

// without returns an object without a member.
func (n node) without(name string) node {
	out := node{kind: n.kind}
	for i, have := range n.names {
		if have != name {
			out.add(have, n.parts[i])
		}
	}
	return out
}

// only returns an object with only the members at paths, such as outcome.match.text. Each object in it notes whether
// members were left out.
func (n node) only(paths []string) node {
	if n.kind != '{' {
		return n
	}
	below := map[string][]string{}
	for _, path := range paths {
		name, rest, _ := strings.Cut(path, ".")
		below[name] = append(below[name], rest)
	}
	out := node{kind: '{'}
	for i, name := range n.names {
		switch rest, ok := below[name]; {
		case !ok:
			out.more = true
		case rest[0] == "":
			out.add(name, n.parts[i])
		default:
			out.add(name, n.parts[i].only(rest))
		}
	}
	return out
}

func (n *node) add(name string, part node) {
	n.names, n.parts = append(n.names, name), append(n.parts, part)
}
