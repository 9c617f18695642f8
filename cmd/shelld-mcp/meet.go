package main

import (
	"context"
	"encoding/json"
	"slices"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// In a session there are jobs that this process has not started: those from before its own start, and those of other
// clients. The server reports no start of them, so they are added to the ledger when a list or an answer has them.

// meetAll adds all jobs of the session, when a connection has been made. From then on the ledger uses the record.
func (f *front) meetAll(l *link, r *record) error {
	f.jobs.use(l, r)
	var all schema.JobListResult
	if err := l.client.Call(context.Background(), "job/list", schema.JobListParams{}, &all); err != nil {
		return explained("", err)
	}
	slices.SortFunc(all.Jobs, func(a, b schema.JobInfo) int { return int(a.Handle - b.Handle) })
	for i := range all.Jobs {
		f.meet(l, &all.Jobs[i])
	}
	return nil
}

// meet adds a job of the session unless it is known.
func (c *call) meet(info *schema.JobInfo) {
	if c.front.engine.member == nil {
		return
	}
	c.front.meet(c.connection(), info)
}

func (f *front) meet(l *link, info *schema.JobInfo) {
	if f.jobs.knows(info.Handle) {
		return
	}
	j := f.jobs.started(l, info, sessionIn(info))
	// Only job/exited has the hint, so the end of such a job is left to that event.
	ended := func() {
		if info.Exit != nil {
			f.jobs.end(j, info.Exit, nil)
		}
	}
	hinted := couldNotRun(info.Exit)
	if !hinted {
		ended()
	}
	if info.Status == schema.StatusClosed {
		f.jobs.close(l, info.Handle)
		if !hinted {
			return
		}
	}
	// Its end may come between the list and the subscription, so the past events are wanted too.
	p := schema.JobSubscribeParams{Handle: j.id(), After: new(int64(0)), Events: []schema.EventName{schema.EventNameExited, schema.EventNameClosed}}
	err := l.client.Call(context.Background(), "job/subscribe", p, nil)
	if refusal := kindOf(err); refusal == schema.KindResumeGap {
		ended() // The event may be no longer kept.
		if oldest, ok := oldestOf(err); ok {
			p.After = &oldest
			err = l.client.Call(context.Background(), "job/subscribe", p, nil)
		}
	}
	if err != nil {
		ended()
	}
	switch {
	case kindOf(err) == schema.KindJobNotFound:
		f.jobs.close(l, info.Handle) // It has ended, and was forgotten meanwhile.
	case err != nil:
		f.log.Warn("the end of a job of the session will not be seen", "handle", info.Handle, "error", err)
	}
}

// oldestOf returns the number after which all events are kept, as an error has it.
func oldestOf(err error) (int64, bool) {
	refusal, ok := err.(*client.Error)
	if !ok {
		return 0, false
	}
	var data schema.ResumeGapData
	return data.Oldest, json.Unmarshal(refusal.Data, &data) == nil
}

// sessionIn returns the sessionId of a job whose name was made from it; "": its name is the sessionId, or it has none.
func sessionIn(info *schema.JobInfo) string {
	if info.Name != nil && info.Description != nil && *info.Name == nameOf(*info.Description) {
		return *info.Description
	}
	return ""
}

// lookUp asks the session about a job that another client may have started. It reports whether there is one.
func (c *call) lookUp(ctx context.Context, handle json.RawMessage) bool {
	if c.front.engine.member == nil {
		return false
	}
	var r schema.JobGetResult
	if c.do(ctx, "job/get", schema.JobGetParams{Handle: handle}, &r) != nil {
		return false // The error is that of the request about the job.
	}
	c.meet(&r.Job)
	return true
}

// bySession finds a job by its sessionId or name. In a session, another client may have started the last one.
func (c *call) bySession(ctx context.Context, id string) *job {
	c.lookUp(ctx, encode(nameOf(id)))
	return c.front.jobs.bySession(id)
}

// use makes the ledger one of a session, for the jobs from this connection, with the record of this front end.
func (l *ledger) use(from *link, r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.link, l.record = from, r
}

// recordOfJobs returns the record of the session's jobs; nil: there is no session.
func (l *ledger) recordOfJobs() *record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record
}

// knows reports whether the ledger has a job with all its data.
func (l *ledger) knows(handle int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.byHandle[handle]
	return j != nil && j.pid != 0
}

// clear forgets all jobs: the connection to their session is lost. What is told of them from now on is not recorded, and
// what still comes from that connection adds none.
func (l *ledger) clear() {
	l.mu.Lock()
	l.link = nil
	all := l.byHandle
	l.byHandle, l.byPID, l.sessions = map[int64]*job{}, map[int64]*job{}, map[string]*job{}
	l.closed, l.isClosed, l.highest, l.told = nil, map[*job]bool{}, 0, pidSet{}
	l.mu.Unlock()
	for _, j := range all {
		j.place.drop()
	}
}
