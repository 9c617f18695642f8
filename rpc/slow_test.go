package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

// leastWindow is the minimum of windowBytes.
const leastWindow = 64 << 10

// acking runs a server for a client that acknowledges.
func acking(t *testing.T, limits obj, options ...any) *session {
	t.Helper()
	all := merged(obj{"windowBytes": leastWindow, "spoolMemoryBytes": 128 << 10}, nil)
	for k, v := range limits {
		all[k] = v
	}
	return start(t, "capabilities", obj{"ack": true}, "options", merged(obj{"limits": all}, options))
}

func (s *session) ack(handle any, stream string, offset int64) {
	s.t.Helper()
	s.send(encode(obj{"jsonrpc": "2.0", "method": "job/ack", "params": obj{"handle": handle, "stream": stream, "offset": offset}}))
}

func (s *session) stats() schema.ServerStatsResult {
	s.t.Helper()
	return do[schema.ServerStatsResult](s, "server/stats", obj{})
}

// streamStats returns the statistics of a stream of a job that is live, or has something to be sent.
func (s *session) streamStats(handle int64, stream string) schema.StreamStats {
	s.t.Helper()
	for _, j := range s.stats().PerJob {
		if j.Handle == handle {
			return j.Streams[stream]
		}
	}
	s.t.Fatalf("server/stats has nothing of job %d", handle)
	return schema.StreamStats{}
}

// until polls the statistics of a stream: there is no notification of their changes.
func (s *session) until(handle int64, stream string, cond func(schema.StreamStats) bool) schema.StreamStats {
	s.t.Helper()
	for begun := time.Now(); ; {
		st := s.streamStats(handle, stream)
		if cond(st) || s.t.Failed() {
			return st
		}
		if time.Since(begun) > watchdog {
			s.t.Fatalf("job %d stays at %+v", handle, st)
		}
	}
}

// acknowledge acknowledges the output of a stream until the job is closed.
func (s *session) acknowledge(handle int64, stream string) {
	s.t.Helper()
	for acked := int64(-1); ; {
		var end int64
		closed := false
		s.wait("more output or the end", func() bool {
			for _, e := range s.events {
				if e.Handle == handle && e.Method == "job/output" && e.Stream == stream {
					end = e.Offset + e.Bytes
				}
				closed = closed || e.Handle == handle && e.Method == "job/closed"
			}
			return end > acked || closed
		})
		if closed {
			return
		}
		acked = end
		s.ack(handle, stream, acked)
	}
}

// numbers returns lines of text that are all different.
func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestAckWindow(t *testing.T) {
	s := acking(t, nil)
	h := s.pipe("seq 100000")
	s.await(h, obj{"closed": true}) // its answer waits for no acknowledgement
	st := s.until(h, "stdout", func(st schema.StreamStats) bool { return num(st.SentOffset) >= leastWindow })
	equal(t, "sent without an acknowledgement", num(st.SentOffset), leastWindow)
	equal(t, "unacknowledged", num(st.UnackedBytes), leastWindow)
	equal(t, "events before the output that they speak of", len(s.all(h, "job/exited")), 0)

	s.ack(h, "stdout", 1000)
	s.ack(h, "stdout", 30_000)
	s.ack(h, "stdout", 2000) // a repeated acknowledgement
	st = s.until(h, "stdout", func(st schema.StreamStats) bool { return num(st.SentOffset) >= 30_000+leastWindow })
	equal(t, "sent after 30,000 were acknowledged", num(st.SentOffset), 30_000+leastWindow)

	s.ack(h, "stdout", 100_001+30_000) // not sent: perhaps from before a restart
	equal(t, "sent after more than all was acknowledged", num(s.streamStats(h, "stdout").SentOffset), 30_000+leastWindow)

	s.acknowledge(h, "stdout")
	equal(t, "output", s.output(h, "stdout"), numbers(1, 100_000))
}

// TestBadAckIsTold: an acknowledgement that cannot be used is reported, since output waits for a good one.
func TestBadAckIsTold(t *testing.T) {
	s := acking(t, nil)
	told := func(want int) {
		t.Helper()
		s.wait("log/message", func() bool {
			n := 0
			for _, e := range s.events {
				if e.Method == "log/message" {
					n++
				}
			}
			return n == want
		})
	}
	s.sendBad(`{"jsonrpc":"2.0","method":"job/ack","params":{"handle":1,"stream":"stdout","offset":-1}}`)
	told(1)
	s.ack(77, "stdout", 5) // of a job that may have been forgotten
	h := s.pipe("echo here; read x", "stdin", "open")
	s.ack(h, "pty", 5)
	told(2)
	s.write(h, "go\n")
	equal(t, "output", s.output(h, "stdout"), "here\n")
	told(2)
}

