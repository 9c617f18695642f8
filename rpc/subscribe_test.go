package rpc_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// subscribe changes the subscription to a job. The checker checks the messages before and after the answer.
func (s *session) subscribe(handle any, more ...any) {
	s.t.Helper()
	do[schema.JobSubscribeResult](s, "job/subscribe", merged(obj{"handle": handle}, more))
}

func (s *session) unsubscribe(handle any) {
	s.t.Helper()
	do[schema.JobUnsubscribeResult](s, "job/unsubscribe", obj{"handle": handle})
}

// story waits for a job's closed and returns a short form of its events, output by its text.
func (s *session) story(handle int64) string {
	s.t.Helper()
	s.event(handle, "job/closed")
	return s.soFar(handle)
}

func (s *session) soFar(handle int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.soFarLocked(handle)
}

func (s *session) soFarLocked(handle int64) string {
	var all []string
	for _, e := range s.events {
		if e.Handle != handle {
			continue
		}
		name := strings.TrimPrefix(e.Method, "job/")
		if name == "output" {
			name = fmt.Sprintf("%s %d %q", e.Stream, e.Offset, e.data())
		}
		for mark, is := range map[string]bool{" restart": e.Restart, " late": e.Late} {
			if is {
				name += mark
			}
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// stored returns all of a stream, as read with job/read.
func (s *session) stored(handle int64, stream string) string {
	s.t.Helper()
	var all strings.Builder
	for {
		text, r := s.readBytes(handle, "stream", stream, "offset", all.Len(), "maxBytes", 1<<20, "format", "base64")
		all.WriteString(text)
		if !r.HasMore {
			return all.String()
		}
	}
}

// gathered waits until so many bytes of a stream were sent since its last restart.
func (s *session) gathered(handle int64, stream string, n int) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%d bytes of job %d", n, handle), func() bool {
		t := s.check.jobs[handle]
		return t != nil && len(t.data[stream]) >= n
	})
}

// TestSubscribeToClosed: the events of a job without a subscription are sent from its beginning, in order, and then
// never again.
func TestSubscribeToClosed(t *testing.T) {
	s := start(t)
	c := s.begin("job/start", obj{"command": "printf out; printf err >&2", "shell": "sh", "mode": "pipe", "stderr": "merge", "events": []string{}})
	h := result[schema.JobStartResult](c).Job.Handle
	s.await(h, obj{"closed": true})
	s.unsubscribe(h) // has no effect
	equal(t, "unheard", s.soFar(h), "")
	s.subscribe(h, "from", "start")
	equal(t, "told", s.story(h), `started, stdout 0 "outerr" restart, exited, closed`)
	started := s.event(h, "job/started")
	equal(t, "request", string(started.RequestID), c.id)
	equal(t, "status in started", started.Job.Status, schema.StatusClosed)
	equal(t, "exit", s.exit(h), "exited 0")
	again := s.begin("job/subscribe", obj{"handle": h, "from": "start"})
	d := refused[schema.JobExitedData](again, schema.KindJobExited)
	equal(t, "exit of the refusal", exitText(&d.Exit), "exited 0")
	if m := again.answer().Error.Message; !strings.Contains(m, "job/read") {
		t.Errorf("the message does not say what to do: %s", m)
	}
	s.unsubscribe(h)
}

// TestSubscribeAfterExit: for a job that has ended and is not closed, exited is sent, and closed when it happens.
func TestSubscribeAfterExit(t *testing.T) {
	s := start(t)
	h := s.pipe("sleep 60 & printf hi", "events", []string{})
	s.await(h, obj{"exit": true})
	s.subscribe(h, "from", "start")
	s.event(h, "job/exited")
	equal(t, "before the kill", s.soFar(h), `started, stdout 0 "hi" restart, exited`)
	s.kill(h)
	equal(t, "told", s.story(h), `started, stdout 0 "hi" restart, exited, closed`)
}

