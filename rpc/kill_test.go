package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

func TestKill(t *testing.T) {
	s := start(t)
	for _, mode := range []string{"pipe", "pty"} {
		h := s.pty("sleep 60 & sleep 60", "mode", mode)
		r := s.kill(h)
		equal(t, "closed already", deref(t, r.AlreadyClosed), false)
		equal(t, "status", r.Job.Status, schema.StatusClosed)
		equal(t, "survivors", len(r.Survivors), 0)
		if len(r.Signals) == 0 || r.Signals[0].Signal != "SIGTERM" && r.Signals[0].Signal != "SIGHUP" {
			t.Errorf("%s: signals %+v", mode, r.Signals)
		}
		equal(t, mode+": exit's reason", s.event(h, "job/exited").Exit.Reason, schema.ExitReasonKilled)
		r = s.kill(h)
		equal(t, "closed already", deref(t, r.AlreadyClosed), true)
	}
}

func TestKillLadder(t *testing.T) {
	s := start(t)
	h := s.pipe(`trap "" TERM; echo ready; sleep 60; sleep 60`)
	s.see(h, "ready")
	r := do[schema.JobKillResult](s, "job/kill", obj{"handle": h, "graceMs": 50})
	equal(t, "last signal", r.Signals[len(r.Signals)-1].Signal, "SIGKILL")
	equal(t, "exit", s.exit(h), "killed SIGKILL")
	// A job that handles TERM and exits with 0 counts as killed anyway.
	h = s.pipe(`trap "echo bye; exit 0" TERM; echo ready; sleep 60 & wait`)
	s.see(h, "ready")
	s.kill(h)
	equal(t, "exit", s.exit(h), "killed 0")
	equal(t, "output", s.output(h, "stdout"), "ready\nbye\n")
	// Without force, the processes that survive the grace are reported.
	h = s.pipe(`trap "" TERM; echo ready; while :; do sleep 60; done`)
	s.see(h, "ready")
	r = do[schema.JobKillResult](s, "job/kill", obj{"handle": h, "graceMs": 100, "force": false})
	if len(r.Survivors) == 0 || r.Job.Status != schema.StatusRunning {
		t.Errorf("without force: survivors %+v, status %s", r.Survivors, r.Job.Status)
	}
	do[schema.JobKillResult](s, "job/kill", obj{"handle": h, "graceMs": 0})
}

// TestKillAfterExit: a kill of the leader's background processes does not change the leader's exit.
func TestKillAfterExit(t *testing.T) {
	s := start(t)
	h := s.pipe("sleep 60 & exit 3")
	equal(t, "exit", s.exit(h), "exited 3")
	r := s.kill(h)
	equal(t, "exit", exitText(r.Job.Exit), "exited 3")
	equal(t, "status", r.Job.Status, schema.StatusClosed)
}

func TestKillGroup(t *testing.T) {
	s := start(t)
	var group []int64
	for range 3 {
		group = append(group, s.pipe("sleep 60", "group", "g"))
	}
	ended := s.pipe("true", "group", "g")
	s.event(ended, "job/closed")
	other := s.pipe("sleep 60", "group", "h")
	r := do[schema.JobKillResult](s, "job/kill", obj{"group": "g"})
	var got []int64
	for _, j := range r.Jobs {
		got = append(got, j.Job.Handle)
		equal(t, "status", j.Job.Status, schema.StatusClosed)
		equal(t, "closed already", j.AlreadyClosed, false)
	}
	equal(t, "every live job of the group", fmt.Sprint(got), fmt.Sprint(group))
	equal(t, "the other", s.get(other).Status, schema.StatusRunning)
	r = do[schema.JobKillResult](s, "job/kill", obj{"group": "nobody"})
	equal(t, "of a group without jobs", len(r.Jobs), 0)
}

// TestKillByManyAtOnce: each kill is answered, the job ends once, and a tree in which every process obeys TERM needs no
// other signal, however young it is.
func TestKillByManyAtOnce(t *testing.T) {
	s := start(t)
	h := s.pipe("sleep 60 & sleep 60")
	var calls []*call
	for range 20 {
		calls = append(calls, s.begin("job/kill", obj{"handle": h}))
	}
	for _, c := range calls {
		r := result[schema.JobKillResult](c)
		equal(t, "status", r.Job.Status, schema.StatusClosed)
		for _, k := range r.Killed {
			if k.How == "SIGKILL" {
				t.Fatalf("%s had to be killed: %+v", k.Command, r)
			}
		}
	}
	equal(t, "exit", s.exit(h), "killed SIGTERM")
}

// floodWatches starts a job that writes more than its watches can search in seconds.
func (s *session) floodWatches() int64 {
	var watches []obj
	for range 8 {
		watches = append(watches, obj{"pattern": "y"})
	}
	h := s.pipe(`head -c 8000000 /dev/zero | tr '\0' y; exec sleep 60`, "watch", watches, "events", []string{"watchRemoved", "exited", "closed"})
	s.await(h, obj{"bytes": 8000000})
	return h
}

// TestKillWithWatchesThatLagBehind: a kill waits for matches, but not for ever.
func TestKillWithWatchesThatLagBehind(t *testing.T) {
	s := start(t)
	h := s.floodWatches()
	s.kill(h)
	s.event(h, "job/closed")
	removed := s.all(h, "job/watchRemoved")
	if len(removed) != 8 {
		t.Fatalf("%d watches were removed, want 8", len(removed))
	}
	for _, e := range removed {
		if !strings.Contains(e.Reason, "stdout from offset ") || e.Seq > s.event(h, "job/exited").Seq {
			t.Errorf("%+v", e)
		}
	}
	equal(t, "watches that are left", len(s.get(h).Watches), 0)
}

// TestShutdownWithWatchesThatLagBehind: the end is reported anyway.
func TestShutdownWithWatchesThatLagBehind(t *testing.T) {
	s := start(t)
	h := s.floodWatches()
	s.quit()
	equal(t, "exit", s.exit(h), "shutdown SIGTERM")
	s.event(h, "job/closed")
}
