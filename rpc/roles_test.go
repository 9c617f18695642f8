package rpc_test

import (
	"slices"
	"testing"

	"shelld.dev/shelld/schema"
)

// forViewers are the methods that a viewer may call.
var forViewers = []string{
	"initialize", "shutdown", "job/read", "job/search", "job/wait", "job/history", "job/screen", "job/list", "job/get", "job/subscribe",
	"job/unsubscribe", "platform/get", "env/get", "env/list", "server/stats", "session/get", "session/set", "session/detach",
}

// TestViewer: a viewer is refused each method that changes something, and nothing else.
func TestViewer(t *testing.T) {
	h := share(t)
	a := h.join("a", "share", "viewer")
	a.sleeper()
	v := h.join("v", "role", "owner")
	equal(t, "role", v.joined.Session.Role, schema.SessionRoleViewer)
	for _, m := range schema.Methods() {
		if m.Kind != "request" || m.From != "client" || m.Name == "initialize" || m.Name == "shutdown" || m.Name == "session/detach" {
			continue
		}
		e := v.beginBad(m.Name, obj{"no such member": 1}).answer().Error
		if e == nil {
			t.Fatalf("%s has a result", m.Name)
		}
		if slices.Contains(forViewers, m.Name) {
			e.is(t, schema.KindInvalidParams)
			continue
		}
		e.is(t, schema.KindPolicyDenied)
		if d := plainJSON(t, e.Data).(obj); d["reason"] != "role" || d["action"] != m.Name {
			t.Errorf("%s: %s", m.Name, e.Data)
		}
	}
	v.looksAt(1)
	v.quitShared()
	equal(t, "live jobs", len(a.live()), 1)
}

// looksAt does with a job what a viewer may do.
func (s *session) looksAt(handle int64) {
	s.t.Helper()
	s.get(handle)
	s.listen(handle)
	s.unsubscribe(handle)
}

// TestDriverOwnsNothing: a client without the token cannot change or end the session.
func TestDriverOwnsNothing(t *testing.T) {
	h := share(t)
	a, d := h.join("a"), h.join("d")
	equal(t, "role", d.joined.Session.Role, schema.SessionRoleDriver)
	for method, params := range map[string]obj{"session/end": {}, "session/set": {"share": "none"}} {
		e := refused[schema.PolicyDeniedData](d.begin(method, params), schema.KindPolicyDenied)
		equal(t, "reason", str(e.Reason), "role")
	}
	refused[schema.PolicyDeniedData](d.begin("session/set", obj{"lease": obj{"idleMs": 1}}), schema.KindPolicyDenied)
	do[schema.SessionSetResult](d, "session/set", obj{"jobs": obj{"graceMs": 1}})
	do[schema.SessionSetResult](a, "session/set", obj{"share": "none"})
	e := h.refusedJoin(schema.KindPolicyDenied, obj{})
	equal(t, "reason", plainJSON(t, e.Data).(obj)["reason"], any("share"))
	o := h.join("o", "token", *a.joined.Session.Token)
	equal(t, "role with the token", o.joined.Session.Role, schema.SessionRoleOwner)
	v := h.join("v", "token", *a.joined.Session.Token, "role", "viewer")
	equal(t, "role as wanted", v.joined.Session.Role, schema.SessionRoleViewer)
	h.join("p", "token", *a.joined.Session.Token, "attach", a.joined.Session.ID)
}

// TestCreatorReturns: the client that has created the session is an owner of it when it comes back, even if it has never
// read the token, whatever the session allows others.
func TestCreatorReturns(t *testing.T) {
	h := share(t)
	h.join("a", "share", "none").cut()
	h.refusedJoin(schema.KindPolicyDenied, obj{"clientId": "b"})
	a := h.join("a")
	equal(t, "role", a.joined.Session.Role, schema.SessionRoleOwner)
	do[schema.SessionSetResult](a, "session/set", obj{"share": "driver"})
	equal(t, "role of another", h.join("b").joined.Session.Role, schema.SessionRoleDriver)
	nameless := share(t)
	nameless.join("").cut()
	equal(t, "role without an id", nameless.join("").joined.Session.Role, schema.SessionRoleDriver)
}

// TestReplacedByLess: a client with fewer rights does not take the place of one with more.
func TestReplacedByLess(t *testing.T) {
	h := share(t)
	a := h.join("a", "share", "viewer")
	token := *a.joined.Session.Token
	o, d := h.join("o", "token", token), h.join("d", "token", token, "role", "driver")
	for _, params := range []obj{{"clientId": "o"}, {"clientId": "d"}, {"clientId": "o", "token": token, "role": "driver"}, {"clientId": "a", "role": "viewer"}} {
		e := h.refusedJoin(schema.KindPolicyDenied, params)
		equal(t, "reason", plainJSON(t, e.Data).(obj)["reason"], any("role"))
	}
	for _, s := range []*session{a, o, d} {
		do[schema.SessionGetResult](s, "session/get", nil)
	}
	d = h.join("d", "token", token)
	equal(t, "attached", d.joined.Session.Attached, schema.SessionAttachedReplaced)
	equal(t, "role", d.joined.Session.Role, schema.SessionRoleOwner)
}

// TestPolicyOfTheFirst: a later initialize does not widen the policy that the first one has set, and says so.
func TestPolicyOfTheFirst(t *testing.T) {
	h := share(t)
	root := t.TempDir()
	h.joinWith("a", obj{}, "rootDirectory", root, "options", obj{"denyCommands": []string{"rm"}, "confirm": obj{"kill": "deny"}})
	b := h.connect(-1, -1)
	r := result[schema.InitializeResult](b.begin("initialize", obj{"rootDirectory": "/", "options": obj{"denyCommands": []string{}, "confirm": obj{"kill": "allow"}}, "session": obj{}}))
	equal(t, "rootDirectory", str(r.Policy.RootDirectory), root)
	equal(t, "denyCommands", num(r.Policy.DenyCommands), 1)
	equal(t, "kill", r.Policy.Confirm.Kill, schema.ConfirmVerdictDeny)
	if len(r.Warnings) != 1 || r.Warnings[0].Pointer != "/options" {
		t.Errorf("warnings: %s", encode(r.Warnings))
	}
	refused[schema.PolicyDeniedData](b.begin("job/start", obj{"command": "rm x"}), schema.KindPolicyDenied)
	refused[schema.PolicyDeniedData](b.begin("job/kill", obj{"handle": b.sleeper()}), schema.KindPolicyDenied)
}