// TestSubscribeNow: without from, a job without a subscription is sent from now on; its output is marked as starting in
// the middle.
func TestSubscribeNow(t *testing.T) {
	for _, from := range []any{nil, "now", 3, 100, obj{"stdout": 3}} {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			s := start(t)
			h := s.pipe("printf abc; read x; printf def", "stdin", "open", "stderr", "discard", "events", []string{})
			s.see(h, "abc")
			if from == nil {
				s.subscribe(h)
			} else {
				s.subscribe(h, "from", from)
			}
			s.write(h, "\n")
			want := `started, stdout 3 "def" restart, exited, closed`
			if from == 100 {
				want = "started, exited, closed" // there was never so much output
			}
			equal(t, "told", s.story(h), want)
		})
	}
}

// TestSubscribeGoesOn: without from, output continues at its position, whatever else changes: nothing is sent twice or
// left out, not even output from the time when it was not wanted.
func TestSubscribeGoesOn(t *testing.T) {
	s := start(t)
	h := s.pipe("for i in a b c d; do printf $i; read x; done", "stdin", "open")
	next := func(seen string) {
		s.write(h, "\n")
		s.see(h, seen)
	}
	s.see(h, "a")
	s.gathered(h, "stdout", 1)
	s.subscribe(h, "encoding", "base64")
	next("ab")
	s.gathered(h, "stdout", 2)
	s.subscribe(h, "events", []string{"exited", "closed"})
	next("abc")
	s.subscribe(h, "events", []string{"output", "closed"})
	next("abcd")
	s.write(h, "\n")
	equal(t, "output", s.output(h, "stdout"), "abcd")
	for _, e := range s.all(h, "job/output") {
		if e.Restart || e.Base64 == nil && e.Offset > 0 {
			t.Errorf("output at %d: restart %v, base64 %v", e.Offset, e.Restart, e.Base64 != nil)
		}
	}
	if n := len(s.all(h, "job/exited")); n > 0 {
		t.Error("exited was sent, and not asked for")
	}
}

// TestUnsubscribe: nothing follows the answer, however much there is; a later subscription starts anew.
func TestUnsubscribe(t *testing.T) {
	s := start(t, "options", obj{"encoding": "base64", "persist": obj{"mode": "memory"}, "limits": obj{"spoolMemoryBytes": 128 << 10}})
	h := s.pipe("exec yes", "watch", []obj{{"pattern": "y"}})
	for i := range 8 {
		if i%2 == 0 {
			s.unsubscribe(h)
		} else {
			s.subscribe(h, "events", []string{})
		}
		s.mu.Lock()
		before := len(s.events)
		s.mu.Unlock()
		do[schema.JobListResult](s, "job/list", nil)
		s.mu.Lock()
		equal(t, "events after the answer", len(s.events)-before, 0)
		s.mu.Unlock()
		s.subscribe(h, "encoding", "text") // until the next unsubscribe
		s.wait("output", func() bool {
			return slices.ContainsFunc(s.events[before:], func(e event) bool { return e.Method == "job/output" && e.Restart })
		})
	}
	s.kill(h)
	s.event(h, "job/closed")
	n := 0
	for _, e := range s.all(h, "job/output") {
		if e.Restart {
			n++
		}
	}
	equal(t, "restarts", n, 8)
}

// TestUnsubscribeForgets: the output's position and encoding are reset; events that were sent are not sent again.
func TestUnsubscribeForgets(t *testing.T) {
	s := start(t)
	h := s.pipe("for i in a b c; do printf $i; read x; done", "stdin", "open", "stderr", "discard")
	s.gathered(h, "stdout", 1)
	s.subscribe(h, "encoding", "base64")
	s.unsubscribe(h)
	s.write(h, "\n")
	s.see(h, "ab")
	s.subscribe(h)
	s.write(h, "\n\n")
	equal(t, "told", s.story(h), `started, stdout 0 "a", stdout 2 "c" restart, exited, closed`)
	for _, e := range s.all(h, "job/output") {
		if e.Text == nil {
			t.Errorf("output at %d is base64", e.Offset)
		}
	}
}

