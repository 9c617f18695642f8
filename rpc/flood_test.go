package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// inParallel is the number of commands that live at the same time.
const inParallel = 8

// TestManyShortCommands: alternately on terminals and pipes, each writes a text that the test knows and ends. None
// loses a byte; the checker checks the order of the events.
func TestManyShortCommands(t *testing.T) {
	s := start(t)
	total := scaled(10_000, 1_000, 200)
	calls := make([]*call, total)
	for i := range total {
		if i >= inParallel {
			s.finishCommand(i-inParallel, calls[i-inParallel])
		}
		mode := "pipe"
		if i%2 == 1 {
			mode = "pty"
		}
		calls[i] = s.begin("job/start", obj{"argv": []string{"printf", commandText(i)}, "mode": mode})
	}
	for i := max(total-inParallel, 0); i < total; i++ {
		s.finishCommand(i, calls[i])
	}
}

func commandText(i int) string { return fmt.Sprintf("%d:%s", i, strings.Repeat("abcdefg ", i%60)) }

func (s *session) finishCommand(i int, c *call) {
	s.t.Helper()
	h := result[schema.JobStartResult](c).Job.Handle
	stream := "stdout"
	if i%2 == 1 {
		stream = "pty"
	}
	s.wait(fmt.Sprintf("closed of command %d", i), func() bool { t := s.check.jobs[h]; return t != nil && t.closed })
	s.mu.Lock()
	defer s.mu.Unlock()
	track := s.check.jobs[h]
	equal(s.t, fmt.Sprintf("output of command %d", i), string(track.data[stream]), commandText(i))
	equal(s.t, fmt.Sprintf("exit of command %d", i), exitText(track.exited.Exit), "exited 0")
	track.data = nil
}

// TestSlowClient: while a client reads nothing, jobs run to their end and requests take effect. Later every byte
// arrives, or a gap is reported.
func TestSlowClient(t *testing.T) {
	for _, c := range []struct {
		name string
		keep int // spoolMemoryBytes
	}{{"all kept", 4 << 20}, {"gaps", 128 << 10}} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, "options", obj{"persist": obj{"mode": "memory"}, "limits": obj{"spoolMemoryBytes": c.keep}})
			const size = 2 << 20
			floods := s.floodUnread(size)
			for _, h := range floods {
				s.event(h, "job/closed")
				sum := s.received(h, "stdout")
				equal(t, "bytes and gaps", sum.bytes+sum.gaps, size)
				equal(t, "exit", s.exit(h), "exited 0")
				if (c.keep > size) != (sum.gaps == 0) {
					t.Errorf("job %d: %d bytes were dropped of %d, %d are kept", h, sum.gaps, size, c.keep)
				}
			}
		})
	}
}

// floodUnread starts three jobs that write size bytes each. It waits for their end, and for that of a job that gets
// input, all while it reads nothing. Then it reads on.
func (s *session) floodUnread(size int) (floods []int64) {
	s.t.Helper()
	obeyed := newFifo(s.t)
	done := []fifo{newFifo(s.t), newFifo(s.t), newFifo(s.t)}
	obedient := s.pipe("read l; echo obeyed $l >"+obeyed.path, "stdin", "open")
	var calls []*call
	s.gate.let(false)
	for i, f := range done {
		calls = append(calls, s.begin("job/start", obj{"name": fmt.Sprint("flood", i), "shell": "sh", "mode": "pipe",
			"command": fmt.Sprintf("head -c %d /dev/zero | tr '\\0' %d; read x <%s", size, i, f.path)}))
	}
	write := s.begin("job/write", obj{"handle": obedient, "input": "at once\n"})
	equal(s.t, "the job that is written to", obeyed.read(), "obeyed at once\n")
	for _, f := range done {
		f.release() // received by a job that has written everything
	}
	run := s.begin("job/run", obj{"argv": []string{"true"}})
	s.gate.let(true)
	result[schema.JobWriteResult](write)
	equal(s.t, "run", exitText(result[schema.JobRunResult](run).Exit), "exited 0")
	for _, c := range calls {
		floods = append(floods, result[schema.JobStartResult](c).Job.Handle)
	}
	return floods
}

// A sum is the number of received and of missing bytes of a stream.
type sum struct{ bytes, gaps int64 }

func (s *session) received(h int64, stream string) (n sum) {
	s.mu.Lock()
	defer s.mu.Unlock()
	track := s.check.jobs[h]
	n.bytes = int64(len(track.data[stream]))
	for _, g := range track.gaps {
		n.gaps += g.To - g.From
	}
	return n
}

// TestAnswersOvertakeOutput: while three jobs flood, requests are answered, and the events of a quiet job arrive.
func TestAnswersOvertakeOutput(t *testing.T) {
	s := start(t, "options", obj{"persist": obj{"mode": "memory"}, "limits": obj{"spoolMemoryBytes": 128 << 10}})
	var floods []int64
	for range 3 {
		floods = append(floods, s.pipe("exec yes"))
	}
	for range 20 {
		do[schema.JobListResult](s, "job/list", nil)
	}
	for i := range 3 {
		h := s.pty(fmt.Sprint("echo quiet ", i))
		equal(t, "output", s.output(h, "pty"), fmt.Sprintf("quiet %d\r\n", i))
	}
	for _, h := range floods {
		s.kill(h)
	}
}
