package rpc_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// takeInput takes the input of a job, and checks who holds it then.
func (s *session) takeInput(handle int64, more ...any) schema.JobInfo {
	s.t.Helper()
	info := do[schema.JobTakeInputResult](s, "job/takeInput", merged(obj{"handle": handle}, more)).Job
	equal(s.t, "holder", str(info.InputHolder), s.joined.Session.ClientID)
	return info
}

// giveInput gives it away, to a client or to none.
func (s *session) giveInput(handle int64, to string) {
	s.t.Helper()
	params := obj{"handle": handle}
	if to != "" {
		params["to"] = to
	}
	info := do[schema.JobGiveInputResult](s, "job/giveInput", params).Job
	equal(s.t, "holder", str(info.InputHolder), cmp.Or(to, "(absent)"))
}

// isHeld checks that a request is refused since another client holds the input.
func isHeld(c *call, holder string) schema.InputHeldData {
	c.s.t.Helper()
	d := refused[schema.InputHeldData](c, schema.KindInputHeld)
	equal(c.s.t, "holder", d.Holder, holder)
	equal(c.s.t, "retryable", d.Retryable, true)
	return d
}

// tries writes to a job.
func (s *session) tries(handle int64, input string) *call {
	s.t.Helper()
	return s.begin("job/write", obj{"handle": handle, "input": input})
}

// inputIs waits until a client was told of so many changes of the holder, and checks the last one.
func (s *session) inputIs(n int, want string) {
	s.t.Helper()
	e := note[schema.JobInputChangedParams](s, "job/inputChanged", n)
	equal(s.t, fmt.Sprintf("change %d", n), fmt.Sprintf("%s by %s: %s", str(e.Holder), e.By, e.Reason), want)
}

// TestInputHeld: only the client that has started a job types and resizes, and the refusal says who that is. Signals and
// kills are everybody's.
func TestInputHeld(t *testing.T) {
	h := share(t)
	a := h.joinWith("agent", obj{}, "clientInfo", obj{"name": "robot", "version": "1"})
	b := h.join("b")
	job := a.pty("cat")
	equal(t, "holder", str(b.get(job).InputHolder), "agent")
	for method, params := range map[string]obj{
		"job/write": {"input": "x", "key": "k"}, "job/resize": {"cols": 100, "rows": 30}, "job/takeInput": {}, "job/giveInput": {},
	} {
		d := isHeld(b.begin(method, merged(params, []any{"handle", job})), "agent")
		equal(t, "handle", d.Handle, job)
		equal(t, "clientInfo", deref(t, d.ClientInfo.Name), "robot")
		if d.Human != nil || d.Away != nil {
			t.Errorf("%s: %s", method, encode(d))
		}
	}
	a.write(job, "typed\r")
	a.giveInput(job, "")
	b.begin("job/write", obj{"handle": job, "input": "x", "key": "k"}).answer() // The refusal was not kept.
	b.see(job, "typed")
	do[schema.JobSignalResult](b, "job/signal", obj{"handle": job, "signal": "CONT"})
	b.killNow(job)
}

// TestPersonTakesOver: a person takes the input from an agent, which is told, finds out who it is at its next write, and
// gets the input back.
func TestPersonTakesOver(t *testing.T) {
	h := share(t)
	a := h.join("agent")
	p := h.join("person", "human", true)
	job := a.pty("cat")
	p.listen(job)
	sees := a.begin("job/wait", obj{"handle": job, "until": until(obj{"pattern": "from-p"})})
	isHeld(p.begin("job/takeInput", obj{"handle": job}), "agent")
	info := p.takeInput(job, "force", true, "cols", 100, "rows", 40)
	equal(t, "columns", info.Cols, 100)
	a.inputIs(1, "person by person: forced")
	p.inputIs(1, "person by person: forced")
	equal(t, "human", deref(t, isHeld(a.tries(job, "x"), "person").Human), true)
	isHeld(a.begin("job/takeInput", obj{"handle": job}), "person")
	p.write(job, "from-p\r")
	equal(t, "reason", result[schema.JobWaitResult](sees).Outcome.Reason, schema.OutcomeReasonPattern)
	p.giveInput(job, "agent")
	a.inputIs(2, "agent by person: given")
	isHeld(p.tries(job, "x"), "agent")
	a.write(job, "from-a\r")
	equal(t, "columns at the end", a.get(job).Cols, 100)
	n := note[schema.JobInputChangedParams](a, "job/inputChanged", 2)
	equal(t, "number", num(n.N), num(note[schema.JobInputChangedParams](p, "job/inputChanged", 2).N))
	a.killNow(job)
}

