package main

import "strings"

// A demoView is a message as it is shown.
type demoView struct {
	arrow  string
	paint  paint
	method string
	id     string
	body   string
	text   string // what a program wrote
}

// demoShown is THE table of what matters in what the server sends: of each method
// the members of its result, or of its params where it is an event. What the client
// sends, errors, and what is not named here are shown whole.
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

// demoTexts are the methods that carry a program's own output in the member text.
var demoTexts = map[string]bool{"job/output": true, "job/read": true}

// view decides how a message is shown.
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

// choose takes what matters out of a payload, and its text.
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

// without returns an object that lacks a member.
func (n node) without(name string) node {
	out := node{kind: n.kind}
	for i, have := range n.names {
		if have != name {
			out.add(have, n.parts[i])
		}
	}
	return out
}

// only returns an object with no more than what paths, such as outcome.match.text,
// lead to. Each object says whether something was left out of it.
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
