package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A job has the names by which the host may call a job, and the offset of its unread output. All other information is
// requested from the server.
type job struct {
	// Immutable after the server has reported the start, which it does before everything else:
	handle   int64
	pid      int64
	session  string // the sessionId of CliSession, or the name given to shell; "": none
	terminal bool   // the job has a terminal
	file     string // the file with the terminal's output, kept even after the server has forgotten the job; "": memory only

	exited chan struct{} // closed when the server has reported the leader's end
	hint   *schema.Hint  // why a shell could not run the command; read only after exited is closed
	exit   *schema.Exit  // how the leader ended; the same

	reading sync.Mutex // held while unread output is taken; never held during a wait for output
	next    int64      // offset of the first unread byte
	missed  int64      // bytes before next that were lost with the answers of cancelled calls
	toldAll bool       // no output follows next

	place place // with a session
}

// id returns the job's ID in the protocol.
func (j *job) id() json.RawMessage { return handleID(j.handle) }

func handleID(handle int64) json.RawMessage { return strconv.AppendInt(nil, handle, 10) }

// ended returns how the command has ended; nil: the server has not reported it. It is known as long as this job is in
// the ledger, even if the server has forgotten it.
func (j *job) ended() *schema.Exit {
	select {
	case <-j.exited:
		return j.exit
	default:
		return nil
	}
}

// A ledger contains the jobs by all their names. It has a job as soon as the server reports its start: a call that
// starts a job may take long, and another call may want to end the job meanwhile. Of the closed jobs it keeps the last
// maxClosed; it never forgets a live one.
type ledger struct {
	mu       sync.Mutex
	byHandle map[int64]*job
	byPID    map[int64]*job  // by the leader's PID; if the system has reused it, the last job
	sessions map[string]*job // if several have the same name, the last
	closed   []*job          // in the order of closing
	isClosed map[*job]bool
	highest  int64   // highest handle so far
	record   *record // with a session
	link     *link   // with a session: the connection that the jobs are from; nil: it is lost
	told     pidSet  // PIDs of processes that commands have left running, and of forgotten jobs
}

// maxClosed is the number of closed jobs that are kept; the server itself forgets them much sooner.
const maxClosed = 4096

func newLedger() *ledger {
	return &ledger{byHandle: map[int64]*job{}, byPID: map[int64]*job{}, sessions: map[string]*job{}, isClosed: map[*job]bool{}}
}

func newJob(handle int64) *job { return &job{handle: handle, exited: make(chan struct{})} }

// newStray returns a job that is in no ledger and no record, because its connection to the session is lost: its handle
// may be another job's by now.
func newStray(handle int64) *job {
	j := newJob(handle)
	j.place.drop()
	return j
}

// isStaleLocked reports whether the jobs in the ledger are from another connection to the session than this one: an
// answer may be handled after its connection was lost.
func (l *ledger) isStaleLocked(from *link) bool { return l.record != nil && from != l.link }

// of returns the job with a handle on a connection. If its start was not reported, it adds the job.
func (l *ledger) of(from *link, handle int64) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isStaleLocked(from) {
		return newStray(handle)
	}
	return l.ofLocked(handle)
}

func (l *ledger) ofLocked(handle int64) *job {
	j := l.byHandle[handle]
	if j == nil {
		j = newJob(handle)
		l.byHandle[handle] = j
	}
	return j
}

// describe sets the data of a started job.
func (j *job) describe(info *schema.JobInfo, session string) {
	j.pid, j.terminal, j.file = info.PID, info.Mode == schema.ModePty, outputFile(info, schema.StreamPty)
	if j.session = session; session == "" && info.Name != nil {
		j.session = *info.Name
	}
}

// started sets the data of a started job. The event and the answer to the start both report it. session is the
// sessionId given by CliSession; if it is "", the session is the job's name.
func (l *ledger) started(from *link, info *schema.JobInfo, session string) *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isStaleLocked(from) {
		j := newStray(info.Handle)
		j.describe(info, session)
		return j
	}
	j := l.ofLocked(info.Handle)
	l.highest = max(l.highest, info.Handle)
	if j.pid != 0 {
		return j // It is immutable: other goroutines may be reading it.
	}
	if l.record != nil {
		j.next = j.place.begin(l.record.of(info.Handle))
	}
	j.describe(info, session)
	l.byPID[j.pid] = j
	known := l.sessions[j.session]
	isOlder := l.record != nil && known != nil && known.handle > j.handle // In a session it may be met late.
	if j.session != "" && !isOlder {
		l.sessions[j.session] = j
	}
	return j
}

// end notes how a job's command has ended. It returns false if that is known.
func (l *ledger) end(j *job, exit *schema.Exit, hint *schema.Hint) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j.ended() != nil {
		return false
	}
	j.hint, j.exit = hint, exit
	close(j.exited)
	return true
}

// given reports whether a job has, or had, this handle, even if it is forgotten.
func (l *ledger) given(handle int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return handle > 0 && handle <= l.highest
}

