package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file has the steps that send.

// initialize sends initialize and initialized, and checks the server's capabilities.
func (p *player) initialize(st *step) error {
	if p.greeted {
		return &syntaxError{st.position, "this connection is initialized already; client NAME opens another one once it is cut, or its end was awaited with exit"}
	}
	p.fresh, p.greeted = false, true
	params := map[string]any{}
	if st.v != nil {
		v, err := (matcher{p.vars}).evaluate(st.v)
		if err != nil {
			return err
		}
		var ok bool
		if params, ok = v.(map[string]any); !ok {
			return &syntaxError{st.v.at(), "the params of initialize are an object"}
		}
		if why := p.contract.params("initialize", params); why != "" {
			return &syntaxError{st.v.at(), "the params do not fit their schema: " + why}
		}
	}
	r := &request{of: p.line, name: "initialize", id: p.nextID(), method: "initialize", params: params}
	p.request(r, params)
	if err := p.await(st, r); err != nil {
		return err
	}
	m := r.answer
	if m.Err != nil {
		return fmt.Errorf("initialize failed: %s", wire.Show(m.Err))
	}
	if st.more != nil {
		if err := match(st.more, m.Result, p.vars); err != nil {
			return err
		}
	}
	if err := p.serverLacks(m.Result); err != nil {
		return err
	}
	p.message(map[string]any{"jsonrpc": "2.0", "method": "initialized", "params": map[string]any{}})
	return nil
}

// needMembers maps the kind of a need to its member in the capabilities.
var needMembers = map[string]string{
	"mode": "modes", "method": "methods", "event": "events", "condition": "conditions", "signal": "signals", "key": "keys",
	"encoding": "encodings", "readFormat": "readFormats", "waitFormat": "waitFormats", "query": "queries",
	"shellIntegration": "shellIntegration",
}

// serverLacks returns a skipError if the server says that it does not have what the session needs. The methods
// that the session sends and the modes of its jobs need not be listed. A server that claims the whole level fails
// if it lacks a method, event or condition, since every server of the level has these.
func (p *player) serverLacks(result any) error {
	o, _ := result.(map[string]any)
	caps, _ := o["capabilities"].(map[string]any)
	levels, _ := caps["levels"].(map[string]any)
	support := levels[p.session.Level]
	if support == "none" || support == nil {
		return &skipError{"the server says that it has nothing of the level " + p.session.Level}
	}
	for _, n := range p.session.Lacks {
		if n.in(caps) {
			return &skipError{fmt.Sprintf("the server has the %s %s", n.Kind, n.Value)}
		}
	}
	for _, n := range p.session.allNeeds() {
		switch {
		case n.in(caps) || n.Kind == "platform" || n.Kind == "program":
		case support == "full" && slices.Contains([]string{"method", "event", "condition"}, n.Kind):
			return fmt.Errorf("the server says that it has all of the level %s, and it has no %s %s", p.session.Level, n.Kind, n.Value)
		default:
			return &skipError{fmt.Sprintf("the server has no %s %s", n.Kind, n.Value)}
		}
	}
	return nil
}

// in reports whether a server's capabilities contain the need.
func (n Need) in(caps map[string]any) bool {
	if n.Kind == "limit" {
		limits, _ := caps["limits"].(map[string]any)
		return limits[n.Value] != nil
	}
	if n.Kind == "inputDetection" {
		detection, _ := caps["inputDetection"].(map[string]any)
		return asSure(detection["tier"], n.Value)
	}
	list, _ := caps[needMembers[n.Kind]].([]any)
	return slices.Contains(list, any(n.Value)) || n.Kind == "capability" && caps[n.Value] == true
}

// allNeeds returns the needs that a session lists, the methods that it sends, and the modes of the jobs that it
// starts. A method that the server must lack is sent to show that it is refused.
func (s *Session) allNeeds() []Need {
	needs := slices.Clone(s.Needs)
	for _, st := range s.steps {
		if st.verb != "send" || slices.Contains(st.words, "invalid") {
			continue
		}
		it := st.items[0]
		if slices.Contains(s.Lacks, Need{"method", it.method}) {
			continue
		}
		if needs = append(needs, Need{"method", it.method}); it.method == "job/start" || it.method == "job/run" {
			needs = append(needs, Need{"mode", it.mode()})
		}
	}
	return needs
}