// TestAckOfAForgottenJob: the rest of the output of a forgotten job is acknowledged as usual.
func TestAckOfAForgottenJob(t *testing.T) {
	for _, forget := range []func(*session, int64){
		func(s *session, h int64) { do[schema.JobRemoveResult](s, "job/remove", obj{"handle": h}) },
		func(s *session, _ int64) {
			for range 100 {
				s.run("true")
			}
		},
	} {
		s := acking(t, nil)
		h := s.pipe("seq 20000", "name", "first")
		lives := s.pipe("read x", "stdin", "open")
		s.await(h, obj{"closed": true}, "maxBytes", 0)
		s.until(h, "stdout", func(st schema.StreamStats) bool { return num(st.SentOffset) == leastWindow })
		forget(s, h)
		refused[any](s.begin("job/get", obj{"handle": h}), schema.KindJobNotFound)
		if all := s.stats().PerJob; len(all) != 2 || all[0].Handle != h || all[0].Name != nil || all[1].Handle != lives {
			t.Errorf("the jobs are %+v; want %d, without its name, and %d", all, h, lives)
		}
		st := s.streamStats(h, "stdout")
		equal(t, "sent of a job that is forgotten", num(st.SentOffset), leastWindow)
		equal(t, "and not yet", num(st.LagBytes), int64(len(numbers(1, 20_000)))-leastWindow)
		s.acknowledge(h, "stdout")
		s.event(h, "job/closed")
	}
}

// TestUnsubscribeAForgottenJob: a client can unsubscribe from the rest; then its files are deleted.
func TestUnsubscribeAForgottenJob(t *testing.T) {
	s := acking(t, nil)
	h := s.pipe("seq 20000")
	s.await(h, obj{"closed": true}, "maxBytes", 0)
	s.until(h, "stdout", func(st schema.StreamStats) bool { return num(st.SentOffset) == leastWindow })
	for range 100 {
		s.run("true")
	}
	do[schema.JobUnsubscribeResult](s, "job/unsubscribe", obj{"handle": h})
	refused[any](s.begin("job/unsubscribe", obj{"handle": h}), schema.KindJobNotFound)
	for s.stats().Spool.DiskBytes > 0 && !t.Failed() {
	}
}

// TestAckOfAnotherBeginning: a window starts anew when the output restarts, and acknowledgements for the old output do
// not enlarge it.
func TestAckOfAnotherBeginning(t *testing.T) {
	s := acking(t, nil)
	h := s.pipe("seq 100000; read x", "stdin", "open")
	s.await(h, obj{"bytes": 500_000}, "from", "start", "maxBytes", 0)
	for acked := int64(0); acked < 500_000; {
		acked = num(s.until(h, "stdout", func(st schema.StreamStats) bool { return num(st.SentOffset) > acked }).SentOffset)
		s.ack(h, "stdout", acked)
	}
	do[schema.JobSubscribeResult](s, "job/subscribe", obj{"handle": h, "from": "start"})
	s.ack(h, "stdout", 500_000)
	st := s.until(h, "stdout", func(st schema.StreamStats) bool { return num(st.UnackedBytes) == leastWindow })
	equal(t, "sent of the new beginning", num(st.SentOffset), leastWindow)
	equal(t, "and after another look", num(s.streamStats(h, "stdout").SentOffset), leastWindow)
}

// TestAckUnasked: a client that has not announced acknowledgements need not send any, and its output does not wait.
func TestAckUnasked(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"windowBytes": leastWindow}})
	h := s.pipe("seq 100000")
	s.ack(h, "stdout", 10)
	equal(t, "output", s.output(h, "stdout"), numbers(1, 100_000))
}

// TestAckCharacters: the end of the window does not split a character.
func TestAckCharacters(t *testing.T) {
	s := acking(t, nil)
	const text = "€€€€€€€\n" // 22 bytes, which do not divide any window
	h := s.pipe("yes '" + strings.TrimSpace(text) + "' | head -n 20000")
	s.acknowledge(h, "stdout")
	equal(t, "output", s.output(h, "stdout"), strings.Repeat(text, 20000))
	for _, e := range s.all(h, "job/output") {
		if e.Text == nil {
			t.Fatalf("%d bytes from %d on came as base64", e.Bytes, e.Offset)
		}
	}
}

