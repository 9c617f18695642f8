package main

import (
	"context"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestHeldInput types into a job whose input a person holds.
func TestHeldInput(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	p := startMember(t, name, root)
	contains(t, p.says(1, "shell", `{"command":"exec cat"}`), "[job 1, running, waiting for input]")
	c := attach(t, name, schema.InitializeParams{
		ClientInfo: &schema.ClientInfo{Name: new("console")}, Session: &schema.SessionParams{ClientID: new("ada"), Human: new(true)},
	})
	if err := c.Call(context.Background(), "job/takeInput", schema.JobTakeInputParams{Handle: handleID(1), Force: new(true)}, nil); err != nil {
		t.Fatal(err)
	}
	got := p.says(2, "shell", `{"job":1,"input":"x"}`)
	if !strings.HasPrefix(got, "a person at console (ada) is typing into job 1; nothing was typed.") {
		t.Errorf("%s", got)
	}
	if err := c.Call(context.Background(), "job/giveInput", schema.JobGiveInputParams{Handle: handleID(1)}, nil); err != nil {
		t.Fatal(err)
	}
	contains(t, p.says(3, "shell", `{"job":1,"input":"given","pattern":"^given$","wait":"none"}`), "given")
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, p.stderr.String())
	}
}

// TestInputOfEndedFront types into a job of a front end that has ended, while its place is not taken by a new one.
func TestInputOfEndedFront(t *testing.T) {
	t.Parallel()
	name, root := newSession(t), t.TempDir()
	a := startMember(t, name, root)
	contains(t, a.says(1, "shell", `{"command":"exec cat"}`), "[job 1, running, waiting for input]")
	b := startMember(t, name, root)
	contains(t, b.says(1, "shell", `{"job":1,"input":"x"}`), "only shelld-mcp (shelld-mcp-1) may type into job 1")
	_ = a.in.Close()
	if err := a.cmd.Wait(); err != nil || a.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, a.stderr.String())
	}
	contains(t, b.says(2, "shell", `{"job":1,"input":"mine","pattern":"^mine$","wait":"none"}`), "[job 1, running, pattern]", "mine")
	_ = b.in.Close()
	if err := b.cmd.Wait(); err != nil || b.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, b.stderr.String())
	}
}
