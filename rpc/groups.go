package rpc

import (
	"errors"
	"maps"
	"slices"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// group returns the live jobs of a group, including those that are starting, by handle.
func (s *Server) group(name string) (all []*jobs.Job) {
	for _, j := range s.mgr.All() {
		if info := j.Published(); j.Group() == name && (info == nil || info.Live()) {
			all = append(all, j)
		}
	}
	return all
}

// maxGroups is the maximum number of groups in an answer.
const maxGroups = 64

// liveGroups returns the groups with live jobs, as suggestions for a group without any. It returns nil if found > 0.
func (s *Server) liveGroups(found int) []string {
	if found > 0 {
		return nil
	}
	set := map[string]bool{}
	for _, j := range s.mgr.All() {
		if info := j.Published(); info != nil && info.Live() && info.Group != "" {
			set[info.Group] = true
		}
	}
	return firstSorted(set, maxGroups)
}

// firstSorted returns the first words in alphabetical order, at most so many.
func firstSorted(set map[string]bool, most int) []string {
	words := slices.AppendSeq([]string{}, maps.Keys(set))
	slices.Sort(words)
	return words[:min(len(words), most)]
}

// killGroup ends the live jobs of a group, all at once.
func (s *Server) killGroup(r *request, group string, opts jobs.KillOptions) {
	var pending []jobs.Pending[jobs.KillResult]
	for _, j := range s.group(group) {
		pending = append(pending, j.Kill(opts))
	}
	r.await(func() (any, error) {
		res := schema.JobKillResult{Jobs: []schema.KillReport{}}
		var failed error // the first error; the other jobs are still waited for, since they may still ask the client
		for _, p := range pending {
			k, err := wait(r, p)
			switch {
			case errors.Is(err, &jobs.Error{Code: jobs.CodeJobNotFound}):
				continue // it failed to start
			case err != nil && failed == nil:
				failed = err
			case err == nil:
				res.Jobs = append(res.Jobs, killReport(k))
			}
		}
		if failed != nil {
			return nil, failed
		}
		res.LiveGroups = s.liveGroups(len(res.Jobs))
		return res, nil
	})
}

// signalGroup signals the live jobs of a group, and reports the result for each. It checks the signal's name first: a
// wrong one is an error even if the group has no job.
func (s *Server) signalGroup(r *request, group, signal string, target jobs.SignalTarget) error {
	if err := jobs.CheckSignal(signal); err != nil {
		return err
	}
	all := s.group(group)
	var pending []jobs.Pending[struct{}]
	for _, j := range all {
		p, err := j.Signal(signal, target, r.asker())
		if err != nil {
			return err
		}
		pending = append(pending, p)
	}
	r.await(func() (any, error) {
		res := schema.JobSignalResult{Jobs: []schema.SignalReport{}}
		var over error
		for i, p := range pending {
			_, err := wait(r, p)
			switch {
			case errors.Is(err, &jobs.Error{Code: jobs.CodeJobNotFound}):
				continue // it failed to start
			case errors.Is(err, &jobs.Error{Code: jobs.CodeCanceled}), errors.Is(err, &jobs.Error{Code: jobs.CodeShuttingDown}):
				over = err // The request has ended, and the job's result is unknown.
				continue
			}
			res.Jobs = append(res.Jobs, s.signalReport(all[i], err))
		}
		if over != nil {
			return nil, over
		}
		res.LiveGroups = s.liveGroups(len(res.Jobs))
		return res, nil
	})
	return nil
}

func (s *Server) signalReport(j *jobs.Job, err error) schema.SignalReport {
	w := schema.SignalReport{Handle: int64(j.ID()), Name: optional(j.Name()), Sent: err == nil}
	if err != nil {
		e := s.toWire(err)
		w.Kind, w.Message = optional(string(e.kind)), &e.message
	}
	return w
}