// TestSubscribeWhileItFloods: whatever the subscription in the middle of a flood, each answer is followed by the stored
// bytes from one position on, once, in the requested encoding. The last subscription gets all of it.
func TestSubscribeWhileItFloods(t *testing.T) {
	needs(t, "seq")
	s := start(t)
	const lines = 120_000
	h := s.pipe(fmt.Sprintf("seq 1 %d; read x; seq %d %d; read x; seq 1 9 >&2", lines/2, lines/2+1, lines), "stdin", "open", "watch", []obj{{"pattern": `\d*77777\n`}})
	wants := []obj{
		{"from": "start"}, {"encoding": "base64"}, {"from": "now"}, {"events": []string{"output"}, "encoding": "text"},
		{"from": obj{"stdout": 4096}}, {"events": []string{"exited", "closed"}}, {"events": []string{"output", "exited", "closed", "patternMatched"}},
		{"from": obj{"stdout": 70_000, "stderr": 0}, "encoding": "base64"}, {"events": []string{}}, {"encoding": "text"},
	}
	var calls []*call
	for i := range 60 {
		w := merged(obj{"handle": h}, nil)
		for k, v := range wants[i%len(wants)] {
			w[k] = v
		}
		if i == 30 {
			s.begin("job/write", obj{"handle": h, "input": "\n"}) // the second half of it
		}
		calls = append(calls, s.begin("job/subscribe", w))
		if i%7 < 5 { // and two pipelined in between
			calls[i].answer()
			s.wait("something", func() bool { return len(s.log) > i })
		}
	}
	last := s.begin("job/subscribe", obj{"handle": h, "from": "start", "events": []string{"output", "exited", "closed"}, "encoding": "text"})
	s.write(h, "\n")
	s.event(h, "job/closed")
	stdout, stderr := s.stored(h, "stdout"), s.stored(h, "stderr")
	equal(t, "pushed stdout", s.output(h, "stdout") == stdout, true)
	equal(t, "pushed stderr", s.output(h, "stderr"), stderr)
	equal(t, "lines", strings.Count(stdout, "\n"), lines)
	s.checkPieces(h, map[string]string{"stdout": stdout, "stderr": stderr}, append(calls, last))
}

// checkPieces compares all output with the stored output, and checks that each stream restarts at most once after each
// answer.
func (s *session) checkPieces(h int64, stored map[string]string, calls []*call) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	restarted := map[string]bool{"stdout": true, "stderr": true} // there was no subscription yet
	for _, l := range s.log {
		var m received
		if l.sent || json.Unmarshal(l.body, &m) != nil {
			continue
		}
		if slices.ContainsFunc(calls, func(c *call) bool { return c.id == string(m.ID) }) {
			restarted = map[string]bool{}
		}
		if m.Method != "job/output" {
			continue
		}
		e := parseEvent(m.Method, m.Params)
		if e.Restart && restarted[e.Stream] {
			s.fail("%s restarts at %d without being asked", e.Stream, e.Offset)
		}
		restarted[e.Stream] = restarted[e.Stream] || e.Restart
		if all := stored[e.Stream]; int(e.Offset)+len(e.data()) > len(all) || all[e.Offset:int(e.Offset)+len(e.data())] != string(e.data()) {
			s.fail("%s at %d is not what job/read has", e.Stream, e.Offset)
		}
	}
}

