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
	// Immutable once the server has told of its start, which it does before all else:
	handle   int64
	pid      int64
	session  string // the sessionId of CliSession, or the name of shell; "" = it has none
	terminal bool   // it has one
	file     string // what has the output of its terminal, also when the server has forgotten it; "" = memory alone

	exited chan struct{} // closed when the server has told of the leader's end
	hint   *schema.Hint  // why a shell could not run the command; to be read once exited is closed
	exit   *schema.Exit  // how it ended; the same

	reading sync.Mutex // held while what is new is taken, and by nobody who waits for it
	next    int64      // offset of the first byte that was not told yet
	missed  int64      // bytes before next that nobody was told, since the call that had them was cancelled
	toldAll bool       // nothing comes behind next
}

// id is what names the job in the protocol.
func (j *job) id() json.RawMessage { return handleID(j.handle) }

func handleID(handle int64) json.RawMessage { return strconv.AppendInt(nil, handle, 10) }

// ended is how the command has ended; nil: the server has not told of that. It is known as long
// as the job is, also where the server has forgotten it.
func (j *job) ended() *schema.Exit {
	select {
	case <-j.exited:
		return j.exit
	default:
		return nil
	}
}

// A ledger has the jobs by all their names, from the moment on in which the server tells of
// their start: a call that starts one may take long, and another one may want to end it
// meanwhile. Of those that are closed it keeps the last maxClosed; what lives is never
// forgotten.
type ledger struct {
	mu       sync.Mutex
	byHandle map[int64]*job
	byPID    map[int64]*job  // by the leader's pid; of several, since the system reuses it, the last
	sessions map[string]*job // of several with the same name the last
	closed   []*job          // in the order in which they were closed
	isClosed map[*job]bool
	highest  int64  // of the handles that were given
	told     pidSet // of what commands have left running, and of jobs that are forgotten
}

// maxClosed is how many closed jobs are kept; the server itself forgets them much sooner.
const maxClosed = 4096

func newLedger() *ledger {
	return &ledger{byHandle: map[int64]*job{}, byPID: map[int64]*job{}, sessions: map[string]*job{}, isClosed: map[*job]bool{}}
}

// of returns the job with a handle, also where its start was not told of.
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
	}
	return j
}

// started notes a job that was started. It is told of by its event, and again by the answer
// to its start. session is the sessionId that CliSession has for it; "": it goes by its name.
func (l *ledger) started(info *schema.JobInfo, session string) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.ofLocked(info.Handle)
	l.highest = max(l.highest, info.Handle)
	if j.pid != 0 {
		return j // Others may be reading it.
	}
	j.pid, j.terminal, j.file = info.PID, info.Mode == schema.ModePty, outputFile(info, schema.StreamPty)
	l.byPID[j.pid] = j
	if j.session = session; session == "" && info.Name != nil {
		j.session = *info.Name
	}
	if j.session != "" {
		l.sessions[j.session] = j
	}
	return j
}

// given says whether a job has had this handle, also where it is forgotten by now.
func (l *ledger) given(handle int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return handle > 0 && handle <= l.highest
}

// left notes what a job's command has left running: a model may be told of that.
func (l *ledger) left(info *schema.JobInfo) {
	if len(info.Background) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range info.Background {
		l.told.add(p.PID)
	}
}

// named says whether a number has meant something of a job's, which may be gone by now: its handle,
// its pid, or that of a process that it has left running.
func (l *ledger) named(n int64) bool {
	if l.given(n) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byPID[n] != nil || l.told.has(n)
}

// A pidSet remembers the last maxClosed pids.
type pidSet struct {
	is    map[int64]bool
	order []int64
}

func (s *pidSet) has(pid int64) bool { return s.is[pid] }

func (s *pidSet) add(pid int64) {
	if s.is[pid] {
		return
	}
	if s.is == nil {
		s.is = map[int64]bool{}
	}
	s.is[pid], s.order = true, append(s.order, pid)
	if len(s.order) > maxClosed {
		delete(s.is, s.order[0])
		s.order = s.order[1:]
	}
}

// close notes that nothing of a job is left, and forgets the oldest of those where there are
// too many.
func (l *ledger) close(handle int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.byHandle[handle]
	if j == nil || l.isClosed[j] {
		return
	}
	l.isClosed[j] = true
	l.closed = append(l.closed, j)
	for len(l.closed) > maxClosed {
		old := l.closed[0]
		l.closed = l.closed[1:]
		delete(l.isClosed, old)
		delete(l.byHandle, old.handle)
		if l.byPID[old.pid] == old {
			delete(l.byPID, old.pid)
			l.told.add(old.pid)
		}
		if l.sessions[old.session] == old {
			delete(l.sessions, old.session)
		}
	}
}

// byNumber finds the job with a handle and the one with a pid, and says whether the latter
// may have something alive: only then the pid is its own for sure.
func (l *ledger) byNumber(n int64) (byHandle, byPID *job, alive bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	byHandle, byPID = l.byHandle[n], l.byPID[n]
	return byHandle, byPID, byPID != nil && !l.isClosed[byPID]
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
			f.started(&p)
		}
	case "job/exited":
		var p schema.JobExitedParams
		if err = json.Unmarshal(n.Params, &p); err == nil {
			f.exited(&p)
		}
	case "job/closed":
		var p schema.JobClosedParams
		if err = json.Unmarshal(n.Params, &p); err == nil {
			f.jobs.close(p.Handle)
		}
	}
	if err != nil {
		f.log.Error("a notification of the server's cannot be read", "method", n.Method, "error", err)
	}
}

// started enters a job under its names, and tells the call that has started it.
func (f *front) started(p *schema.JobStartedParams) {
	c := f.engine.callOf(p.RequestID)
	if c == nil {
		f.jobs.started(&p.Job, "")
		return
	}
	f.jobs.started(&p.Job, c.session)
	c.mu.Lock()
	c.started = p.Handle
	c.mu.Unlock()
	c.progress.startedJob(handleID(p.Handle))
}

// exited notes the end of a job's command.
func (f *front) exited(p *schema.JobExitedParams) {
	j := f.jobs.of(p.Handle)
	select {
	case <-j.exited: // It is told once; this is for a server that does not keep to that.
		return
	default:
	}
	j.hint, j.exit = p.Hint, &p.Exit
	close(j.exited)
	if j.terminal {
		f.tellEnd(p)
	}
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
	if err := ctx.Err(); err != nil { // It came too late for the server to know.
		c.abandon(r.Job.Handle)
		return nil, nil, nil, err
	}
	return c.front.jobs.started(&r.Job, c.session), &r.Job, r.Outcome, nil
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
func (c *call) abandon(handle int64) {
	c.mu.Lock()
	before := c.left
	c.left = true
	c.mu.Unlock()
	if !before {
		go c.takeBack(handle)
	}
}

// takeBackGrace is what a job gets that was started for nothing.
const takeBackGrace = 2000

// takeBack ends a job that was started for a call that could not go on.
func (c *call) takeBack(handle int64) {
	c.mu.Lock()
	c.allowed = true // If a person was asked, then about the start.
	c.mu.Unlock()
	err := c.do(context.Background(), "job/kill", schema.JobKillParams{Handle: handleID(handle), GraceMs: new(int64(takeBackGrace))}, nil)
	if err != nil && !errors.Is(err, rpc.ErrServerGone) && kindOf(err) != schema.KindJobNotFound {
		c.front.log.Warn("a job that was started for nothing could not be ended", "handle", handle, "error", err)
	}
}
