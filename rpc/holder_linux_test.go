package rpc_test

import (
	"testing"

	"shelld.dev/shelld/schema"
)

// TestInputHeldOfShell: only the client that holds the input of a shell runs commands in it and changes its variables. A
// command that waits when another client takes the input never runs.
func TestInputHeldOfShell(t *testing.T) {
	h := share(t)
	a, p := h.join("agent"), h.join("person", "human", true)
	job := a.shell()
	for method, params := range map[string]obj{"job/exec": {"command": "true"}, "env/set": {"name": "A", "value": "1"}, "env/unset": {"name": "A"}} {
		isHeld(p.begin(method, merged(params, []any{"handle", job})), "agent")
	}
	runs := a.begin("job/exec", obj{"handle": job, "command": sleeps})
	a.asleep(job)
	waits := a.begin("job/exec", obj{"handle": job, "command": "echo never"})
	a.get(job) // It is queued.
	p.takeInput(job, "force", true)
	d := refused[schema.CanceledData](waits, schema.KindCanceled)
	equal(t, "command", deref(t, d.Command), schema.CommandStateDropped)
	isHeld(a.begin("job/exec", obj{"handle": job, "command": "true"}), "person")
	do[schema.JobSignalResult](a, "job/signal", obj{"handle": job, "signal": "INT"})
	equal(t, "finished", result[schema.JobExecResult](runs).Finished, true)
	equal(t, "output", p.exec(job, "echo mine").Output, "mine\n")
	p.killNow(job)
}

// TestSecretOfTheHolder: the holder of the input is asked for a password if it can be. If it leaves, the others are; if
// another client takes the input, that one is, and no other any more.
func TestSecretOfTheHolder(t *testing.T) {
	h := share(t)
	a := h.joinWith("a", obj{"jobs": obj{"onDetach": "keep"}}, answersSecrets...)
	if !deref(t, a.joined.Capabilities.Secret) {
		t.Skip("waits for passwords are not seen here")
	}
	b, c := h.joinWith("b", obj{}, answersSecrets...), h.joinWith("c", obj{"human": true}, answersSecrets...)
	job := a.pty(login)
	a.ask(1)
	equal(t, "asked b", b.asksSoFar(), 0)
	a.cut()
	ofB, _ := b.ask(1)
	ofC, _ := c.ask(1)
	a = h.joinWith("a", obj{}, answersSecrets...)
	ofA, _ := a.ask(1)
	b.takenBack(ofB)
	c.takenBack(ofC)
	c.takeInput(job, "force", true)
	a.takenBack(ofA)
	ofC, _ = c.ask(2)
	c.tell(ofC, obj{"value": "hunter2"})
	b.see(job, "welcome")
	equal(t, "asked b at the end", b.asksSoFar(), 1)
	c.killNow(job)
}