// TestSubscribeToRun: a client can subscribe to a job/run while it runs. Its events are then not sent again when it
// goes on in the background.
func TestSubscribeToRun(t *testing.T) {
	for _, onTimeout := range []string{"kill", "background"} {
		t.Run(onTimeout, func(t *testing.T) {
			s, f := start(t), newFifo(t)
			ms := any(nil)
			if onTimeout == "background" {
				ms = 300
			}
			run := s.begin("job/run", obj{"command": "printf before; cat " + f.path + "; printf after", "shell": "sh", "timeoutMs": ms, "onTimeout": onTimeout,
				"watch": []obj{{"pattern": "before"}, {"pattern": "after"}}})
			s.see(1, "before")
			s.subscribe(1, "from", "start", "events", []string{"started", "output", "patternMatched", "exited", "closed"})
			if onTimeout == "background" {
				equal(t, "timed out", result[schema.JobRunResult](run).TimedOut, true)
			}
			f.release()
			if onTimeout == "kill" {
				equal(t, "stdout", str(result[schema.JobRunResult](run).Stdout), "beforego\nafter")
			}
			s.event(1, "job/closed")
			equal(t, "pushed", s.output(1, "stdout"), "beforego\nafter")
			equal(t, "request", string(s.event(1, "job/started").RequestID), run.id)
			equal(t, "times started", len(s.all(1, "job/started")), 1)
			if m := s.all(1, "job/patternMatched"); len(m) != 1 || m[0].Match != "after" {
				t.Errorf("matches %+v, want that of what came later", m)
			}
		})
	}
}

// TestUnsubscribeFromRun: no events are sent of such a run if it goes on in the background.
func TestUnsubscribeFromRun(t *testing.T) {
	s, f := start(t), newFifo(t)
	run := s.begin("job/run", obj{"command": "cat " + f.path, "shell": "sh", "timeoutMs": 300, "onTimeout": "background"})
	s.unsubscribe(1)
	equal(t, "timed out", result[schema.JobRunResult](run).TimedOut, true)
	f.release()
	s.await(1, obj{"closed": true})
	do[schema.JobListResult](s, "job/list", nil)
	equal(t, "told", s.soFar(1), "")
	s.subscribe(1, "from", "start")
	equal(t, "told later", s.story(1), `started, stdout 0 "go\n" restart, exited, closed`)
}

// TestSubscribeWithPipelinedStart: the subscription takes effect in its turn, when the job has started.
func TestSubscribeWithPipelinedStart(t *testing.T) {
	s := start(t)
	c := s.begin("job/start", obj{"name": "n", "command": "read x; printf $x", "shell": "sh", "mode": "pipe", "stdin": "open", "events": []string{}})
	sub := s.begin("job/subscribe", obj{"handle": 1, "from": "start", "encoding": "base64"})
	write := s.begin("job/write", obj{"handle": "n", "input": "hello\n"})
	result[schema.JobStartResult](c)
	result[schema.JobSubscribeResult](sub)
	result[schema.JobWriteResult](write)
	equal(t, "told", s.story(1), `started, stdout 0 "hello" restart, exited, closed`)
	failed := s.begin("job/start", obj{"argv": []string{"no-such-program"}, "name": "f"})
	sub = s.begin("job/subscribe", obj{"handle": 2})
	refused[none](failed, schema.KindCommandNotFound)
	refused[none](sub, schema.KindJobNotFound)
}

// TestReplayOfLateOutput: late output is marked as late again, and no chunk has both kinds.
func TestReplayOfLateOutput(t *testing.T) {
	s, f := start(t), newFifo(t)
	h := s.pipe(`(read x <`+f.path+`; printf '\254late'; sleep 60) & printf 'early\342\202'`, "events", []string{"output", "exited"})
	s.event(h, "job/exited")
	f.release()
	s.gathered(h, "stdout", 12)
	s.subscribe(h, "from", "start", "events", []string{"output", "exited", "closed"})
	s.kill(h)
	got := s.story(h)
	if want := `stdout 0 "early" restart, stdout 5 "\xe2\x82", stdout 7 "\xaclate" late, closed`; !strings.HasSuffix(got, want) {
		t.Errorf("told %s, want at the end %s", got, want)
	}
	equal(t, "times exited", len(s.all(h, "job/exited")), 1)
}

