package rpc_test

import (
	"fmt"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

const longAgo = int64(1) // a grace or a lease, in milliseconds, that is over at once

// sleeper starts a job that goes on until it is ended.
func (s *session) sleeper(more ...any) int64 {
	s.t.Helper()
	return do[schema.JobStartResult](s, "job/start", merged(obj{"argv": []string{"sleep", "600"}, "mode": "pipe"}, more)).Job.Handle
}

func endsSoon(info *schema.JobInfo) bool  { return info.EndsAt != nil }
func endsNever(info *schema.JobInfo) bool { return info.EndsAt == nil }

// live reports the handles of live jobs.
func (s *session) live() (all []int64) {
	s.t.Helper()
	for _, j := range do[schema.JobListResult](s, "job/list", obj{"live": true}).Jobs {
		all = append(all, j.Handle)
	}
	return all
}

// TestGraceEnds: the jobs of a client that does not come back end with the reason detached, and those that it keeps do not.
func TestGraceEnds(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	a := h.join("a", "jobs", obj{"graceMs": longAgo})
	ends, keeps := a.sleeper(), a.sleeper("onDetach", "keep")
	info := a.get(ends)
	equal(t, "startedBy", str(info.StartedBy), "a")
	equal(t, "onDetach", *info.OnDetach, schema.OnDetachEnd)
	equal(t, "detachGraceMs", num(info.DetachGraceMs), longAgo)
	watcher.listen(ends, "from", "start")
	watcher.listen(keeps, "from", "start")
	a.cut()
	left := note[schema.SessionClientLeftParams](watcher, "session/clientLeft", 1)
	equal(t, "left", left.ClientID, "a")
	equal(t, "reason", left.Reason, schema.SessionLeaveReasonLost)
	equal(t, "jobs", fmt.Sprint(left.Jobs), fmt.Sprint([]int64{ends}))
	equal(t, "has endsAt", left.EndsAt != nil, true)
	e := watcher.event(ends, "job/exited")
	equal(t, "reason", e.Exit.Reason, schema.ExitReasonDetached)
	watcher.event(ends, "job/closed")
	equal(t, "live", fmt.Sprint(watcher.live()), fmt.Sprint([]int64{keeps}))
}

// TestReturnStopsTheClock: a client that comes back within the grace finds its jobs.
func TestReturnStopsTheClock(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	a := h.join("a")
	job := a.sleeper()
	a.cut()
	watcher.infoWhen(job, "an end", endsSoon)
	b := h.join("a")
	equal(t, "attached", b.joined.Session.Attached, schema.SessionAttachedReturned)
	b.infoWhen(job, "no end", endsNever)
	joined := note[schema.SessionClientJoinedParams](watcher, "session/clientJoined", 2)
	equal(t, "joined", joined.Client.ClientID, "a")
}

// TestGraceOfAnother: that another client leaves does not give the jobs of the first one more time.
func TestGraceOfAnother(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	a, b := h.join("a"), h.join("b")
	job := a.sleeper()
	a.cut()
	before := str(watcher.infoWhen(job, "an end", endsSoon).EndsAt)
	b.leave()
	left := note[schema.SessionClientLeftParams](watcher, "session/clientLeft", 2)
	equal(t, "jobs that end with b", len(left.Jobs), 0)
	equal(t, "reason", left.Reason, schema.SessionLeaveReasonDetached)
	equal(t, "endsAt", str(watcher.get(job).EndsAt), before)
}

// TestClientsWithoutID: clients without an id are one owner. Its jobs wait when the last of them has left, until one
// comes. Each shuts down the jobs that it has started, and those of clients that had left when it came.
func TestClientsWithoutID(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	a, b := h.join(""), h.join("")
	ofA, ofB := a.sleeper(), b.sleeper()
	equal(t, "startedBy", str(a.get(ofA).StartedBy), a.joined.Session.ClientID)
	a.cut()
	left := note[schema.SessionClientLeftParams](watcher, "session/clientLeft", 1)
	equal(t, "jobs that end with a", len(left.Jobs), 0)
	equal(t, "a's job ends", watcher.get(ofA).EndsAt != nil, false)
	c := h.join("")
	c.infoWhen(ofA, "another client", func(info *schema.JobInfo) bool { return str(info.StartedBy) == c.joined.Session.ClientID })
	equal(t, "startedBy", str(c.get(ofB).StartedBy), b.joined.Session.ClientID)
	d := h.join("")
	c.cut()
	equal(t, "a's job ends", watcher.get(ofA).EndsAt != nil, false)
	b.quitShared()
	watcher.await(ofB, obj{"closed": true})
	equal(t, "live", fmt.Sprint(watcher.live()), fmt.Sprint([]int64{ofA}))
	d.cut()
	left = note[schema.SessionClientLeftParams](watcher, "session/clientLeft", 4)
	equal(t, "jobs that end with d", fmt.Sprint(left.Jobs), fmt.Sprint([]int64{ofA}))
	watcher.infoWhen(ofA, "an end", endsSoon)
	e := h.join("")
	e.infoWhen(ofA, "no end", endsNever)
	e.quitShared()
	watcher.await(ofA, obj{"closed": true})
}

// TestViewerWithoutID: a client that only looks on takes over no jobs, and they do not wait for it.
func TestViewerWithoutID(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	a := h.join("")
	job := a.sleeper()
	name := a.joined.Session.ClientID
	a.cut()
	before := str(watcher.infoWhen(job, "an end", endsSoon).EndsAt)
	v := h.join("", "role", "viewer")
	info := v.get(job)
	equal(t, "startedBy", str(info.StartedBy), name)
	equal(t, "endsAt", str(info.EndsAt), before)
	v.cut()
	left := note[schema.SessionClientLeftParams](watcher, "session/clientLeft", 2)
	equal(t, "jobs that end with the viewer", len(left.Jobs), 0)
	equal(t, "endsAt", str(watcher.get(job).EndsAt), before)
}

// TestMadeID: no client may choose an id that the session could make.
func TestMadeID(t *testing.T) {
	h := share(t)
	a := h.join("")
	e := h.refusedJoin(schema.KindInvalidParams, obj{"clientId": a.joined.Session.ClientID})
	equal(t, "pointer", plainJSON(t, e.Data).(obj)["errors"].([]any)[0].(obj)["pointer"], any("/session/clientId"))
	for _, id := range []string{"client-", "client-x", "client-1x", "my-client-1"} {
		h.join(id)
	}
}

// quitShared sends shutdown and exit.
func (s *session) quitShared() {
	s.t.Helper()
	do[schema.ShutdownResult](s, "shutdown", nil)
	s.send(`{"jsonrpc":"2.0","method":"exit"}`)
	s.left()
}

// TestShutdownOfAClient: shutdown ends the client's own jobs at once, and not those that it keeps, nor another's.
func TestShutdownOfAClient(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	a := h.join("a")
	ends, keeps, others := a.sleeper(), a.sleeper("onDetach", "keep"), watcher.sleeper()
	do[schema.ShutdownResult](a, "shutdown", nil)
	equal(t, "runs", watcher.get(ends).Status == schema.StatusRunning, false)
	watcher.await(ends, obj{"closed": true})
	equal(t, "live", fmt.Sprint(watcher.live()), fmt.Sprint([]int64{keeps, others}))
	a.send(`{"jsonrpc":"2.0","method":"exit"}`)
	a.left()
	left := note[schema.SessionClientLeftParams](watcher, "session/clientLeft", 1)
	equal(t, "reason", left.Reason, schema.SessionLeaveReasonDetached)
	equal(t, "jobs", len(left.Jobs), 0)
}

// TestShutdownEndsWaits: a client that shuts down waits for nothing more.
func TestShutdownEndsWaits(t *testing.T) {
	h := share(t)
	a := h.join("a")
	wait := a.begin("job/wait", obj{"handle": a.sleeper("onDetach", "keep"), "until": until(obj{"exit": true})})
	do[schema.ShutdownResult](a, "shutdown", nil)
	refused[schema.CanceledData](wait, schema.KindCanceled)
}

// TestLeaseOfTheSession: jobs that are kept live while no client is there, for the lease; then the session is idle, and
// ends.
func TestLeaseOfTheSession(t *testing.T) {
	h := share(t)
	a := h.join("a", "lease", obj{"detachedMs": longAgo, "idleMs": longAgo})
	job := a.sleeper("onDetach", "keep")
	b := h.join("b")
	a.cut()
	equal(t, "the job ends while a client is there", b.get(job).EndsAt != nil, false)
	b.cut()
	h.done()
	j := h.mgr.All()[0]
	equal(t, "reason", string(j.Published().Exit.Reason), "detached")
}

// TestLeaseOfNoTime: with a lease of 0, the jobs that are kept end as soon as the last client has left.
func TestLeaseOfNoTime(t *testing.T) {
	h := share(t)
	a := h.join("a", "lease", obj{"detachedMs": 0, "idleMs": longAgo})
	equal(t, "detachedMs", encode(a.joined.Session.Lease.DetachedMs), "0")
	a.sleeper("onDetach", "keep")
	a.cut()
	h.done()
	equal(t, "reason", string(h.mgr.All()[0].Published().Exit.Reason), "detached")
}

// TestIdleSession: a session without clients whose last job ends by itself ends.
func TestIdleSession(t *testing.T) {
	h := share(t)
	gate := newFifo(t)
	a := h.join("a", "lease", obj{"idleMs": longAgo})
	a.pipe(`cat "$GATE"`, "env", obj{"GATE": gate.path}, "onDetach", "keep")
	a.leave()
	select {
	case <-h.ss.Done():
		t.Fatal("the session has ended with a live job")
	default:
	}
	gate.release()
	h.done()
}

// TestIdleAfterAFailedStart: a session whose client has gone while a start failed ends, too.
func TestIdleAfterAFailedStart(t *testing.T) {
	for range 20 {
		h := share(t)
		a := h.join("a", "lease", obj{"idleMs": longAgo})
		for range 5 {
			a.begin("job/start", obj{"argv": []string{"no-such-program-at-all"}})
		}
		a.cut()
		h.done()
	}
}

// TestSetLease: job/set changes what becomes of a job, even if its client is away already.
func TestSetLease(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	a := h.join("a")
	job := a.sleeper()
	a.cut()
	watcher.infoWhen(job, "an end", endsSoon)
	kept := do[schema.JobSetResult](watcher, "job/set", obj{"handle": job, "onDetach": "keep"}).Job
	equal(t, "onDetach", *kept.OnDetach, schema.OnDetachKeep)
	watcher.infoWhen(job, "no end", endsNever)
	do[schema.JobSetResult](watcher, "job/set", obj{"handle": job, "onDetach": "end", "detachGraceMs": 0})
	watcher.listen(job, "after", 1)
	equal(t, "exit", watcher.event(job, "job/exited").Exit.Reason, schema.ExitReasonDetached)
}

// TestSessionSet: the session's settings, by its owner.
func TestSessionSet(t *testing.T) {
	h := share(t)
	a := h.join("a", "share", "viewer", "human", true)
	r := do[schema.SessionSetResult](a, "session/set", obj{"lease": obj{"detachedMs": nil, "idleMs": 5}, "share": "none", "jobs": obj{"onDetach": "keep", "graceMs": 7}}).Session
	equal(t, "share", r.Share, schema.SessionShareNone)
	equal(t, "session", encode(r.Lease)+encode(r.Jobs), `{"detachedMs":null,"idleMs":5}{"onDetach":"keep","graceMs":7}`)
	info := a.get(a.sleeper())
	equal(t, "onDetach", *info.OnDetach, schema.OnDetachKeep)
	got := do[schema.SessionGetResult](a, "session/get", nil).Session
	equal(t, "clients", len(got.Clients), 1)
	equal(t, "jobs", fmt.Sprint(got.Clients[0].Jobs), "[1]")
	equal(t, "name", str(got.Name), "test")
}

// TestSessionEnd: session/end ends all jobs and all connections, and answers.
func TestSessionEnd(t *testing.T) {
	h := share(t)
	a, b := h.join("a"), h.join("b")
	one, two := a.sleeper("onDetach", "keep"), b.sleeper()
	a.listen(two)
	waits := b.begin("job/wait", obj{"handle": one, "until": []obj{}})
	do[schema.SessionEndResult](a, "session/end", nil)
	waits.answer()
	a.left()
	b.left()
	h.done()
	for _, s := range []*session{a, b} {
		equal(t, "exit", s.event(two, "job/exited").Exit.Reason, schema.ExitReasonShutdown)
		s.event(two, "job/closed")
	}
}

// TestEndOfAStart: a job whose client goes while it starts does not wait for that client.
func TestEndOfAStart(t *testing.T) {
	h := share(t)
	watcher := h.joinWith("watcher", obj{}, "capabilities", obj{"confirm": true}, "options", obj{"persist": obj{"mode": "memory"}})
	for i := range 30 {
		a := h.connect(-1, -1)
		a.initialize("session", obj{"clientId": "a", "jobs": obj{"onDetach": "keep"}}, "capabilities", obj{"ack": true}, "options", obj{"limits": obj{"windowBytes": 65536}})
		name := fmt.Sprintf("j%d", i)
		a.begin("job/start", obj{"argv": []string{"seq", "300000"}, "mode": "pipe", "whenSlow": "block", "name": name})
		a.cut()
		if all := do[schema.JobListResult](watcher, "job/list", nil).Jobs; len(all) == 0 || all[len(all)-1].Name == nil || *all[len(all)-1].Name != name {
			continue // The server has not read the request.
		}
		watcher.await(name, obj{"closed": true}, "timeoutMs", 10000)
		for _, j := range do[schema.JobListResult](watcher, "job/list", obj{"live": true}).Jobs {
			t.Fatalf("round %d: job %d is %s", i, j.Handle, j.Status)
		}
	}
}

// TestReplaced: a second connection with the same clientId takes the place of the first at once. The last message of the
// first one says so, and what it asks for later is not done.
func TestReplaced(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	a := h.join("a")
	job := a.sleeper("name", "j", "onDetach", "end")
	a.begin("job/wait", obj{"handle": job, "until": []obj{}}) // It is not answered.
	b := h.join("a")
	equal(t, "attached", b.joined.Session.Attached, schema.SessionAttachedReplaced)
	note[schema.SessionReplacedParams](a, "session/replaced", 1)
	a.sendAnyway(`{"jsonrpc":"2.0","id":99,"method":"job/kill","params":{"handle":1}}`)
	a.left()
	a.cutOff.Store(true) // Requests may be unanswered.
	a.wait("the end", func() bool { return a.eof })
	if last := a.log[len(a.log)-1]; !last.sent && string(last.body) != `{"jsonrpc":"2.0","method":"session/replaced","params":{}}` {
		t.Errorf("the last message is %s", last.body)
	}
	left := note[schema.SessionClientLeftParams](watcher, "session/clientLeft", 1)
	equal(t, "reason", left.Reason, schema.SessionLeaveReasonReplaced)
	equal(t, "status", b.get(job).Status, schema.StatusRunning)
	equal(t, "ends", b.get(job).EndsAt != nil, false)
}

// TestReplacesAStalled: a client that reads nothing is replaced at once, and what was sent to it is sent to its next
// connection.
func TestReplacesAStalled(t *testing.T) {
	h := share(t)
	a := h.join("a")
	a.gate.let(false)
	a.begin("job/start", obj{"argv": []string{"seq", "100000"}, "mode": "pipe", "name": "j", "key": "k"})
	watcher := h.join("watcher")
	watcher.infoOf("j")
	watcher.await("j", obj{"closed": true}, "maxBytes", 0)
	b := h.join("a", "resume", resume(1, "after", 0, "from", "start"))
	equal(t, "attached", b.joined.Session.Attached, schema.SessionAttachedReplaced)
	equal(t, "output", b.output(1, "stdout"), numbers(1, 100_000))
	a.cutOff.Store(true)
	a.gate.let(true)
	a.left()
}

// infoOf waits until there is a job with a name.
func (s *session) infoOf(name string) {
	s.t.Helper()
	for end := time.Now().Add(watchdog); time.Now().Before(end); {
		if a := s.begin("job/get", obj{"handle": name}).answer(); a.Error == nil {
			return
		}
	}
	s.fatal("there is no job " + name)
}

// sendAnyway sends a message that the server may not read any more.
func (s *session) sendAnyway(body string) {
	_, _ = s.in.Write([]byte(framed(s.framing, body)))
}

// TestLostClient: a client that answers no ping is gone; one that does is not.
func TestLostClient(t *testing.T) {
	h := share(t)
	watcher := h.join("watcher")
	limits := obj{"limits": obj{"pingMs": 10, "lostMs": 50}}
	a := h.joinWith("a", obj{}, "capabilities", obj{"ping": true}, "options", limits)
	equal(t, "pingMs", num(a.joined.Limits.PingMs), 10)
	equal(t, "lostMs", num(a.joined.Limits.LostMs), 50)
	note[schema.PingParams](a, "$/ping", 1)
	left := note[schema.SessionClientLeftParams](watcher, "session/clientLeft", 1)
	equal(t, "reason", left.Reason, schema.SessionLeaveReasonLost)
	a.left()
	watcher.send(`{"jsonrpc":"2.0","method":"$/ping","params":{"t":5}}`)
	equal(t, "t", num(note[schema.PongParams](watcher, "$/pong", 1).T), 5)
}
