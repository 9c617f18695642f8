package rpc_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

// merged adds members to params, given as pairs of a name and a value.
func merged(p obj, more []any) obj {
	for i := 0; i < len(more); i += 2 {
		p[more[i].(string)] = more[i+1]
	}
	return p
}

// flat returns the members of an object as pairs.
func flat(o obj) (pairs []any) {
	for name, value := range o {
		pairs = append(pairs, name, value)
	}
	return pairs
}

// pipe starts a command of sh in pipe mode and returns its handle.
func (s *session) pipe(command string, more ...any) int64 {
	s.t.Helper()
	return do[schema.JobStartResult](s, "job/start", merged(obj{"command": command, "shell": "sh", "mode": "pipe"}, more)).Job.Handle
}

// pty is the same on a terminal.
func (s *session) pty(command string, more ...any) int64 {
	s.t.Helper()
	return do[schema.JobStartResult](s, "job/start", merged(obj{"command": command, "shell": "sh"}, more)).Job.Handle
}

// run runs a command of sh to its end.
func (s *session) run(command string, more ...any) schema.JobRunResult {
	s.t.Helper()
	return do[schema.JobRunResult](s, "job/run", merged(obj{"command": command, "shell": "sh"}, more))
}

// await waits until one condition of a job holds, and returns the outcome, whatever its reason.
func (s *session) await(handle any, condition obj, more ...any) schema.Outcome {
	s.t.Helper()
	return do[schema.JobWaitResult](s, "job/wait", merged(obj{"handle": handle, "until": []obj{condition}}, more)).Outcome
}

// see waits until a pattern has matched in all the output so far.
func (s *session) see(handle int64, pattern string) schema.Outcome {
	s.t.Helper()
	o := s.await(handle, obj{"pattern": pattern}, "from", "start")
	if o.Reason != schema.OutcomeReasonPattern {
		s.t.Fatalf("the wait for %q ended with %s; output %v", pattern, o.Reason, texts(o))
	}
	return o
}

// texts returns the output of an outcome by stream.
func texts(o schema.Outcome) map[string]string {
	m := map[string]string{}
	for name, out := range o.Output {
		if out.Text != nil {
			m[name] = *out.Text
		}
	}
	return m
}

// write types text into a job.
func (s *session) write(handle any, input string, more ...any) schema.JobWriteResult {
	s.t.Helper()
	return do[schema.JobWriteResult](s, "job/write", merged(obj{"handle": handle, "input": input}, more))
}

func (s *session) kill(handle any) schema.JobKillResult {
	s.t.Helper()
	return do[schema.JobKillResult](s, "job/kill", obj{"handle": handle})
}

// killNow kills a job that would use up the whole grace.
func (s *session) killNow(handle any) {
	s.t.Helper()
	do[schema.JobKillResult](s, "job/kill", obj{"handle": handle, "graceMs": 0})
}

func (s *session) get(handle any) schema.JobInfo {
	s.t.Helper()
	return do[schema.JobGetResult](s, "job/get", obj{"handle": handle}).Job
}

// event waits for the first event of a job with a method.
func (s *session) event(handle int64, method string) (found event) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%s of job %d", method, handle), func() bool {
		for _, e := range s.events {
			if e.Handle == handle && e.Method == method {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// all returns the events of a job with a method so far.
func (s *session) all(handle int64, method string) (found []event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Handle == handle && e.Method == method {
			found = append(found, e)
		}
	}
	return found
}

// output waits for a job's end and returns all the output of a stream that was sent.
func (s *session) output(handle int64, stream string) string {
	s.t.Helper()
	s.event(handle, "job/closed")
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.check.jobs[handle].data[stream])
}

// exit waits for a job's exited and returns how it ended, as "exited 0" or "killed SIGTERM".
func (s *session) exit(handle int64) string {
	s.t.Helper()
	return exitText(s.event(handle, "job/exited").Exit)
}

func exitText(e *schema.Exit) string {
	switch {
	case e == nil:
		return "none"
	case e.Code != nil:
		return fmt.Sprintf("%s %d", e.Reason, *e.Code)
	case e.Signal != nil:
		return fmt.Sprintf("%s %s", e.Reason, *e.Signal)
	}
	return string(e.Reason)
}

// equal compares two values that fmt shows in full.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, show(got), show(want))
	}
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%.600q", s)
	}
	return fmt.Sprint(v)
}

func str(p *string) string {
	if p == nil {
		return "(absent)"
	}
	return *p
}

// deref returns *p. If p is nil, it ends the test, but not the run of the whole package.
func deref[T any](t testing.TB, p *T) T {
	t.Helper()
	if p == nil {
		t.Fatal("a value is missing")
	}
	return *p
}

func num(p *int64) int64 {
	if p == nil {
		return -1
	}
	return *p
}

// A fifo is a channel by which a job reports to the test, or waits for it, without the server.
type fifo struct {
	t    *testing.T
	path string
}

func newFifo(t *testing.T) fifo {
	t.Helper()
	needs(t, "mkfifo")
	f := fifo{t, filepath.Join(t.TempDir(), "fifo")}
	if out, err := exec.Command("mkfifo", f.path).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %v: %s", err, out)
	}
	return f
}

// read waits for one message of a job.
func (f fifo) read() string {
	f.t.Helper()
	return f.bounded(func() (string, error) {
		b, err := os.ReadFile(f.path)
		return string(b), err
	})
}

// release lets a job that reads from the fifo go on.
func (f fifo) release() {
	f.t.Helper()
	f.bounded(func() (string, error) { return "", os.WriteFile(f.path, []byte("go\n"), 0) })
}

func (f fifo) bounded(do func() (string, error)) string {
	f.t.Helper()
	type done struct {
		text string
		err  error
	}
	c := make(chan done, 1)
	go func() {
		text, err := do()
		c <- done{text, err}
	}()
	select {
	case d := <-c:
		if d.err != nil {
			f.t.Fatal(d.err)
		}
		return d.text
	case <-time.After(watchdog):
		f.t.Fatal("nobody is at the other end of the fifo")
	}
	return ""
}