// mode returns the mode of the job that an item starts.
func (it item) mode() string {
	o, _ := it.params.(object)
	for _, m := range o.members {
		l, _ := m.v.(literal)
		if t, ok := l.v.(text); ok && m.name == "mode" {
			return strings.Join(t, "")
		}
	}
	return map[string]string{"job/start": "pty", "job/run": "pipe"}[it.method]
}

func (p *player) nextID() string {
	p.ids++
	return strconv.Itoa(p.ids)
}

func (p *player) send(st *step) error {
	it := st.items[0]
	r := &request{of: p.line, name: st.name, method: it.method, lost: slices.Contains(st.words, "unanswered")}
	if it.id != nil {
		v, err := (matcher{p.vars}).evaluate(it.id)
		if err != nil {
			return err
		}
		r.id = string(wire.Encode(v))
	} else {
		r.id = p.nextID()
	}
	params, err := p.params(st, it)
	if err != nil {
		return err
	}
	r.params, _ = params.(map[string]any)
	p.request(r, params)
	return nil
}

func (p *player) notify(st *step) error {
	params, err := p.params(st, st.items[0])
	if err != nil {
		return err
	}
	o := map[string]any{"jsonrpc": "2.0", "method": st.items[0].method}
	if params != nil {
		o["params"] = params
	}
	p.check.notified(st.items[0].method, params)
	p.message(o)
	return nil
}

// params fills in the variables and validates the params against the contract: they must be valid, unless the
// step says that they are not.
func (p *player) params(st *step, it item) (any, error) {
	if p.closed {
		return nil, &syntaxError{st.position, "stdin was closed before, or the connection was cut; nothing can be sent any more"}
	}
	var v any
	if it.params != nil {
		var err error
		if v, err = (matcher{p.vars}).evaluate(it.params); err != nil {
			return nil, err
		}
	}
	why, invalid := p.contract.params(it.method, v), slices.Contains(st.words, "invalid")
	if p.contract.methods[it.method] == nil {
		why = "the protocol has no method " + it.method
	}
	switch {
	case why != "" && !invalid:
		return nil, &syntaxError{it.position, "the message does not fit its schema: " + why + " (write invalid behind the name if that is what is shown)"}
	case why == "" && invalid:
		return nil, &syntaxError{it.position, "the params fit their schema, though the step says that they are invalid"}
	}
	return v, nil
}

// request sends a request of the session.
func (p *player) request(r *request, params any) {
	p.requests[r.name] = r
	p.check.sent(r)
	id, err := wire.Decode([]byte(r.id))
	if err != nil {
		id = r.id // This never happens: encode and nextID make all ids, and both make JSON.
	}
	o := map[string]any{"jsonrpc": "2.0", "id": id, "method": r.method}
	if params != nil {
		o["params"] = params
	}
	p.message(o)
}

// message sends a message, and logs it.
func (p *player) message(o map[string]any) {
	raw := wire.Encode(o)
	p.conn.append(entry{dir: wire.ToServer, msg: wire.Message{Raw: raw}})
	p.conn.send(wire.Frame(p.conn.framing, raw))
}

// content sends the bytes that the session spells out, and registers the requests in them.
func (p *player) content(st *step, data []byte) error {
	if p.closed {
		return &syntaxError{st.position, "stdin was closed before; nothing can be sent any more"}
	}
	for _, name := range slices.Sorted(maps.Keys(st.ids)) {
		v, _ := wire.Decode([]byte(st.ids[name])) // The parser has checked it.
		r := &request{of: p.line, name: name, id: string(wire.Encode(v))}
		if o, err := wire.Decode([]byte(st.content)); err == nil { // A frame is usually a message.
			o, _ := o.(map[string]any)
			r.method, _ = o["method"].(string)
			r.params, _ = o["params"].(map[string]any)
		}
		p.requests[name] = r
		p.check.sent(r)
	}
	p.conn.append(entry{dir: wire.ToServer, msg: wire.Message{Raw: []byte(st.content)}})
	p.conn.send(data)
	return nil
}
