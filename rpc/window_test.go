package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// held runs a server whose jobs wait for the reader of their output.
func held(t *testing.T, window int64) *session {
	t.Helper()
	s := open(t, func(set *settings) { set.server.Window = window })
	s.initialize("options", obj{"limits": obj{"spoolMemoryBytes": 262144}})
	return s
}

// next reads the next output by cursor, as far as there is any.
func (s *session) next(handle int64, more ...any) schema.JobReadResult {
	s.t.Helper()
	return do[schema.JobReadResult](s, "job/read", merged(obj{"handle": handle, "stream": "stdout", "waitMs": watchdog.Milliseconds()}, more))
}

// TestWindowLosesNothing: without a window most of this would be dropped: it is far more than the server keeps.
func TestWindowLosesNothing(t *testing.T) {
	const window = 64 << 10
	s := held(t, window)
	h := s.pipe("seq 500000", "events", []string{})
	var got strings.Builder
	for {
		r := s.next(h)
		if r.Gap != nil {
			t.Fatalf("lost: %+v", *r.Gap)
		}
		got.WriteString(str(r.Text))
		if ahead := r.Job.Streams["stdout"].NextOffset - r.Offset; ahead > 2*window+chunk {
			t.Fatalf("%d bytes are stored ahead of the reader", ahead)
		}
		if !r.HasMore && r.Job.Status == schema.StatusClosed {
			break
		}
	}
	var want strings.Builder
	for i := range 500000 {
		fmt.Fprintln(&want, i+1)
	}
	if got.String() != want.String() {
		t.Errorf("%d bytes came, %d were written, or others", got.Len(), want.Len())
	}
}

// chunk is the maximum of one read from the kernel.
const chunk = 64 << 10

// TestWindowTellsTheEndUnread: the leader's end is reported even if nothing is read, and its output in the pipe can be
// read afterwards.
func TestWindowTellsTheEndUnread(t *testing.T) {
	s := held(t, 4096)
	h := s.pipe("head -c 60000 /dev/zero")
	s.event(h, "job/exited")
	s.event(h, "job/closed")
	n := 0
	for {
		r := s.next(h)
		n += len(str(r.Text))
		if !r.HasMore {
			break
		}
	}
	if n != 60000 {
		t.Errorf("%d bytes came of 60000", n)
	}
}

// TestWindowDoesNotHoldUpAKill: a job that is killed may write its last output, however much of it is unread.
func TestWindowDoesNotHoldUpAKill(t *testing.T) {
	s := held(t, 4096)
	const command = "trap 'echo bye; exit 5' TERM; yes"
	// Until yes runs: a TERM during the shell's fork would miss it.
	runs := obj{"until": []obj{{"bytes": 4000}}}
	for _, h := range []int64{
		s.pipe(command, "events", []string{}, "wait", runs),
		s.pty(command, "events", []string{}, "wait", runs),
	} {
		k := s.kill(h)
		if k.Job.Status != schema.StatusClosed || k.Job.Exit == nil || k.Job.Exit.Code == nil || *k.Job.Exit.Code != 5 {
			t.Errorf("job %d is %s after a kill, exit %+v", h, k.Job.Status, k.Job.Exit)
		}
	}
}

// TestWindowIsOfEachStream: an unread stream does not block another one of the same job.
func TestWindowIsOfEachStream(t *testing.T) {
	s := held(t, 4096)
	h := s.pipe("yes & echo here >&2; wait", "events", []string{})
	r := s.next(h, "stream", "stderr")
	equal(t, "stderr", str(r.Text), "here\n")
	s.kill(h)
}
