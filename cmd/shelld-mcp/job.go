package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"shelld/rpc"
	"shelld/schema"
)

// A job is what this side knows of one: how the host may name it, and how far its output was
// told. Everything else is asked for.
type job struct {
	// Immutable once it was started:
	handle  int64
	pid     int64
	session string // the sessionId of CliSession; "" = it has none

	exited chan struct{} // closed when the server has told of the leader's end
	hint   *schema.Hint  // why a shell could not run the command; to be read once exited is closed

	reading sync.Mutex // held while what is new is taken, and by nobody who waits for it
	next    int64      // offset of the first byte that was not told yet
}

// id is what names the job in the protocol.
func (j *job) id() json.RawMessage { return handleID(j.handle) }

func handleID(handle int64) json.RawMessage { return strconv.AppendInt(nil, handle, 10) }

// A ledger has the jobs that were started, by all their names. The newest maxJobs are kept:
// the server itself forgets closed ones much sooner.
type ledger struct {
	mu       sync.Mutex
	byHandle map[int64]*job
	byPID    map[int64]*job  // of several with the same pid, since the system reuses it, the last
	sessions map[string]*job // of several with the same name the last
	order    []*job          // oldest first
}

const maxJobs = 4096

func newLedger() *ledger {
	return &ledger{byHandle: map[int64]*job{}, byPID: map[int64]*job{}, sessions: map[string]*job{}}
}

// of returns the job with a handle, which the server may have told of before the answer to
// its start.
func (l *ledger) of(handle int64) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ofLocked(handle)
}

func (l *ledger) ofLocked(handle int64) *job {
	j := l.byHandle[handle]
	if j == nil {
		j = &job{handle: handle, exited: make(chan struct{})}
		l.byHandle[handle] = j
		l.order = append(l.order, j)
		l.pruneLocked()
	}
	return j
}

func (l *ledger) pruneLocked() {
	for len(l.order) > maxJobs {
		old := l.order[0]
		l.order = l.order[1:]
		delete(l.byHandle, old.handle)
		if l.byPID[old.pid] == old {
			delete(l.byPID, old.pid)
		}
		if l.sessions[old.session] == old {
			delete(l.sessions, old.session)
		}
	}
}

// started notes a job that was started.
func (l *ledger) started(handle, pid int64, session string) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.ofLocked(handle)
	if j.pid != 0 {
		return j // Others may be reading it.
	}
	j.pid, j.session = pid, session
	l.byPID[pid] = j
	if session != "" {
		l.sessions[session] = j
	}
	return j
}

// byNumber finds a job by its handle or its pid, whichever the host has kept. Where both
// would do, the one that the parameter is named after counts.
func (l *ledger) byNumber(n int64, pidFirst bool) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, second := l.byHandle[n], l.byPID[n]
	if first != nil && first.pid == 0 {
		first = nil // Its start was not answered yet: nobody can have been told of it.
	}
	if pidFirst {
		first, second = second, first
	}
	if first != nil {
		return first
	}
	return second
}

// bySession finds a job by its sessionId.
func (l *ledger) bySession(id string) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[id]
}

// sessionOf is the sessionId of a job, or "".
func (l *ledger) sessionOf(handle int64) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j := l.byHandle[handle]; j != nil {
		return j.session
	}
	return ""
}

// notice takes what the server tells by itself, on the client's reading goroutine.
func (f *front) notice(n rpc.Notice) {
	var err error
	switch n.Method {
	case "job/started":
		var p schema.JobStartedParams
		if err = json.Unmarshal(n.Params, &p); err == nil {
			f.engine.started(&p)
		}
	case "job/exited":
		var p schema.JobExitedParams
		if err = json.Unmarshal(n.Params, &p); err == nil {
			f.exited(&p)
		}
	}
	if err != nil {
		f.log.Error("a notification of the server's cannot be read", "method", n.Method, "error", err)
	}
}

// exited notes the end of a job's command.
func (f *front) exited(p *schema.JobExitedParams) {
	j := f.jobs.of(p.Handle)
	select {
	case <-j.exited: // It is told once; this is for a server that does not keep to that.
		return
	default:
	}
	j.hint = p.Hint
	close(j.exited)
	f.tellEnd(p)
}

// start starts a job for a call, and waits where p says so; the outcome is nil where not. A
// wait that cannot be, as for a pattern that is none, starts nothing.
func (c *call) start(ctx context.Context, p schema.JobStartParams) (*job, *schema.JobInfo, *schema.Outcome, error) {
	p.Profile = new(c.front.cfg.profile)
	p.Mode = new(schema.ModePty) // Without a terminal there would be nothing to type into.
	if p.Wait != nil {
		c.progress.watch(nil, p.Wait.TimeoutMs)
	}
	var r schema.JobStartResult
	if err := c.do(ctx, "job/start", p, &r); err != nil {
		c.abandonStart(err)
		return nil, nil, nil, err
	}
	session := ""
	if p.Name != nil {
		session = *p.Name
	}
	return c.front.jobs.started(r.Job.Handle, r.Job.PID, session), &r.Job, r.Outcome, nil
}

// abandonStart ends a job whose start was cancelled when it had begun.
func (c *call) abandonStart(err error) {
	refusal, ok := errors.AsType[*rpc.CallError](err)
	if !ok || refusal.Kind != schema.KindCanceled {
		return
	}
	var data schema.CanceledData
	if json.Unmarshal(refusal.Data, &data) == nil && data.Handle != nil {
		c.abandon(*data.Handle)
	}
}

// abandon ends a job that nobody will ask for, since the call that started it was cancelled
// before its answer. Nobody waits for its end either.
func (c *call) abandon(handle int64) { go c.takeBack(handle) }

// takeBackGrace is what a job gets that was started for nothing.
const takeBackGrace = 2000

// takeBack ends a job that was started for a call that could not go on.
func (c *call) takeBack(handle int64) {
	c.mu.Lock()
	c.allowed = true // If a person was asked, then about the start.
	c.mu.Unlock()
	err := c.do(context.Background(), "job/kill", schema.JobKillParams{Handle: handleID(handle), GraceMs: new(int64(takeBackGrace))}, nil)
	if err != nil && !errors.Is(err, rpc.ErrServerGone) {
		c.front.log.Warn("a job that was started for nothing could not be ended", "handle", handle, "error", err)
	}
}
