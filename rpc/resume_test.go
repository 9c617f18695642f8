package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// numbered returns the methods and numbers of a job's numbered events, as "exited 3".
func (s *session) numbered(handle int64) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Handle == handle && e.N > 0 {
			all = append(all, fmt.Sprintf("%s %d", strings.TrimPrefix(e.Method, "job/"), e.N))
		}
	}
	return all
}

// resume returns one entry of initialize.session.resume, as the only one.
func resume(handle int64, more ...any) []obj {
	return []obj{merged(obj{"handle": handle}, more)}
}

// resumed returns what became of the first entry of resume.
func (s *session) resumed() schema.ResumedJob {
	s.t.Helper()
	all := deref(s.t, s.joined.Session).Resumed
	if len(all) == 0 {
		s.t.Fatal("initialize has no resumed")
	}
	return all[0]
}

// gotUpTo waits until the client has the output of a stream up to an offset.
func (s *session) gotUpTo(handle int64, stream string, end int) {
	s.t.Helper()
	s.wait(fmt.Sprintf("output up to %d", end), func() bool {
		t := s.check.jobs[handle]
		return t != nil && t.next[stream] >= int64(end)
	})
}

// TestResumeAtAnOffset: a client that comes back gets the output from the byte on that it names, even one in the middle
// of a character or of an escape sequence.
func TestResumeAtAnOffset(t *testing.T) {
	text := "plain é€😀 \x1b[1;31mred\x1b[0m end\r\n"
	for _, mode := range []string{"pipe", "pty"} {
		t.Run(mode, func(t *testing.T) {
			h := share(t)
			a := h.join("a")
			stream := map[string]string{"pipe": "stdout", "pty": "pty"}[mode]
			params := obj{"argv": []string{"sh", "-c", `printf '` + strings.ReplaceAll(strings.TrimSuffix(text, "\r\n"), "\x1b", `\033`) + `\r\n'; read x; printf more`},
				"mode": mode, "env": obj{"LC_ALL": "C.UTF-8"}, "onDetach": "keep"}
			if mode == "pipe" {
				params["stdin"] = "open"
			}
			job := do[schema.JobStartResult](a, "job/start", params).Job.Handle
			want := strings.ReplaceAll(text, "\r\n", map[string]string{"pipe": "\r\n", "pty": "\r\r\n"}[mode])
			a.await(job, obj{"bytes": len(want)}, "from", "start")
			a.cut()
			for from := range len(want) {
				var at any = obj{stream: from}
				if mode == "pty" {
					at = from
				}
				b := h.join("a", "resume", resume(job, "from", at, "encoding", "base64"))
				b.gotUpTo(job, stream, len(want))
				var got []byte
				for _, e := range b.all(job, "job/output") {
					if got == nil && e.Offset != int64(from) {
						t.Errorf("output from %d begins at %d", from, e.Offset)
					}
					got = append(got, e.data()...)
				}
				equal(t, fmt.Sprintf("output from %d", from), string(got), want[from:])
				b.cut()
			}
		})
	}
}

// TestEndWhileAway: what a job does while its client is away is there when it comes back: the output, and each event
// once and in order.
func TestEndWhileAway(t *testing.T) {
	h := share(t)
	a := h.join("a")
	job := a.pipe("echo before; read x; echo after", "stdin", "open", "onDetach", "keep")
	a.see(job, "before")
	a.gotUpTo(job, "stdout", len("before\n"))
	a.cut()
	other := h.join("other")
	other.takeInput(job)
	other.write(job, "\n")
	other.await(job, obj{"closed": true})
	b := h.join("a", "resume", resume(job, "after", 1, "from", obj{"stdout": len("before\n")}))
	equal(t, "output", b.output(job, "stdout"), "after\n")
	r := b.resumed()
	equal(t, "last event", num(r.N), 4)
	equal(t, "events", fmt.Sprint(b.numbered(job)), "[inputChanged 2 exited 3 closed 4]")
	// Whoever has seen all of it gets none of it again.
	n := b.listen(job, "after", 4)
	equal(t, "last event", num(n.N), 4)
	b.listen(job, "after", 3)
	b.wait("closed again", func() bool { return len(b.events) > 0 && b.events[len(b.events)-1].N == 4 && b.check.jobs[job].closed })
	b.get(job)
	equal(t, "events", fmt.Sprint(b.numbered(job)), "[inputChanged 2 exited 3 closed 4 closed 4]")
}

