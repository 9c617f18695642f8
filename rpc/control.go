package rpc

import (
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// done answers a request with a fixed result when pending is done.
func done[T any](r *request, pending jobs.Pending[struct{}], result T) {
	respondNow(r, pending, func(struct{}) T { return result })
}

func (s *Server) jobSignal(r *request) error {
	var p schema.JobSignalParams
	if err := r.decode(&p); err != nil {
		return err
	}
	target := jobs.SignalTarget(or(p.Target, schema.SignalTargetForeground))
	if p.Group != nil {
		return s.signalGroup(r, *p.Group, p.Signal, target)
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	pending, refused := j.Signal(p.Signal, target, r.asker())
	if refused != nil {
		return refused
	}
	done(r, pending, schema.JobSignalResult{})
	return nil
}

func (s *Server) jobResize(r *request) error {
	var p schema.JobResizeParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	done(r, j.Resize(int(p.Cols), int(p.Rows), s.attendee.name), schema.JobResizeResult{})
	return nil
}

func (s *Server) jobWatch(r *request) error {
	var p schema.JobWatchParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	w := schema.Watch{Pattern: p.Pattern, Flags: p.Flags, On: p.On, Stream: p.Stream, Once: p.Once}
	pending, refused := j.Watch(watchSpec(&w, "/pattern"), or(p.From, schema.WatchFromNow) == schema.WatchFromStart)
	if refused != nil {
		return refused
	}
	respondNow(r, pending, func(id int) schema.JobWatchResult { return schema.JobWatchResult{WatchID: int64(id)} })
	return nil
}

func (s *Server) jobUnwatch(r *request) error {
	var p schema.JobUnwatchParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	done(r, j.Unwatch(int(p.WatchID)), schema.JobUnwatchResult{})
	return nil
}

func (s *Server) jobRemove(r *request) error {
	var p schema.JobRemoveParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	done(r, j.Remove(or(p.KeepFiles, false)), schema.JobRemoveResult{})
	return nil
}
