package rpc

import (
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// This file has the requests that are about the session.

// notShared refuses a member of params that only a shared session has.
func (s *Server) notShared(what string) error {
	if s.in.shared {
		return nil
	}
	return &wireError{schema.KindUnsupported, what + " needs a session that clients come back to: start the server with shelld connect -session NAME",
		schema.UnsupportedData{Kind: string(schema.KindUnsupported), What: what, Pointer: optional("/" + what)}}
}

// owns refuses what only an owner may do.
func (s *Server) owns(method, what string) error {
	if s.attendee.role == schema.SessionRoleOwner {
		return nil
	}
	return unfit(method, "role", "only an owner of the session may "+what+": a client with the token that the first client was given")
}

func (s *Server) sessionGet(r *request) error {
	var p schema.SessionGetParams
	if err := r.decode(&p); err != nil {
		return err
	}
	r.reply(schema.SessionGetResult{Session: s.in.state(s)})
	return nil
}

func (s *Server) sessionSet(r *request) error {
	var p schema.SessionSetParams
	if err := r.decode(&p); err != nil {
		return err
	}
	if p.Lease != nil || p.Share != nil {
		if err := s.owns("session/set", "change lease and share"); err != nil {
			return err
		}
	}
	s.in.mu.Lock()
	s.in.setLeaseLocked((*schema.SessionLeaseOptions)(p.Lease))
	s.in.share = or(p.Share, s.in.share)
	s.in.mu.Unlock()
	s.attendee.setJobs((*schema.SessionJobOptions)(p.Jobs))
	r.reply(schema.SessionSetResult{Session: s.in.state(s)})
	return nil
}

func (s *Server) sessionDetach(r *request) error {
	var p schema.SessionDetachParams
	if err := r.decode(&p); err != nil {
		return err
	}
	s.stream.quit = true
	s.in.part(s, schema.SessionLeaveReasonDetached)
	s.life.move(lifeShutDown)
	r.reply(schema.SessionDetachResult{})
	return nil
}

func (s *Server) sessionEnd(r *request) error {
	var p schema.SessionEndParams
	if err := r.decode(&p); err != nil {
		return err
	}
	if err := s.owns("session/end", "end it"); err != nil {
		return err
	}
	s.ends.Store(true)
	r.await(func() (any, error) {
		s.in.End()
		s.life.move(lifeShutDown)
		return schema.SessionEndResult{}, nil
	})
	return nil
}

// leave is shutdown in a shared session: it ends the jobs of this client that are not kept.
func (s *Server) leave(r *request) {
	s.life.move(lifeShuttingDown)
	s.withdraw()
	s.cancelLooks()
	r.await(func() (any, error) {
		late := time.NewTimer(s.mgr.Limits().ShutdownGrace + stuckTime)
		defer late.Stop()
		for _, j := range s.in.endOwn(s) {
			select {
			case <-j.Vacant():
			case <-s.over: // The client may be back on another connection, and have stopped the end.
			case <-late.C: // This job is stuck, and so may others be.
				late.Reset(0)
			}
		}
		s.awaitAnswers(1) // 1: this request
		s.life.move(lifeShutDown)
		return schema.ShutdownResult{}, nil
	})
}

// endOwn ends the jobs of a client that are not kept, and returns them.
func (ss *Session) endOwn(s *Server) (ending []*jobs.Job) {
	ss.door.Lock()
	defer ss.door.Unlock()
	for _, j := range ss.mgr.All() {
		if !j.Lease().Keep && j.Sink().(*feed).owner == s.attendee.name && isLive(j) {
			j.EndAt(time.Now())
			ending = append(ending, j)
		}
	}
	return ending
}

func (s *Server) jobSet(r *request) error {
	var p schema.JobSetParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	var keep *bool
	if p.OnDetach != nil {
		is := *p.OnDetach == schema.OnDetachKeep
		keep = &is
	}
	var grace *time.Duration
	if p.DetachGraceMs != nil {
		d := milliseconds(p.DetachGraceMs, 0)
		grace = &d
	}
	changed := j.SetLease(keep, grace)
	r.await(func() (any, error) {
		if _, err := wait(r, changed); err != nil {
			return nil, err
		}
		s.in.renew(j)
		info, err := wait(r, j.SetLease(nil, nil)) // It has the new time of the job's end.
		return schema.JobSetResult{Job: jobInfo(info)}, err
	})
	return nil
}

// setLeaseLocked sets what a client has given of the lease.
func (ss *Session) setLeaseLocked(l *schema.SessionLeaseOptions) {
	if l == nil {
		return
	}
	switch {
	case l.DetachedMs.Null:
		ss.lease.detached = endless
	case l.DetachedMs.Set:
		ss.lease.detached = milliseconds(&l.DetachedMs.Value, 0)
	}
	ss.lease.idle = milliseconds(l.IdleMs, ss.lease.idle)
}

// state describes the session to one of its clients.
func (ss *Session) state(to *Server) schema.SessionState {
	ss.door.Lock()
	defer ss.door.Unlock()
	of := map[string][]int64{}
	for _, j := range ss.mgr.All() {
		if isLive(j) {
			owner := j.Sink().(*feed).owner
			of[owner] = append(of[owner], int64(j.ID()))
		}
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	w := schema.SessionState{
		ID: ss.id, Name: optional(ss.opts.SessionName), Created: timestamp(ss.created), ClientID: to.attendee.name, Role: to.attendee.role, Share: ss.share,
		Lease: schema.SessionLease{IdleMs: millis(ss.lease.idle)},
		Jobs:  schema.SessionJobs{OnDetach: schema.OnDetachEnd, GraceMs: millis(to.attendee.jobs.grace)},
	}
	if to.attendee.jobs.keep {
		w.Jobs.OnDetach = schema.OnDetachKeep
	}
	if detached := millis(ss.lease.detached); ss.lease.detached != endless {
		w.Lease.DetachedMs = &detached
	}
	for _, s := range ss.clients {
		w.Clients = append(w.Clients, s.client(of[s.attendee.name]))
	}
	return w
}

// attached describes the session to a client that has just come.
func (ss *Session) attached(to *Server, how schema.SessionAttached) *schema.AttachedSession {
	w := ss.state(to)
	a := schema.AttachedSession{
		ID: w.ID, Name: w.Name, Created: w.Created, ClientID: w.ClientID, Role: w.Role, Attached: how, Share: w.Share, Lease: w.Lease, Jobs: w.Jobs, Clients: w.Clients,
	}
	if w.Role == schema.SessionRoleOwner {
		a.Token = &ss.token
	}
	return &a
}

// resume subscribes a client that has come back to jobs, and returns what became of that once it is known. Nothing of the
// jobs is sent before the request is answered.
func (r *request) resume(wanted []schema.SessionResume) func() []schema.ResumedJob {
	type subscription struct {
		change  *change
		pending jobs.Pending[jobs.State]
		err     error
	}
	all := make([]subscription, len(wanted))
	for i, w := range wanted {
		one := &all[i]
		one.change, one.pending, one.err = r.server.subscribe(&schema.JobSubscribeParams{
			Handle: w.Handle, After: w.After, From: w.From, Events: w.Events, Encoding: w.Encoding, WhenSlow: w.WhenSlow, Queries: w.Queries,
		})
	}
	r.whenAnswered(func() {
		r.server.out.metLocked()
		for i := range all {
			if all[i].change != nil {
				all[i].change.answer()
			}
		}
	})
	return func() (told []schema.ResumedJob) {
		for i := range all {
			w, one := schema.ResumedJob{Handle: wanted[i].Handle}, &all[i]
			var state jobs.State
			if one.err == nil {
				state, one.err = wait(r, one.pending)
			}
			if one.err != nil {
				w.Error = r.server.toWire(one.err).object()
			} else {
				s := jobState(state)
				w.Job, w.N = &s, &one.change.last
			}
			told = append(told, w)
		}
		return told
	}
}

// sessionSupport describes what a shared session can do.
func sessionSupport() *schema.SessionSupport {
	return &schema.SessionSupport{
		Survives: []string{"client", "front"},
		Roles:    []string{string(schema.SessionRoleOwner), string(schema.SessionRoleDriver), string(schema.SessionRoleViewer)},
		Keys:     true,
	}
}
