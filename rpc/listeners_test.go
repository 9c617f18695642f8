package rpc_test

import (
	"sync"
	"testing"

	"shelld.dev/shelld/schema"
)

// acker joins a client that acknowledges output, in a session that keeps output in memory.
func (h *shared) acker(id string) *session {
	h.t.Helper()
	return h.joinWith(id, obj{}, "capabilities", obj{"ack": true},
		"options", obj{"limits": obj{"windowBytes": leastWindow}, "persist": obj{"mode": "memory"}})
}

// noGap checks that all of the output of a job came.
func (s *session) noGap(handle int64, stream, want string) {
	s.t.Helper()
	equal(s.t, "output", s.output(handle, stream), want)
	for _, e := range s.all(handle, "job/output") {
		if e.Gap != nil {
			s.t.Errorf("a gap: %+v", *e.Gap)
		}
	}
}

// TestStalledClient: a client that reads nothing takes nothing from another one.
func TestStalledClient(t *testing.T) {
	h := share(t)
	a, b := h.join("a"), h.join("b")
	job := a.pipe("read x; seq 300000", "stdin", "open")
	b.listen(job, "from", "start")
	a.giveInput(job, "b")
	a.gate.let(false)
	b.write(job, "go\n")
	b.noGap(job, "stdout", numbers(1, 300_000))
	a.gate.let(true)
	a.noGap(job, "stdout", numbers(1, 300_000))
}

// TestTwoThatBlock: a program waits for the slowest of the clients for which it is to wait, and none of them misses a byte.
func TestTwoThatBlock(t *testing.T) {
	h := share(t)
	a, b := h.acker("a"), h.acker("b")
	job := a.pipe("read x; seq 300000", "stdin", "open")
	a.listen(job, "whenSlow", "block")
	b.listen(job, "whenSlow", "block")
	a.write(job, "go\n")
	var other sync.WaitGroup
	other.Go(func() { b.acknowledge(job, "stdout") })
	b.gotUpTo(job, "stdout", leastWindow+1)
	st := a.until(job, "stdout", func(st schema.StreamStats) bool { return st.Held != nil && num(st.SentOffset) == leastWindow })
	if st.NextOffset > 3*leastWindow || st.DroppedBytes != 0 {
		t.Errorf("a job that waits has %d bytes of output, of which %d are dropped", st.NextOffset, st.DroppedBytes)
	}
	a.acknowledge(job, "stdout")
	other.Wait()
	a.noGap(job, "stdout", numbers(1, 300_000))
	b.noGap(job, "stdout", numbers(1, 300_000))
}

// TestSlowOneLeaves: a program that waits for a client goes on when that leaves.
func TestSlowOneLeaves(t *testing.T) {
	h := share(t)
	a, b := h.acker("a"), h.acker("b")
	job := b.pipe("read x; seq 300000", "stdin", "open")
	a.listen(job, "whenSlow", "block")
	b.write(job, "go\n")
	b.until(job, "stdout", func(st schema.StreamStats) bool { return st.Held != nil })
	a.cut()
	b.await(job, obj{"exit": true}, "maxBytes", 0)
}

// TestHoldWhileAway: with whenDetached hold a program waits while its client is away, and goes on where it was.
func TestHoldWhileAway(t *testing.T) {
	h := share(t)
	a := h.acker("a")
	job := a.pipe("read x; seq 300000", "stdin", "open", "onDetach", "keep")
	a.listen(job, "whenDetached", "hold")
	other := h.join("other")
	a.cut()
	other.takeInput(job)
	other.write(job, "go\n")
	st := other.until(job, "stdout", func(st schema.StreamStats) bool { return st.Held != nil && st.NextOffset >= leastWindow })
	if st.NextOffset > 3*leastWindow || st.DroppedBytes != 0 {
		t.Errorf("a job that waits has %d bytes of output, of which %d are dropped", st.NextOffset, st.DroppedBytes)
	}
	b := h.joinWith("a", obj{"resume": resume(job, "after", 1, "from", obj{"stdout": 0}, "whenSlow", "block")}, "capabilities", obj{"ack": true},
		"options", obj{"limits": obj{"windowBytes": leastWindow}})
	b.acknowledge(job, "stdout")
	b.noGap(job, "stdout", numbers(1, 300_000))
}

// TestHoldEnds: a job whose program waits for a client that is away can be ended.
func TestHoldEnds(t *testing.T) {
	h := share(t)
	a := h.acker("a")
	job := a.pipe("read x; seq 300000; sleep 600", "stdin", "open", "onDetach", "keep")
	a.listen(job, "whenDetached", "hold")
	other := h.join("other")
	a.cut()
	other.takeInput(job)
	other.write(job, "go\n")
	other.until(job, "stdout", func(st schema.StreamStats) bool { return st.Held != nil })
	other.killNow(job)
	other.await(job, obj{"closed": true}, "maxBytes", 0)
}

// TestHoldOfAnother: a program waits for a client that is away and to which the job does not belong for the grace of the
// job, and not for one that only looks on.
func TestHoldOfAnother(t *testing.T) {
	for _, role := range []string{"driver", "viewer"} {
		h := share(t)
		grace := int64(600_000)
		if role == "driver" {
			grace = 20
		}
		a := h.join("a", "jobs", obj{"graceMs": grace})
		job := a.pipe("read x; seq 300000", "stdin", "open", "events", []string{"closed"})
		b := h.joinWith("b", obj{"role": role}, "options", obj{"limits": obj{"windowBytes": leastWindow}})
		b.listen(job, "whenDetached", "hold")
		b.cut()
		a.write(job, "go\n")
		a.event(job, "job/closed")
	}
}

// TestWhoAnswersLeaves: when the client that answers the queries of programs has left, the server answers them.
func TestWhoAnswersLeaves(t *testing.T) {
	h := share(t)
	a := h.join("a")
	job := a.asker("queries", "client", "onDetach", "keep")
	other := h.join("other")
	a.giveInput(job, "")
	a.types(job, "1", "")
	other.types(job, "2", "")
	a.cut()
	other.types(job, "3", "")
	other.types(job, "4", serverSays)
	b := h.join("a", "resume", resume(job, "queries", "client"))
	other.types(job, "5", serverSays)
	b.types(job, "6", "")
}

// TestAnswersOfTheHolder: only the client that may type answers the queries of programs, even if others say that they do.
// When the holder changes, the new one is not sent the queries that the server has answered.
func TestAnswersOfTheHolder(t *testing.T) {
	h := share(t)
	a, b := h.join("a"), h.join("b", "human", true)
	v := h.join("v", "role", "viewer")
	job := a.asker()
	v.listen(job, "queries", "client")
	b.listen(job, "queries", "client", "from", "start")
	a.types(job, "1", "")
	a.types(job, "2", serverSays)
	a.giveInput(job, "")
	a.types(job, "3", serverSays) // b answers from here on.
	a.types(job, "4", "")
	b.takeInput(job)
	b.types(job, "5", "")
	if got, want := b.sinceRestart(job), "ready(1)("+serverSays+"2)"+query+"("+serverSays+"3)"+query+"(4)"+query+"(5)"; got != want {
		t.Errorf("%q was sent, want %q", got, want)
	}
	b.giveInput(job, "a")
	a.types(job, "6", "")
	a.types(job, "7", serverSays)
	a.giveInput(job, "")
	b.unsubscribe(job)
	a.types(job, "8", serverSays)
	a.types(job, "9", serverSays)
	a.killNow(job)
}