// TestAckAcrossAGap: output that was never sent needs no acknowledgement.
func TestAckAcrossAGap(t *testing.T) {
	s := acking(t, nil, "persist", obj{"mode": "memory"})
	h := s.pipe("seq 300000; exec 1>&-; read x", "stdin", "open")
	s.await(h, obj{"bytes": len(numbers(1, 300_000))}, "from", "start")
	// A gap is reported when half of the window is free.
	st := s.until(h, "stdout", func(st schema.StreamStats) bool { return num(st.UnackedBytes) > leastWindow/2 })
	for off := int64(0); off < num(st.SentOffset); off += 10_000 { // in parts, one of which may end in the gap
		s.ack(h, "stdout", off)
	}
	s.write(h, "go\n")
	s.acknowledge(h, "stdout")
	gaps := 0
	for _, e := range s.all(h, "job/output") {
		if e.Gap != nil {
			gaps++
		}
	}
	if gaps == 0 {
		t.Error("no gap was told")
	}
	got := s.output(h, "stdout")
	if whole := numbers(1, 300_000); !strings.HasSuffix(whole, got[len(got)-leastWindow/2:]) {
		t.Error("the end of the output did not come")
	}
}

func TestWhenSlowSkip(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"windowBytes": leastWindow}})
	h := s.pipe("seq 300000; read x; echo end", "stdin", "open", "events", []string{})
	s.await(h, obj{"bytes": len(numbers(1, 300_000))}, "from", "start")
	do[schema.JobSubscribeResult](s, "job/subscribe", obj{"handle": h, "events": []string{"output", "exited", "closed"}, "from": "start", "whenSlow": "skip"})
	s.write(h, "go\n")
	s.event(h, "job/closed")
	all := s.all(h, "job/output")
	first := all[0]
	if first.Gap == nil || first.Gap.From != 0 || first.Gap.To < int64(len(numbers(1, 300_000)))-leastWindow {
		t.Fatalf("the first output has the gap %+v", first.Gap)
	}
	var got string
	for i, e := range all {
		if got += string(e.data()); i > 0 && e.Gap != nil {
			t.Errorf("another gap: %+v", e.Gap)
		}
	}
	whole := numbers(1, 300_000) + "end\n"
	if got != whole[first.Offset:] || !strings.HasPrefix(got, strings.SplitN(whole[first.Offset:], "\n", 2)[0]) || whole[first.Offset-1] != '\n' {
		t.Errorf("what came is not the newest lines: %.60q", got)
	}
}

// TestWhenSlowSkipNothing: a client that is not behind loses nothing.
func TestWhenSlowSkipNothing(t *testing.T) {
	s := start(t)
	h := s.pipe("read x; seq 50000", "stdin", "open")
	do[schema.JobSubscribeResult](s, "job/subscribe", obj{"handle": h, "whenSlow": "skip"})
	s.write(h, "go\n")
	equal(t, "output", s.output(h, "stdout"), numbers(1, 50_000))
}

// blocked starts a job that writes without end and waits for a client that does not acknowledge.
func (s *session) blocked(command string) int64 {
	s.t.Helper()
	h := s.pipe("read x; "+command, "stdin", "open")
	do[schema.JobSubscribeResult](s, "job/subscribe", obj{"handle": h, "whenSlow": "block"})
	s.write(h, "go\n")
	st := s.until(h, "stdout", func(st schema.StreamStats) bool { return st.Held != nil && num(st.SentOffset) == leastWindow })
	if st.NextOffset > 3*leastWindow || st.DroppedBytes != 0 {
		s.t.Errorf("a job that waits has %d bytes of output, of which %d are dropped", st.NextOffset, st.DroppedBytes)
	}
	return h
}

func TestWhenSlowBlock(t *testing.T) {
	for _, mode := range []string{"files", "memory"} {
		t.Run(mode, func(t *testing.T) {
			s := acking(t, nil, "persist", obj{"mode": mode})
			h := s.blocked("seq 300000")
			if info := s.get(h); info.Status != schema.StatusRunning {
				t.Errorf("the job is %s", info.Status)
			}
			s.acknowledge(h, "stdout")
			equal(t, "output", s.output(h, "stdout"), numbers(1, 300_000))
			for _, e := range s.all(h, "job/output") {
				if e.Gap != nil {
					t.Fatalf("a gap: %+v", *e.Gap)
				}
			}
		})
	}
}