// TestManyWhileAway: a client that comes back gets each event that is kept, and not only as many as may wait for a slow
// client.
func TestManyWhileAway(t *testing.T) {
	h := share(t)
	a := h.join("a")
	job := a.pipe("while read x; do echo $x; done", "stdin", "open", "onDetach", "keep", "watch", []obj{{"pattern": `\d+`}})
	a.cut()
	other := h.join("other")
	other.takeInput(job)
	const many = 300
	for i := range many {
		other.write(job, fmt.Sprintln(i))
		other.await(job, obj{"pattern": fmt.Sprintf("(^|\\n)%d\n", i)}, "from", "start")
	}
	other.write(job, "", "eof", true)
	other.await(job, obj{"closed": true})
	b := h.join("a", "resume", resume(job, "after", 1, "from", "start"))
	b.event(job, "job/closed")
	equal(t, "matches", len(b.all(job, "job/patternMatched")), many)
}

// TestSeenToTheEnd: a client that has had job/closed and comes back after it does not get it again.
func TestSeenToTheEnd(t *testing.T) {
	h := share(t)
	a := h.join("a")
	job := a.pipe("echo x")
	last := a.event(job, "job/closed").N
	a.cut()
	b := h.join("a", "resume", resume(job, "after", last, "from", "start"))
	b.gotUpTo(job, "stdout", 2)
	b.get(job)
	equal(t, "events", fmt.Sprint(b.numbered(job)), "[]")
}

// TestResumeGap: if events are no longer all kept, the client is told which ones are.
func TestResumeGap(t *testing.T) {
	h := share(t)
	a := h.join("a")
	watches := slices.Repeat([]obj{{"pattern": "."}}, 16)
	job := a.pipe("for i in 1 2 3; do seq 1000; done; read x", "stdin", "open", "onDetach", "keep", "events", []string{"closed"},
		"watch", watches)
	a.await(job, obj{"pattern": "(1000[^$]*){3}"}, "from", "start")
	a.write(job, "\n")
	a.event(job, "job/closed")
	d := refused[schema.ResumeGapData](a.begin("job/subscribe", obj{"handle": job, "after": 1}), schema.KindResumeGap)
	equal(t, "handle", d.Handle, job)
	equal(t, "after", d.After, 1)
	b := h.join("b", "resume", append(resume(job, "after", 1), obj{"handle": 77}, obj{"handle": job, "after": d.Oldest}))
	all := b.joined.Session.Resumed
	if len(all) != 3 || all[0].Error == nil || all[0].Error.Data == nil || all[1].Error == nil || all[2].N == nil {
		t.Fatalf("resumed: %s", encode(all))
	}
	b.event(job, "job/closed")
	events := b.numbered(job)
	if !strings.HasSuffix(events[0], fmt.Sprintf(" %d", d.Oldest+1)) || int64(len(events)) != *all[2].N-d.Oldest {
		t.Errorf("%d events from %s on, want those after %d to %d", len(events), events[0], d.Oldest, *all[2].N)
	}
	below := d.Oldest - 1
	refused[schema.ResumeGapData](b.begin("job/subscribe", obj{"handle": job, "after": below}), schema.KindResumeGap)
}

// TestWaitingWhileAway: a wait for input that began while its client was away is told by its number.
func TestWaitingWhileAway(t *testing.T) {
	h := share(t)
	a := h.join("a")
	if a.joined.Capabilities.InputDetection.Tier == schema.InputDetectionTierNone {
		t.Skip("waits for input are not seen here")
	}
	gate := newFifo(t)
	job := a.pty(`cat "$GATE"; printf 'more? '; read x`, "env", obj{"GATE": gate.path}, "onDetach", "keep")
	a.listen(job, "events", []string{"waitingForInput", "closed"})
	a.cut()
	other := h.join("other")
	gate.release()
	other.await(job, obj{"input": true})
	b := h.join("a", "resume", resume(job, "after", 1, "events", []string{"waitingForInput", "closed"}))
	if e := b.event(job, "job/waitingForInput"); e.N < 2 {
		t.Errorf("n is %d", e.N)
	}
	other.killNow(job)
	b.event(job, "job/closed")
	if events := b.numbered(job); !slices.IsSorted(events) && len(events) < 2 {
		t.Errorf("events %v", events)
	}
}

// TestJoinDuringInitialize: clients that come at the same time are all let in, and one of them is the first.
func TestJoinDuringInitialize(t *testing.T) {
	h := share(t)
	var calls []*call
	for i := range 8 {
		s := h.connect(-1, -1)
		calls = append(calls, s.begin("initialize", obj{"session": obj{"clientId": fmt.Sprintf("c%d", i)}}))
	}
	first := 0
	for _, c := range calls {
		r := result[schema.InitializeResult](c)
		if r.Session.Attached == schema.SessionAttachedNew {
			first++
			equal(t, "role of the first", r.Session.Role, schema.SessionRoleOwner)
			equal(t, "has a token", r.Session.Token != nil, true)
		} else {
			equal(t, "role of another", r.Session.Role, schema.SessionRoleDriver)
			equal(t, "has a token", r.Session.Token != nil, false)
		}
	}
	equal(t, "first ones", first, 1)
}
