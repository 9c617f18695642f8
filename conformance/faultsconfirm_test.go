//go:build linux

package conformance

// confirmFaults are faults of a server that asks the user, through the client, for confirmation.
var confirmFaults = []fault{
	{name: "does a denied action", word: "client/confirm", says: "expected an error", hooks: answersAs("deny", "once")},
	{name: "does not do an allowed action", word: "client/confirm", says: "expected a result", hooks: answersAs("once", "deny")},
	{name: "asks again after always", word: "client/confirm", says: "expected an answer|/sent: expected", slow: true, hooks: answersAs("always", "once")},
	{name: "treats once as always", word: "client/confirm", says: "of client/confirm as here in the session, got", hooks: answersAs("once", "always")},
	{name: "omits roots in a confirmation request", word: "client/confirm", says: "client/confirm", slow: true, hooks: inside("params", asksPerson(func(params map[string]any) bool {
		roots, _ := params["roots"].([]any)
		return len(roots) > 1
	}), func(params map[string]any) { params["roots"] = params["roots"].([]any)[:1] })},
	{name: "omits unknown in a confirmation request", word: "client/confirm", says: "client/confirm", slow: true, hooks: inside("params", asksPerson(func(params map[string]any) bool { return params["unknown"] == true }), set("unknown", false))},
	{name: "omits variables in a confirmation request", word: "client/confirm", says: "client/confirm", slow: true, hooks: inside("params", asksPerson(func(params map[string]any) bool { return params["variables"] != nil }), unset("variables"))},
	{name: "reports that always is kept if it is not", word: "alwaysKept", says: "client/confirm", slow: true, hooks: inside("params", asksPerson(func(params map[string]any) bool { return params["alwaysKept"] == false }), set("alwaysKept", true))},
	{name: "reports the same environment as different", word: "environment: $first", says: "/environment: expected|client/confirm", slow: true, hooks: inside("params", asksPerson(func(params map[string]any) bool { return params["command"] == "echo two >file" }), set("environment", "another"))},
	{name: "omits the variables that change which commands run", word: "steers: true", says: "/steers: expected|steers", hooks: inside("result", func(m *packet) bool { return m.object("result")["steers"] != nil }, unset("steers"))},
	{name: "omits the job of a request to the client", word: "client/confirm", says: "client/confirm", slow: true, hooks: inside("params", asksPerson(func(params map[string]any) bool { return params["handle"] != nil }), unset("handle"))},
	{name: "omits the requestId of a request to the client", word: "requestId: \"odd one\"", says: "/requestId: expected", slow: true, hooks: inside("params", asksPerson(func(params map[string]any) bool { return params["requestId"] == "odd one" }), unset("requestId"))},
	{name: "shows a secret in a confirmation request", word: "client/confirm", says: "client/confirm", slow: true, hooks: inside("params", asksPerson(func(params map[string]any) bool {
		return params["command"] == "***"
	}), set("command", "hunter2\n"))},
	{name: "does not cancel a confirmation request", word: "client/confirm", says: `\$/cancelRequest`, slow: true, hooks: drop(takesBack)},
}

func asksPerson(about func(params map[string]any) bool) which {
	return func(m *packet) bool { return m.method() == "client/confirm" && about(m.object("params")) }
}

// answersAs replaces the user's answer with another before the server receives it.
func answersAs(one, other string) func() hooks {
	return func() hooks {
		return hooks{client: func(p *faultProxy, m *packet) []*packet {
			if o := m.object("result"); o["outcome"] == one {
				p.commit()
				o["outcome"] = other
				m.touch()
			}
			return []*packet{m}
		}}
	}
}
