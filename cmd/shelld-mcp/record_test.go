package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/session"
)

// TestRecord writes answers in another order than their output was taken, and drops one: the record never goes past
// output that was not sent.
func TestRecord(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "record"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := newRecord(&session.Claim{File: file, Number: 1})
	begins := func(id string, want wasRecord) {
		t.Helper()
		if was, err := r.begin(id, "digest"); was != want || err != nil {
			t.Errorf("%s: the record was %d, %v, not %d", id, was, err, want)
		}
		if had, digest := headIn(file.Name()); had != id || digest != "digest" {
			t.Errorf("its head is %q, %q", had, digest)
		}
	}
	begins("first", wasNone)
	f := &front{engine: &engine{member: &member{}}, jobs: newLedger(), log: slog.New(slog.DiscardHandler)}
	l := &link{}
	f.jobs.use(l, r)
	j := f.jobs.started(l, &schema.JobInfo{Handle: 3, PID: 4711, Mode: schema.ModePty}, "")
	takes := func(to int64, exit *schema.Exit) *call {
		c := &call{front: f}
		j.reading.Lock()
		defer j.reading.Unlock()
		c.advance(t.Context(), j, to, &schema.JobState{Handle: 3, Exit: exit})
		return c
	}
	has := func(next int64, ended bool) {
		t.Helper()
		if n, e := r.of(3); n != next || e != ended {
			t.Errorf("the record has %d, %v, not %d, %v", n, e, next, ended)
		}
	}
	has(0, false)
	a, b := takes(100, nil), takes(200, nil)
	b.written()
	has(0, false)
	a.written()
	has(200, false)
	takes(300, nil).untell()
	has(200, false)
	begins("first", wasThis)
	has(200, false)
	begins("second", wasOther) // The end of the job was not sent.
	has(0, false)

	begins("first", wasNone)
	takes(400, nil).written()
	last := takes(400, &schema.Exit{})
	has(400, false)
	last.written()
	has(400, true)
	begins("second", wasNone)

	// What is sent of a job whose session is lost does not count for a job of the next one.
	late := takes(500, nil)
	f.jobs.clear()
	late.written()
	has(0, false)

	// Nor does an answer that came before the loss and is handled after it.
	again := &link{}
	for _, now := range []*link{nil, again} {
		if now != nil {
			f.jobs.use(now, r)
		}
		j = f.jobs.started(l, &schema.JobInfo{Handle: 3, PID: 4711, Mode: schema.ModePty, Name: new("old")}, "")
		takes(600, &schema.Exit{}).written()
		has(0, false)
		if f.jobs.given(3) || f.jobs.knows(3) || f.jobs.bySession("old") != nil || j.session != "old" {
			t.Error("the ledger has a job of the lost connection")
		}
	}
	j = f.jobs.started(again, &schema.JobInfo{Handle: 3, PID: 4712, Mode: schema.ModePty}, "")
	f.jobs.close(l, 3)
	if f.jobs.of(again, 3) != j || f.jobs.of(l, 3) == j || f.jobs.isClosed[j] {
		t.Error("the lost connection reaches a job of the new one")
	}
}

// TestRefusedMember has a host close the connection before it is initialized: that is not the end of shelld-mcp.
func TestRefusedMember(t *testing.T) {
	dir, err := session.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &member{front: &front{cfg: config{session: "mine"}}, dir: dir}
	text := explained("", m.refused(explained("", &client.GoneError{}))).Error()
	contains(t, text, "the session mine", "has closed the connection", filepath.Join(dir.Path(), "mine", "host.log"))
	lacks(t, text, "shelld-mcp is ending")
}