// TestSubscribeToTheEnd: events that happened while they were not wanted are sent once they are, and the rest of a
// broken character is not held for ever.
func TestSubscribeToTheEnd(t *testing.T) {
	s := start(t)
	h := s.pipe(`printf 'x\342\202'`, "events", []string{"output"})
	s.await(h, obj{"closed": true})
	s.gathered(h, "stdout", 3)
	s.subscribe(h, "events", []string{"started", "exited"}) // started comes first, or not at all
	s.event(h, "job/exited")
	s.subscribe(h, "events", []string{"output"}, "from", "start")
	s.wait("output once more", func() bool { // all of it: the next subscription drops the rest
		return strings.Count(s.soFarLocked(h), `stdout 1 "\xe2\x82"`) == 2
	})
	s.subscribe(h, "events", []string{"exited", "closed"})
	equal(t, "told", s.story(h), `stdout 0 "x", stdout 1 "\xe2\x82", exited, stdout 0 "x" restart, stdout 1 "\xe2\x82", closed`)
}

// TestSubscribeWithoutEvents: a client that wants no events by default, and subscribes to a job, gets the usual events.
func TestSubscribeWithoutEvents(t *testing.T) {
	s := start(t, "options", obj{"events": []string{}})
	h := s.pipe("printf hi")
	s.await(h, obj{"closed": true})
	equal(t, "unheard", s.soFar(h), "")
	s.subscribe(h, "from", "start")
	equal(t, "told", s.story(h), `started, stdout 0 "hi" restart, exited, closed`)
}

// TestSubscribeGap: output that is no longer kept is reported, even at the beginning.
func TestSubscribeGap(t *testing.T) {
	s := start(t, "options", obj{"persist": obj{"mode": "memory"}, "limits": obj{"spoolMemoryBytes": 128 << 10}})
	h := s.pipe("head -c 1000000 /dev/zero | tr '\\0' x", "events", []string{})
	s.await(h, obj{"closed": true})
	s.subscribe(h, "from", obj{"stdout": 100_000})
	s.event(h, "job/closed")
	out := s.all(h, "job/output")
	if len(out) == 0 || out[0].Gap == nil || out[0].Gap.From != 100_000 || !out[0].Restart {
		t.Fatalf("first output %+v, want a gap from 100000 on", out)
	}
	sum := s.received(h, "stdout")
	equal(t, "bytes and gaps", sum.bytes+sum.gaps, 900_000)
}

// TestSlowClientSubscribes: a client that reads nothing can subscribe again and again, and gets the output for its last
// request.
func TestSlowClientSubscribes(t *testing.T) {
	s := start(t)
	h := s.pipe("head -c 1000000 /dev/zero | tr '\\0' x; read x; exit 3", "stdin", "open")
	s.await(h, obj{"bytes": 1_000_000}, "from", "start")
	s.gate.let(false)
	var calls []*call
	for i := range 50 {
		calls = append(calls, s.begin("job/subscribe", obj{"handle": h, "from": []string{"start", "now"}[i%2]}))
	}
	calls = append(calls, s.begin("job/subscribe", obj{"handle": h, "from": "start", "encoding": "base64"}))
	s.gate.let(true)
	for _, c := range calls {
		result[schema.JobSubscribeResult](c)
	}
	s.gathered(h, "stdout", 1_000_000)
	s.write(h, "\n")
	equal(t, "bytes", len(s.output(h, "stdout")), 1_000_000)
	equal(t, "exit", s.exit(h), "exited 3")
}

// TestShutdownOfASubscription: the end of the server is reported, with all outstanding messages, right after a
// subscription was answered.
func TestShutdownOfASubscription(t *testing.T) {
	s := start(t)
	h := s.pipe("printf hi; sleep 60", "events", []string{})
	s.see(h, "hi")
	sub := s.begin("job/subscribe", obj{"handle": h, "from": "start"})
	s.begin("shutdown", nil)
	s.hangUp()
	if _, err := s.end(); err != nil {
		t.Fatal(err)
	}
	result[schema.JobSubscribeResult](sub)
	equal(t, "told", s.soFar(h), `started, stdout 0 "hi" restart, exited, closed`)
}
