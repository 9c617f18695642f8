//go:build linux

package conformance

import (
	"maps"
	"slices"
	"strconv"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A fault is one violation that a server may commit.
type fault struct {
	name string
	// says is a regular expression that the verdict must match: a fault that fails a session for another reason
	// is not detected.
	says string
	// slow: only the absence of a message shows the fault.
	slow bool
	// renumber: the events that are sent are renumbered, so that seq does not reveal the fault.
	renumber bool
	framing  string // "": any
	level    string // not "": only sessions of this level can detect the fault
	word     string // not "": only sessions that contain it can detect the fault, and one is enough
	hooks    func() hooks
}

// A which is a predicate that picks messages.
type which func(*packet) bool

// event picks the events with these names; without names, all events.
func event(names ...string) which {
	return func(m *packet) bool {
		return m.job() != "" && (names == nil || slices.Contains(names, m.method()[len("job/"):]))
	}
}

// result picks the results of these methods; without methods, of all except initialize.
func result(methods ...string) which {
	return func(m *packet) bool { return m.v["result"] != nil && answers(m, methods) }
}

// refusal picks errors with an id: of these kinds or, without kinds, all.
func refusal(kinds ...string) which {
	return func(m *packet) bool {
		data, _ := m.object("error")["data"].(map[string]any)
		kind, _ := data["kind"].(string)
		return m.v["error"] != nil && m.v["id"] != nil && m.askedFor != nil && (kinds == nil || slices.Contains(kinds, kind))
	}
}

func answers(m *packet, methods []string) bool {
	if m.askedFor == nil {
		return false
	}
	return slices.Contains(methods, m.askedFor.method) || methods == nil && m.askedFor.method != "initialize"
}

// answer picks results and errors, except for initialize.
func answer() which {
	return func(m *packet) bool { return m.askedFor != nil && m.askedFor.method != "initialize" }
}

// has restricts w to messages whose params or result have a member.
func (w which) has(name string) which {
	return func(m *packet) bool {
		return w(m) && (m.object("params")[name] != nil || m.object("result")[name] != nil)
	}
}

// where restricts w by another predicate.
func (w which) where(also which) which {
	return func(m *packet) bool { return w(m) && also(m) }
}

// once handles the first picked message.
func once(w which, do func(p *faultProxy, m *packet) []*packet) func() hooks {
	return func() hooks {
		done := false
		return hooks{server: func(p *faultProxy, m *packet) []*packet {
			if done || !w(m) {
				return []*packet{m}
			}
			done = true
			p.commit()
			return do(p, m)
		}}
	}
}

// always handles each picked message.
func always(w which, do func(p *faultProxy, m *packet) []*packet) func() hooks {
	return func() hooks {
		return hooks{server: func(p *faultProxy, m *packet) []*packet {
			if !w(m) {
				return []*packet{m}
			}
			p.commit()
			return do(p, m)
		}}
	}
}

// edit changes the first picked message.
func edit(w which, change func(o map[string]any)) func() hooks {
	return once(w, func(_ *faultProxy, m *packet) []*packet {
		change(m.v)
		m.touch()
		return []*packet{m}
	})
}

// inside changes an object in the first picked message: params, result, error.
func inside(name string, w which, change func(o map[string]any)) func() hooks {
	return edit(w, func(v map[string]any) { change(v[name].(map[string]any)) })
}

func set(name string, v any) func(map[string]any) {
	return func(o map[string]any) { o[name] = v }
}

func unset(name string) func(map[string]any) {
	return func(o map[string]any) { delete(o, name) }
}

// add adds n to an integer.
func add(name string, n int64) func(map[string]any) {
	return func(o map[string]any) { o[name] = moreBy(o[name], n) }
}

func moreBy(v any, n int64) wire.Number {
	was, _ := wire.Int(v)
	return wire.Number(strconv.FormatInt(was+n, 10))
}

// in changes a nested object.
func in(name string, change func(map[string]any)) func(map[string]any) {
	return func(o map[string]any) {
		if inner, ok := o[name].(map[string]any); ok {
			change(inner)
		}
	}
}

// spoil replaces the first picked message by bytes.
func spoil(w which, wire func(p *faultProxy, m *packet) string) func() hooks {
	return once(w, func(p *faultProxy, m *packet) []*packet {
		m.spoil(wire(p, m))
		return []*packet{m}
	})
}

func drop(w which) func() hooks {
	return once(w, func(*faultProxy, *packet) []*packet { return nil })
}

func repeat(w which) func() hooks {
	return once(w, func(_ *faultProxy, m *packet) []*packet { return []*packet{m, m.copy()} })
}

// copy returns a copy of the message, whose params and result can be changed independently.
func (m *packet) copy() *packet {
	c := *m
	v, _ := wire.Decode(wire.Encode(m.v)) // It was decoded before.
	c.v = v.(map[string]any)
	return &c
}

// also sends another message before or after the first picked one.
func also(w which, before bool, body string) func() hooks {
	return once(w, func(_ *faultProxy, m *packet) []*packet {
		more := packetOf(body)
		if before {
			return []*packet{more, m}
		}
		return []*packet{m, more}
	})
}

func packetOf(body string) *packet {
	v, err := wire.Decode([]byte(body))
	if err != nil {
		panic(err) // All bodies are constants in this package.
	}
	return &packet{v: v.(map[string]any)}
}

// behind delays a picked message until after the next message that next accepts.
func behind(held which, next func(held, m *packet) bool) func() hooks {
	return func() hooks {
		var keep *packet
		done := false
		return hooks{
			server: func(p *faultProxy, m *packet) []*packet {
				switch {
				case !done && keep == nil && held(m):
					// From now on the suite may detect the fault, by the message that comes instead.
					p.commit()
					keep = m
					return nil
				case keep != nil && next(keep, m):
					ms := []*packet{m, keep}
					done, keep = true, nil
					return ms
				}
				return []*packet{m}
			},
			last: func(*faultProxy) []*packet {
				if keep != nil {
					return []*packet{keep}
				}
				return nil
			},
		}
	}
}

// sameJob accepts the next event of the same job, with one of these names or any.
func sameJob(names ...string) func(held, m *packet) bool {
	of := event(names...)
	return func(held, m *packet) bool { return of(m) && m.job() == held.job() }
}

// sameStream accepts the next output of the same stream.
func sameStream(held, m *packet) bool {
	return sameJob("output")(held, m) && held.object("params")["stream"] == m.object("params")["stream"]
}

// asks handles each picked message of the client.
func asks(w which, do func(p *faultProxy, m *packet) []*packet) func() hooks {
	return func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			if !w(m) {
				return []*packet{m}
			}
			p.commit()
			return do(p, m)
		}}
	}
}

// asking picks the client's requests and notifications of these methods.
func asking(methods ...string) which {
	return func(m *packet) bool { return slices.Contains(methods, m.method()) }
}

// pretends answers requests without forwarding them.
func pretends(result string, methods ...string) func() hooks {
	return asks(asking(methods...).where(func(m *packet) bool { return m.v["id"] != nil }), func(_ *faultProxy, m *packet) []*packet {
		a := packetOf(`{"jsonrpc":"2.0","result":` + result + `}`)
		a.v["id"] = m.v["id"]
		a.back = true
		return []*packet{a}
	})
}

// each visits all objects in a value.
func each(v any, do func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		do(v)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			each(v[k], do)
		}
	case []any:
		for _, e := range v {
			each(e, do)
		}
	}
}
