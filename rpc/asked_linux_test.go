package rpc_test

import (
	"testing"

	"shelld.dev/shelld/schema"
)

// TestConfirmOfTheAsking: a question goes to the client whose request needs the answer. If that has gone, nobody has said
// yes.
func TestConfirmOfTheAsking(t *testing.T) {
	h := share(t)
	can := []any{"capabilities", obj{"confirm": true}, "options", obj{"confirm": obj{"start": "ask"}}}
	a, b := h.joinWith("a", obj{}, can...), h.joinWith("b", obj{}, can[:2]...)
	params := obj{"argv": []string{"true"}, "mode": "pipe", "key": "k"}
	b.begin("job/start", params)
	_, p := b.asked(1)
	equal(t, "action", p.Action, schema.ConfirmActionStart)
	b.cut()
	b = h.joinWith("b", obj{}, can[:2]...)
	again := b.begin("job/start", params) // Nobody has said no to the first one, so that is not its answer.
	b.wait("question or answer", func() bool { return len(b.questions) > 0 || len(b.answers[again.id]) > 0 })
	if again.answered() { // The first one was just being canceled.
		refused[schema.CanceledData](again, schema.KindCanceled)
		again = b.begin("job/start", params)
	}
	b.allow(1, "once")
	equal(t, "replayed", result[schema.JobStartResult](again).Replayed != nil, false)
	equal(t, "asked the other", a.asksSoFar(), 0)
	r := a.begin("job/start", params)
	a.allow(1, "once")
	result[schema.JobStartResult](r)
	equal(t, "asked again", b.asksSoFar(), 1)
	c := h.join("c") // It cannot answer, and is not asked.
	refused[schema.ConfirmationDeniedData](c.begin("job/start", params), schema.KindConfirmationDenied)
	equal(t, "asked one that cannot answer", c.asksSoFar(), 0)
}

// TestAlwaysOfOneClient: an answer "always" counts for the client that has given it, also when that comes back, and not
// for another.
func TestAlwaysOfOneClient(t *testing.T) {
	h := share(t)
	can := []any{"capabilities", obj{"confirm": true}, "options", obj{"confirm": obj{"start": "ask"}}}
	a, b := h.joinWith("a", obj{}, can...), h.joinWith("b", obj{}, can[:2]...)
	params := obj{"argv": []string{"true"}, "mode": "pipe"}
	ofA, ofB := a.begin("job/start", params), b.begin("job/start", params)
	b.asked(1)
	a.allow(1, "always")
	result[schema.JobStartResult](ofA)
	c := h.joinWith("c", obj{}, can[:2]...)
	ofC := c.begin("job/start", params)
	c.allow(1, "deny")
	refused[schema.ConfirmationDeniedData](ofC, schema.KindConfirmationDenied)
	equal(t, "the request of the other is carried out", ofB.answered(), false)
	b.allow(1, "once")
	result[schema.JobStartResult](ofB)
	a.cut()
	a = h.joinWith("a", obj{}, can[:2]...)
	do[schema.JobStartResult](a, "job/start", params)
	equal(t, "asked again", a.asksSoFar(), 0)
}

// TestConfirmOfAShutdown: a client that shuts down has said yes to nothing.
func TestConfirmOfAShutdown(t *testing.T) {
	h := share(t)
	a := h.joinWith("a", obj{}, "capabilities", obj{"confirm": true}, "options", obj{"confirm": obj{"start": "ask"}})
	start := a.begin("job/start", obj{"argv": []string{"true"}, "mode": "pipe"})
	a.asked(1)
	do[schema.ShutdownResult](a, "shutdown", nil)
	refused[schema.CanceledData](start, schema.KindCanceled)
}

// TestConfirmAfterAShutdown: so it is with a question that comes only after the shutdown.
func TestConfirmAfterAShutdown(t *testing.T) {
	for range 20 {
		h := share(t)
		a := h.joinWith("a", obj{}, "capabilities", obj{"confirm": true}, "options", obj{"confirm": obj{"start": "ask"}})
		start := a.begin("job/start", obj{"argv": []string{"true"}, "mode": "pipe", "onDetach": "keep"})
		shutdown := a.begin("shutdown", nil)
		a.send(`{"jsonrpc":"2.0","method":"exit"}`)
		refused[schema.CanceledData](start, schema.KindCanceled)
		result[schema.ShutdownResult](shutdown)
		a.left()
		equal(t, "live jobs", len(h.join("b").live()), 0)
	}
}

// TestSecretOfAll: each client with a person is asked for a password, also one that comes later, and the first answer
// counts.
func TestSecretOfAll(t *testing.T) {
	h := share(t)
	first := h.join("first")
	if !deref(t, first.joined.Capabilities.Secret) {
		t.Skip("waits for passwords are not seen here")
	}
	a, b := h.joinWith("a", obj{}, answersSecrets...), h.joinWith("b", obj{}, answersSecrets...)
	job := first.pty(login)
	ofA, p := a.ask(1)
	equal(t, "handle", p.Handle, job)
	ofB, _ := b.ask(1)
	c := h.joinWith("c", obj{}, answersSecrets...)
	ofC, _ := c.ask(1)
	c.tell(ofC, obj{"value": "hunter2"})
	a.takenBack(ofA)
	b.takenBack(ofB)
	first.see(job, "welcome")
	equal(t, "asked one without a person", first.asksSoFar(), 0)
	first.killNow(job)
}