// TestForce: only an owner of the session and a person take the input from a client that is there.
func TestForce(t *testing.T) {
	h := share(t)
	owner, driver := h.join("owner"), h.join("driver")
	job := owner.sleeper("stdin", "open")
	isHeld(driver.begin("job/takeInput", obj{"handle": job, "force": true}), "owner")
	owner.giveInput(job, "driver")
	isHeld(owner.begin("job/takeInput", obj{"handle": job}), "driver")
	owner.takeInput(job, "force", true)
	owner.inputIs(2, "owner by owner: forced")
	owner.takeInput(job) // It is the holder.
	viewer := h.join("viewer", "role", "viewer", "human", true)
	refused[schema.PolicyDeniedData](viewer.begin("job/takeInput", obj{"handle": job, "force": true}), schema.KindPolicyDenied)
	for _, to := range []string{"viewer", "nobody"} {
		d := refused[schema.InvalidParamsData](owner.begin("job/giveInput", obj{"handle": job, "to": to}), schema.KindInvalidParams)
		equal(t, "pointer", d.Errors[0].Pointer, "/to")
	}
	equal(t, "changes", len(owner.all(job, "job/inputChanged")), 2)
	owner.killNow(job)
}

// TestHolderIsAway: a holder that comes back still holds the input, unless another client has taken it meanwhile. Nothing
// of that changes the size.
func TestHolderIsAway(t *testing.T) {
	h := share(t)
	other := h.join("other")
	a := h.join("a", "jobs", obj{"onDetach": "keep"})
	job := a.pty("cat")
	a.cut()
	equal(t, "away", deref(t, isHeld(other.tries(job, "x"), "a").Away), true)
	a = h.join("a")
	isHeld(other.begin("job/takeInput", obj{"handle": job}), "a")
	a.write(job, "back\r")
	a.leave()
	other.takeInput(job)
	other.write(job, "taken\r")
	a = h.joinWith("a", obj{"resume": resume(job, "after", 1)})
	a.inputIs(1, "other by other: taken")
	isHeld(a.tries(job, "x"), "other")
	info := a.get(job)
	equal(t, "size", fmt.Sprint(info.Cols, info.Rows), "80 24")
	other.killNow(job)
}

// TestNamelessHolderLeaves: a client without an id cannot come back under it, so nobody holds its input any more.
func TestNamelessHolderLeaves(t *testing.T) {
	h := share(t)
	b := h.join("b")
	a := h.join("")
	job := a.sleeper("stdin", "open", "onDetach", "keep")
	name := a.joined.Session.ClientID
	equal(t, "holder", str(b.get(job).InputHolder), name)
	b.listen(job)
	isHeld(b.tries(job, "x"), name)
	a.cut()
	b.inputIs(1, "(absent) by "+name+": left")
	b.write(job, "x")
	if holder := b.get(job).InputHolder; holder != nil {
		t.Errorf("%s holds it", *holder)
	}
	h.join("").write(job, "x")
	b.killNow(job)
}

// TestTakenInputIsNotTyped: what is queued when the holder changes is not typed, but for what the kernel has.
func TestTakenInputIsNotTyped(t *testing.T) {
	h := share(t)
	a, p := h.join("agent"), h.join("person", "human", true)
	job := a.pipe("kill -STOP $$; exec wc -c", "stdin", "open")
	a.wait("its stop", func() bool { return a.stopped(job) })
	text := strings.Repeat("0123456789abcdef", 1<<15)
	one, two := a.tries(job, text), a.begin("job/write", obj{"handle": job, "input": "two", "eof": true})
	a.get(job) // Both are queued, and the kernel has what it takes.
	ends := a.begin("job/wait", obj{"handle": job, "until": until(obj{"exit": true})})
	p.takeInput(job, "force", true)
	written := num(refused[schema.CanceledData](one, schema.KindCanceled).BytesWritten)
	if written <= 0 || written >= int64(len(text)) {
		t.Errorf("%d bytes were written", written)
	}
	equal(t, "bytes of the second", num(refused[schema.CanceledData](two, schema.KindCanceled).BytesWritten), 0)
	last := p.begin("job/write", obj{"handle": job, "input": "end", "eof": true})
	do[schema.JobSignalResult](a, "job/signal", obj{"handle": job, "signal": "CONT"})
	equal(t, "bytes of the person", result[schema.JobWriteResult](last).BytesWritten, 3)
	equal(t, "reason", result[schema.JobWaitResult](ends).Outcome.Reason, schema.OutcomeReasonExit)
	got := texts(a.await(job, obj{"closed": true}, "from", "start"))["stdout"]
	equal(t, "bytes that it has read", strings.TrimSpace(got), fmt.Sprint(written+3))
}

// stopped reports whether a client was told that a job is stopped. The caller must hold mu.
func (s *session) stopped(handle int64) bool {
	for _, e := range s.events {
		if e.Method == "job/stateChanged" && e.Handle == handle && strings.Contains(string(e.params), `"stopped"`) {
			return true
		}
	}
	return false
}

// TestInputChangedOnRequest: a client that did not speak of sessions gets the event only if it wants it.
func TestInputChangedOnRequest(t *testing.T) {
	h := share(t)
	a := h.join("a")
	plain, wants := h.connect(-1, -1), h.connect(-1, -1)
	plain.initialize()
	wants.initialize("options", obj{"events": []string{"inputChanged", "closed"}})
	job := a.sleeper("stdin", "open")
	plain.listen(job)
	wants.listen(job)
	a.giveInput(job, "")
	wants.inputIs(1, "(absent) by a: given")
	a.killNow(job)
	plain.event(job, "job/closed")
	equal(t, "changes", len(plain.all(job, "job/inputChanged")), 0)
}