// left notes the processes that a job's command has left running: an answer may name them to a model.
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

// named reports whether a number is or was the handle or the PID of a job, or the PID of a process that a job has left
// running.
func (l *ledger) named(n int64) bool {
	if l.given(n) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byPID[n] != nil || l.told.has(n)
}

// A pidSet contains the last maxClosed PIDs.
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

// close marks a job as closed, and forgets the oldest closed jobs if there are too many.
func (l *ledger) close(from *link, handle int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isStaleLocked(from) {
		return
	}
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

// byNumber returns the job with the handle and the job with the PID. It reports whether the latter may have living
// processes: only then the PID cannot have been reused.
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

// sessionOf returns the sessionId of a job, or "".
func (l *ledger) sessionOf(handle int64) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if j := l.byHandle[handle]; j != nil {
		return j.session
	}
	return ""
}

// notice handles the server's notifications. It runs on the client's reading goroutine.
func (f *front) notice(l *link, n client.Event) {
	var err error
	switch n.Method {
	case "job/started":
		var p schema.JobStartedParams
		if err = json.Unmarshal(n.Params, &p); err == nil {
			f.started(l, &p)
		}
	case "job/exited":
		var p schema.JobExitedParams
		if err = json.Unmarshal(n.Params, &p); err == nil {
			f.exited(l, &p)
		}
	case "job/closed":
		var p schema.JobClosedParams
		if err = json.Unmarshal(n.Params, &p); err == nil {
			f.jobs.close(l, p.Handle)
		}
	}
	if err != nil {
		f.log.Error("cannot read a notification of the server", "method", n.Method, "error", err)
	}
}

// started adds a job under its names, and sets it in the call that has started it.
func (f *front) started(l *link, p *schema.JobStartedParams) {
	c := l.callOf(p.RequestID)
	if c == nil {
		f.jobs.started(l, &p.Job, "")
		return
	}
	j := f.jobs.started(l, &p.Job, c.session)
	if f.engine.member != nil {
		f.keep(j)
	}
	c.mu.Lock()
	c.started, c.job = p.Handle, j
	c.mu.Unlock()
	c.progress.startedJob(handleID(p.Handle))
}

// exited notes the end of a job's command.
func (f *front) exited(l *link, p *schema.JobExitedParams) {
	j := f.jobs.of(l, p.Handle)
	if f.jobs.end(j, &p.Exit, p.Hint) && j.terminal {
		f.tellEnd(p)
	}
}

// start starts a job for a call, and waits if p has a wait; without one, the outcome is nil. If the wait is invalid,
// for example for its pattern, no job is started.
func (c *call) start(ctx context.Context, p schema.JobStartParams) (*job, *schema.JobInfo, *schema.Outcome, error) {
	p.Profile = new(c.front.cfg.profile)
	p.Mode = new(schema.ModePty) // Without a terminal the job could not be typed into.
	if p.Wait != nil {
		c.progress.watch(nil, p.Wait.TimeoutMs)
	}
	var r schema.JobStartResult
	if err := c.do(ctx, "job/start", p, &r); err != nil {
		c.abandonStart(err)
		return nil, nil, nil, err
	}
	if err := ctx.Err(); err != nil { // The cancellation came too late for the server.
		c.abandon(r.Job.Handle)
		return nil, nil, nil, err
	}
	return c.front.jobs.started(c.connection(), &r.Job, c.session), &r.Job, r.Outcome, nil
}

// abandonStart ends a job whose start was cancelled after it had begun.
func (c *call) abandonStart(err error) {
	refusal, ok := errors.AsType[*client.Error](err)
	if !ok || refusal.Kind != schema.KindCanceled {
		return
	}
	var data schema.CanceledData
	if json.Unmarshal(refusal.Data, &data) == nil && data.Handle != nil {
		c.abandon(*data.Handle)
	}
}

// abandon ends a job in the background, once: the call that started it was cancelled before its answer, so that no
// client knows the job.
func (c *call) abandon(handle int64) {
	c.mu.Lock()
	before := c.left
	c.left = true
	c.mu.Unlock()
	if !before {
		go c.takeBack(handle)
	}
}

// takeBackGrace is the time, in milliseconds, that an abandoned job has to end after SIGTERM.
const takeBackGrace = 2000

// takeBack ends a job that was started for a call that could not go on.
func (c *call) takeBack(handle int64) {
	c.mu.Lock()
	c.allowed = true // If a person was asked, the question was about the start.
	c.mu.Unlock()
	err := c.do(context.Background(), "job/kill", schema.JobKillParams{Handle: handleID(handle), GraceMs: new(int64(takeBackGrace))}, nil)
	if err != nil && !errors.Is(err, client.ErrServerGone) && kindOf(err) != schema.KindJobNotFound {
		c.front.log.Warn("cannot end the job of a call that failed", "handle", handle, "error", err)
	}
}
