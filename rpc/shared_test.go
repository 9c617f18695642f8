package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// A shared is a session of several clients, in this process. Its end is checked: every request is answered, but for
// those of connections that were cut, and no job is left.
type shared struct {
	t     *testing.T
	mgr   *jobs.Manager
	ss    *rpc.Session
	began time.Time

	mu      sync.Mutex
	clients []*session
}

func share(t *testing.T) *shared {
	t.Helper()
	if len(jobs.Platform().Modes) == 0 {
		t.Skip("there are no jobs on this system")
	}
	m, err := jobs.NewManager(jobs.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	h := &shared{t: t, mgr: m, ss: rpc.NewSession(m, rpc.Options{SessionName: "test"}), began: time.Now()}
	t.Cleanup(h.finish)
	return h
}

// connect opens a connection and sends nothing. The connection is cut once the server has read or written so many bytes;
// a negative number stands for never.
func (h *shared) connect(readBytes, writtenBytes int64) *session {
	h.t.Helper()
	inR, inW := io.Pipe()
	outR, outW := newPipe(h.t)
	s := &session{
		t: h.t, in: inW, gate: newGate(outR), framing: rpc.FramingHeader, cancel: func() {}, began: h.began,
		changed: make(chan struct{}), check: newChecker(), told: map[string]bool{}, answers: map[string][]answer{}, over: make(chan struct{}),
	}
	s.check.shared, s.check.chosen = true, true
	var once sync.Once
	s.tear = func() {
		once.Do(func() {
			s.cutOff.Store(true)
			_ = inR.Close()
			_ = outW.Close()
		})
	}
	h.mu.Lock()
	h.clients = append(h.clients, s)
	h.mu.Unlock()
	go func() {
		s.clean, s.err = h.ss.Serve(context.Background(), &cutReader{inR, readBytes, s.tear}, cutting(outW, writtenBytes, s.tear))
		_ = inR.Close()
		_ = outW.Close()
		close(s.over)
	}()
	go s.read()
	return s
}

// join connects a client, with members of initialize.session given as pairs of a name and a value. An empty id stands
// for none.
func (h *shared) join(id string, session ...any) *session {
	h.t.Helper()
	return h.joinWith(id, merged(obj{}, session))
}

// joinWith is join with other params of initialize.
func (h *shared) joinWith(id string, session obj, params ...any) *session {
	h.t.Helper()
	s := h.connect(-1, -1)
	s.initialize(append([]any{"session", named(id, session)}, params...)...)
	return s
}

// named returns initialize.session for a client with that id.
func named(id string, session obj) obj {
	if id != "" {
		session["clientId"] = id
	}
	return session
}

// refusedJoin is joinWith for a client that is not let in.
func (h *shared) refusedJoin(kind schema.Kind, session obj) *failure {
	h.t.Helper()
	s := h.connect(-1, -1)
	a := s.begin("initialize", obj{"session": session}).answer()
	if a.Error == nil {
		h.t.Fatalf("initialize with %v: %s, want %s", session, a.Result, kind)
	}
	a.Error.is(h.t, kind)
	s.hangUp()
	return a.Error
}

// cut ends a connection in both directions, and waits until the session has noticed.
func (s *session) cut() {
	s.t.Helper()
	s.tear()
	s.left()
}

// left waits until the connection has ended.
func (s *session) left() {
	s.t.Helper()
	s.settled = true
	select {
	case <-s.over:
	case <-time.After(watchdog):
		s.fatal("the connection does not end")
	}
}

// leave detaches the client.
func (s *session) leave() {
	s.t.Helper()
	do[schema.SessionDetachResult](s, "session/detach", nil)
	s.left()
}

// done waits for the end of the session.
func (h *shared) done() {
	h.t.Helper()
	select {
	case <-h.ss.Done():
	case <-time.After(watchdog):
		h.t.Fatal("the session does not end")
	}
}

func (h *shared) finish() {
	h.mu.Lock()
	clients := h.clients
	h.mu.Unlock()
	for _, s := range clients {
		s.gate.let(true)
	}
	ended := make(chan struct{})
	go func() {
		h.ss.End()
		close(ended)
	}()
	select {
	case <-ended:
		h.done()
	case <-time.After(watchdog):
		h.t.Error("the session cannot be ended")
	}
	for _, s := range clients {
		s.left()
		_ = s.in.Close()
		if s.cutOff.Load() {
			continue
		}
		s.comes("the end of the server's output", func() bool { return s.eof })
		for _, bad := range s.ended() {
			s.fail("%s", bad)
		}
	}
	for _, j := range h.mgr.All() {
		select {
		case <-j.Vacant():
		default:
			h.t.Errorf("job %d is left after the end of the session", j.ID())
		}
	}
	if err := h.mgr.Close(); err != nil {
		h.t.Error(err)
	}
	if h.t.Failed() {
		for i, s := range clients {
			h.t.Logf("connection %d:", i+1)
			s.dump()
		}
	}
}

// note waits for the n-th notification of a method, counted from 1, and returns its params.
func note[T any](s *session, method string, n int) (params T) {
	s.t.Helper()
	var raw json.RawMessage
	s.wait(fmt.Sprintf("%s number %d", method, n), func() bool {
		seen := 0
		for _, e := range s.events {
			if e.Method == method {
				if seen++; seen == n {
					raw = e.params
					return true
				}
			}
		}
		return false
	})
	if err := json.Unmarshal(raw, &params); err != nil {
		s.t.Fatal(err)
	}
	return params
}

// listen subscribes a client to a job.
func (s *session) listen(handle int64, params ...any) schema.JobSubscribeResult {
	s.t.Helper()
	return do[schema.JobSubscribeResult](s, "job/subscribe", merged(obj{"handle": handle}, params))
}

// infoWhen waits until the info of a job is as wanted.
func (s *session) infoWhen(handle int64, what string, is func(*schema.JobInfo) bool) schema.JobInfo {
	s.t.Helper()
	for end := time.Now().Add(watchdog); time.Now().Before(end); {
		if info := s.get(handle); is(&info) {
			return info
		}
	}
	s.fatal(fmt.Sprintf("job %d never has %s", handle, what))
	return schema.JobInfo{}
}

var errCut = errors.New("the connection is cut")

// A cutReader cuts its connection after so many bytes; a negative number stands for never.
type cutReader struct {
	r    io.Reader
	left int64
	cut  func()
}

func (c *cutReader) Read(p []byte) (int, error) {
	if c.left < 0 {
		return c.r.Read(p)
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	if c.left -= int64(n); c.left == 0 {
		c.cut()
	}
	return n, err
}

// A cutWriter is the same for the other direction.
type cutWriter struct {
	w    io.Writer
	left int64
	cut  func()
}

// cutting returns w itself if it is never cut: it may be able to write without blocking.
func cutting(w io.Writer, left int64, cut func()) io.Writer {
	if left < 0 {
		return w
	}
	return &cutWriter{w, left, cut}
}

func (c *cutWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p[:min(int64(len(p)), c.left)])
	if c.left -= int64(n); c.left == 0 {
		c.cut()
		return n, errCut
	}
	return n, err
}