// TestWhenSlowFromTheStart: if the start asks for it, it applies from the first byte on.
func TestWhenSlowFromTheStart(t *testing.T) {
	s := acking(t, nil, "persist", obj{"mode": "memory"})
	h := s.pipe("seq 300000", "whenSlow", "block")
	s.until(h, "stdout", func(st schema.StreamStats) bool { return st.Held != nil && num(st.SentOffset) == leastWindow })
	s.acknowledge(h, "stdout")
	equal(t, "output", s.output(h, "stdout"), numbers(1, 300_000))

	h = s.pipe(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; read x; echo; seq 300000; read x", leastWindow), "stdin", "open", "whenSlow", "skip")
	s.until(h, "stdout", func(st schema.StreamStats) bool { return num(st.SentOffset) == leastWindow })
	s.write(h, "go\n")
	all := int64(leastWindow + len("\n"+numbers(1, 300_000)))
	s.await(h, obj{"bytes": all}, "from", "start", "maxBytes", 0)
	s.ack(h, "stdout", leastWindow)
	s.wait("the newest", func() bool {
		for _, e := range s.events {
			if e.Handle == h && e.Gap != nil {
				// The kept output starts earlier than the sent output.
				if e.Gap.From != leastWindow || e.Gap.To < all-leastWindow/2 {
					t.Errorf("the gap is %+v of %d", *e.Gap, all)
				}
				return true
			}
		}
		return false
	})

	// A client that does not want output blocks nothing, until it subscribes to it.
	h = s.pipe("seq 300000; read x; yes", "stdin", "open", "whenSlow", "block", "events", []string{"exited"})
	s.await(h, obj{"bytes": len(numbers(1, 300_000))}, "from", "start", "maxBytes", 0)
	do[schema.JobSubscribeResult](s, "job/subscribe", obj{"handle": h, "events": []string{"output"}})
	s.write(h, "go\n")
	s.until(h, "stdout", func(st schema.StreamStats) bool { return st.Held != nil })
}

// TestWhenSlowBlockEnds: a kill, and a change of the subscription, end the wait.
func TestWhenSlowBlockEnds(t *testing.T) {
	s := acking(t, nil)
	// Its last output is more than a pipe holds.
	k := s.kill(s.blocked("trap 'head -c 300000 /dev/zero; exit 5' TERM; yes"))
	equal(t, "status after a kill", k.Job.Status, schema.StatusClosed)
	equal(t, "exit", exitText(k.Job.Exit), "killed 5")

	for _, end := range []func(h int64){
		func(h int64) { do[schema.JobUnsubscribeResult](s, "job/unsubscribe", obj{"handle": h}) },
		func(h int64) {
			do[schema.JobSubscribeResult](s, "job/subscribe", obj{"handle": h, "whenSlow": "spool"})
		},
		func(h int64) {
			do[schema.JobSubscribeResult](s, "job/subscribe", obj{"handle": h, "events": []string{"exited"}})
		},
	} {
		h := s.blocked("seq 300000")
		end(h)
		o := s.await(h, obj{"closed": true}, "maxBytes", 0)
		equal(t, "reason", o.Reason, schema.OutcomeReasonClosed)
		r := do[schema.JobReadResult](s, "job/read", obj{"handle": h, "stream": "stdout", "offset": -7})
		equal(t, "the last line", str(r.Text), "300000\n")
	}
	_ = s.blocked("yes") // The server's end reaches it as well.
}

// TestWhenSlowBlockOutlivesAKill: a kill that a job survives does not end the wait.
func TestWhenSlowBlockOutlivesAKill(t *testing.T) {
	s := acking(t, nil)
	h := s.blocked("trap 'echo alive >&2' TERM; while :; do seq 1000; done")
	k := do[schema.JobKillResult](s, "job/kill", obj{"handle": h, "force": false, "graceMs": 50})
	if len(k.Survivors) == 0 {
		t.Fatal("nobody has survived")
	}
	s.until(h, "stdout", func(st schema.StreamStats) bool { return st.Held != nil })
	s.killNow(h)
}

// TestWhenSlowBlockIsOfOneJob: a slow client delays only the one job for which it has asked for that.
func TestWhenSlowBlockIsOfOneJob(t *testing.T) {
	s := acking(t, nil)
	s.blocked("yes")
	h := s.pipe("seq 300000", "events", []string{})
	equal(t, "reason", s.await(h, obj{"closed": true}, "maxBytes", 0).Reason, schema.OutcomeReasonClosed)
}
