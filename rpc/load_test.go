package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// scaled returns the number of repetitions of a test: all with -long, many with -ci, and few otherwise, since the
// checker takes long for each message.
func scaled(all, many, few int) int {
	switch {
	case *long:
		return all
	case *inCI:
		return many
	}
	return few
}

// TestManyInFlight: each of very many requests that wait at the same time is answered.
func TestManyInFlight(t *testing.T) {
	s := start(t)
	h := s.pipe("read x", "stdin", "open")
	waits := make([]*call, scaled(10_000, 2000, 500))
	for i := range waits {
		until := []obj{{"exit": true}, {"pattern": fmt.Sprintf("never %d", i%10)}}[i%2]
		waits[i] = s.begin("job/wait", obj{"handle": h, "until": []obj{until}, "timeoutMs": nil})
	}
	equal(t, "in flight", s.stats().Connection.RequestsInFlight, int64(len(waits)+1))
	s.write(h, "go\n")
	for i, c := range waits {
		if o := result[schema.JobWaitResult](c).Outcome; o.Reason != schema.OutcomeReasonExit {
			t.Fatalf("wait %d ended with %s", i, o.Reason)
		}
	}
}

// TestManyJobsAtOnce: many jobs print much output at the same time, and none loses a byte. The checker checks that
// their events are in order and their offsets add up.
func TestManyJobsAtOnce(t *testing.T) {
	const lines = 1 << 16 // of 16 bytes: 1 MiB
	s := start(t, "options", obj{"limits": obj{"maxJobs": 400}})
	calls := make([]*call, scaled(200, 60, 12))
	for i := range calls {
		mode := []string{"pipe", "pty"}[i%2]
		calls[i] = s.begin("job/start", obj{"argv": []string{"sh", "-c", fmt.Sprintf("stty -opost 2>/dev/null; yes job-%03d-of-many | head -n %d", i, lines)}, "mode": mode})
	}
	for i, c := range calls {
		h := result[schema.JobStartResult](c).Job.Handle
		stream := []string{"stdout", "pty"}[i%2]
		if got := s.output(h, stream); got != strings.Repeat(fmt.Sprintf("job-%03d-of-many\n", i), lines) {
			t.Fatalf("of job %d came %d bytes, or others than were written", i, len(got))
		}
		equal(t, "exit", s.exit(h), "exited 0")
		s.mu.Lock()
		s.check.jobs[h].data[stream] = nil
		s.mu.Unlock()
	}
}

// TestManyPipelined sends starts, and right after each a kill of the job by its name.
func TestManyPipelined(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"maxJobs": 2000}})
	type pair struct{ start, kill *call }
	all := make([]pair, scaled(1000, 200, 60))
	for i := range all {
		name := fmt.Sprintf("j%d", i)
		mode := []string{"pipe", "pty"}[i%2]
		all[i].start = s.begin("job/start", obj{"argv": []string{"sleep", "60"}, "name": name, "mode": mode})
		all[i].kill = s.begin("job/kill", obj{"handle": name, "graceMs": 0})
	}
	for _, p := range all {
		h := result[schema.JobStartResult](p.start).Job.Handle
		k := result[schema.JobKillResult](p.kill)
		equal(t, "killed job", k.Job.Handle, h)
		equal(t, "status", k.Job.Status, schema.StatusClosed)
		equal(t, "exit", exitText(k.Job.Exit), "killed SIGKILL")
	}
}
