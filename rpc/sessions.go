package rpc

import (
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// This file has the requests that are about the session.

// notShared refuses what only a shared session has.
func (s *Server) notShared(method string) error {
	if s.in.shared {
		return nil
	}
	return &wireError{schema.KindUnsupported, method + " needs a session that clients come back to: start the server with shelld connect -session NAME",
		schema.UnsupportedData{Kind: string(schema.KindUnsupported)}}
}

// owns refuses what only an owner may do.
func (s *Server) owns(what string) error {
	if s.member.role == schema.SessionRoleOwner {
		return nil
	}
	return refused("only an owner of the session may " + what + ": a client with the token that the first client was given")
}

func (s *Server) sessionGet(r *request) error {
	var p schema.SessionGetParams
	if err := r.decode(&p); err != nil {
		return err
	}
	if err := s.notShared("session/get"); err != nil {
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
	if err := s.notShared("session/set"); err != nil {
		return err
	}
	if p.Lease != nil || p.Share != nil {
		if err := s.owns("change lease and share"); err != nil {
			return err
		}
	}
	s.in.mu.Lock()
	s.in.setLeaseLocked(p.Lease)
	s.in.share = or(p.Share, s.in.share)
	s.in.mu.Unlock()
	s.member.setJobs(p.Jobs)
	r.reply(schema.SessionSetResult{Session: s.in.state(s)})
	return nil
}

func (s *Server) sessionDetach(r *request) error {
	var p schema.SessionDetachParams
	if err := r.decode(&p); err != nil {
		return err
	}
	if err := s.notShared("session/detach"); err != nil {
		return err
	}
	s.stream.quit = true
	s.in.part(s, schema.SessionLeaveReasonDetached)
	r.reply(schema.SessionDetachResult{})
	return nil
}

func (s *Server) sessionEnd(r *request) error {
	var p schema.SessionEndParams
	if err := r.decode(&p); err != nil {
		return err
	}
	if err := s.notShared("session/end"); err != nil {
		return err
	}
	if err := s.owns("end it"); err != nil {
		return err
	}
	r.await(func() (any, error) {
		s.in.End()
		return schema.SessionEndResult{}, nil
	})
	return nil
}

// leave is shutdown in a shared session: it ends the jobs of this client that are not kept.
func (s *Server) leave(r *request) {
	s.life.move(lifeShuttingDown)
	s.out.withdrawAll()
	r.await(func() (any, error) {
		var ends []jobs.Pending[jobs.KillResult]
		for _, j := range s.mgr.All() {
			if l := j.Lease(); !l.Keep && l.Owner == s.member.owner && isLive(j) {
				ends = append(ends, j.Kill(jobs.KillOptions{Grace: s.mgr.Limits().ShutdownGrace, Shutdown: true}))
			}
		}
		for _, end := range ends {
			<-end.C
		}
		s.awaitAnswers(1) // 1: this request
		s.life.move(lifeShutDown)
		return schema.ShutdownResult{}, nil
	})
}

func (s *Server) jobSet(r *request) error {
	var p schema.JobSetParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	if err := s.notShared("job/set"); err != nil {
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
	respond(r, j.SetLease(keep, grace), func(info jobs.Info) schema.JobSetResult {
		s.in.adopt(j) // Its client may be away already.
		return schema.JobSetResult{Job: jobInfo(info)}
	})
	return nil
}

// setLeaseLocked sets what a client has given of the lease.
func (ss *Session) setLeaseLocked(l *schema.SessionLease) {
	if l == nil {
		return
	}
	switch {
	case l.DetachedMs.Null:
		ss.lease.detached = 0
	case l.DetachedMs.Set:
		ss.lease.detached = milliseconds(&l.DetachedMs.Value, 0)
	}
	ss.lease.idle = milliseconds(l.IdleMs, ss.lease.idle)
}

// state describes the session to one of its clients.
func (ss *Session) state(to *Server) schema.SessionState {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	w := schema.SessionState{
		ID: ss.id, Name: optional(ss.opts.SessionName), Created: timestamp(ss.created), ClientID: to.member.name, Role: to.member.role, Share: ss.share,
		Lease: schema.SessionLease{IdleMs: optional(millis(ss.lease.idle)), DetachedMs: schema.NullOf[int64]()},
		Jobs:  schema.SessionJobs{OnDetach: optional(schema.OnDetachEnd), GraceMs: optional(millis(to.member.jobs.grace))},
	}
	if ss.lease.detached > 0 {
		w.Lease.DetachedMs = schema.ValueOf(millis(ss.lease.detached))
	}
	if to.member.jobs.keep {
		w.Jobs.OnDetach = optional(schema.OnDetachKeep)
	}
	if to.member.role == schema.SessionRoleOwner {
		w.Token = &ss.token
	}
	for _, s := range ss.clients {
		w.Clients = append(w.Clients, s.client())
	}
	return w
}
