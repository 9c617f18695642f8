package rpc

import (
	"shelld/jobs"
	"shelld/schema"
)

// done awaits a request that answers with nothing.
func done[T any](r *request, pending jobs.Pending[struct{}], result T) {
	r.await(func() (any, error) {
		if _, err := wait(r, pending); err != nil {
			return nil, err
		}
		return result, nil
	})
}

func (s *Server) jobSignal(r *request) error {
	var p schema.JobSignalParams
	if err := r.decode(&p); err != nil {
		return err
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	pending, refused := j.Signal(p.Signal, jobs.SignalTarget(or(p.Target, schema.SignalTargetForeground)))
	if refused != nil {
		return refused
	}
	done(r, pending, schema.JobSignalResult{})
	return nil
}

func (s *Server) jobResize(r *request) error {
	var p schema.JobResizeParams
	if err := r.decode(&p); err != nil {
		return err
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	done(r, j.Resize(int(p.Cols), int(p.Rows)), schema.JobResizeResult{})
	return nil
}

func (s *Server) jobWatch(r *request) error {
	var p schema.JobWatchParams
	if err := r.decode(&p); err != nil {
		return err
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	pending, refused := j.Watch(jobs.WatchSpec{
		Pattern: p.Pattern, Flags: or(p.Flags, ""), Raw: or(p.On, schema.WatchTargetPlain) == schema.WatchTargetRaw,
		Stream: jobs.Stream(or(p.Stream, "")), Once: or(p.Once, false), Pointer: "/pattern",
	}, or(p.From, schema.WatchFromNow) == schema.WatchFromStart)
	if refused != nil {
		return refused
	}
	r.await(func() (any, error) {
		id, err := wait(r, pending)
		return schema.JobWatchResult{WatchID: int64(id)}, err
	})
	return nil
}

func (s *Server) jobUnwatch(r *request) error {
	var p schema.JobUnwatchParams
	if err := r.decode(&p); err != nil {
		return err
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	done(r, j.Unwatch(int(p.WatchID)), schema.JobUnwatchResult{})
	return nil
}

func (s *Server) jobRemove(r *request) error {
	var p schema.JobRemoveParams
	if err := r.decode(&p); err != nil {
		return err
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	done(r, j.Remove(or(p.KeepFiles, false)), schema.JobRemoveResult{})
	return nil
}
