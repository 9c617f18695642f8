package rpc

import (
	"errors"
	"strings"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

const (
	defaultMatches     = 100
	defaultSearchBytes = 65536
)

func (s *Server) jobSearch(r *request) error {
	var p schema.JobSearchParams
	if err := r.decode(&p); err != nil {
		return err
	}
	if p.Literal != nil && p.Multiline != nil {
		return jobs.Invalid("/multiline", "multiline applies only to a pattern; a literal is always found across line ends too")
	}
	spec := s.searchSpec(&p)
	if err := spec.Compile(); err != nil {
		return err
	}
	if p.Handle == nil {
		all := s.mgr.SearchTargets(or(p.Group, "")) // the snapshot at this request's turn
		groups := s.groupsBut(p.Group)
		r.await(func() (any, error) {
			res, err := s.search(r, spec, all)
			if err != nil {
				return nil, err
			}
			res.Groups = groups
			return res, nil
		})
		return nil
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	pending := j.SearchTarget(spec.Stream)
	r.await(func() (any, error) {
		target, err := wait(r, pending)
		if err != nil {
			return nil, err
		}
		res, err := s.search(r, spec, []jobs.SearchTarget{target})
		if e, ok := errors.AsType[*jobs.Error](err); ok && e.Code == jobs.CodeCanceled {
			e.Handle = j.ID()
		}
		return res, err
	})
	return nil
}

func (s *Server) search(r *request, spec *jobs.SearchSpec, targets []jobs.SearchTarget) (*schema.JobSearchResult, error) {
	if !r.takePlaceOf(s.searchPlaces, true) && isClosed(s.out.broken) {
		for _, t := range targets {
			t.Release()
		}
		return nil, errClientGone
	}
	res, refused := s.mgr.Search(spec, targets, r.canceled)
	if refused != nil {
		return nil, refused
	}
	w := searchResult(&res, spec.Context > 0)
	return &w, nil
}

// groupsBut returns the existing groups, as suggestions if no known job has this one. It returns nil if one has, or
// group is nil.
func (s *Server) groupsBut(group *string) []string {
	if group == nil {
		return nil
	}
	set := map[string]bool{}
	for _, j := range s.mgr.All() {
		if j.Group() == *group {
			return nil
		}
		if j.Group() != "" {
			set[j.Group()] = true
		}
	}
	return firstSorted(set, maxGroups)
}

// searchSpec converts the params of a search to the engine's spec.
func (s *Server) searchSpec(p *schema.JobSearchParams) *jobs.SearchSpec {
	spec := &jobs.SearchSpec{
		Pattern: or(p.Pattern, ""), Literal: or(p.Literal, ""), Flags: or(p.Flags, ""), Raw: or(p.On, "") == schema.SearchTargetRaw,
		Group: or(p.Group, ""), Stream: jobs.Stream(or(p.Stream, "")), From: p.From, To: p.To, Reverse: or(p.Reverse, false),
		Context: int(or(p.Context, 0)), MaxMatches: int(or(p.MaxMatches, defaultMatches)),
		MaxBytes: s.clampBytes(p.MaxBytes, defaultSearchBytes), Timeout: timeout(p.TimeoutMs),
	}
	if p.Flags == nil && p.Pattern != nil {
		spec.Flags = "m"
	}
	spec.Lines = p.Pattern != nil && !or(p.Multiline, strings.Contains(spec.Flags, "s"))
	if c := p.Cursor; c != nil {
		spec.Cursor = &jobs.SearchPlace{Job: jobs.ID(c.Handle), Stream: jobs.Stream(c.Stream), Offset: c.Offset, Reverse: or(c.Reverse, false), Marks: c.Marks, End: or(c.End, 0), Search: c.Search}
	}
	return spec
}

func searchResult(res *jobs.SearchResult, context bool) schema.JobSearchResult {
	w := schema.JobSearchResult{Matches: []schema.SearchMatch{}, Truncated: res.Next != nil}
	for i := range res.Matches {
		w.Matches = append(w.Matches, searchMatch(&res.Matches[i], context))
	}
	if n := res.Next; n != nil {
		w.StoppedBy = optional(schema.SearchEnd(res.End))
		w.Cursor = &schema.SearchCursor{Handle: int64(n.Job), Stream: schema.Stream(n.Stream), Offset: n.Offset, Reverse: optional(n.Reverse), Marks: n.Marks, End: optional(n.End), Search: n.Search}
	}
	w.Searched = &schema.Searched{Jobs: int64(res.Jobs), Bytes: res.Bytes}
	for _, g := range res.Gaps {
		w.Gaps = append(w.Gaps, schema.SearchGap{Handle: int64(g.Job), Stream: schema.Stream(g.Stream), From: g.From, To: g.To})
	}
	return w
}

func searchMatch(m *jobs.SearchMatch, context bool) schema.SearchMatch {
	w := schema.SearchMatch{
		Handle: int64(m.Job), Stream: schema.Stream(m.Stream), Offset: m.Start, EndOffset: m.End,
		Text: m.Text, Line: m.Line, Truncated: optional(m.Cut), Limited: optional(m.Limited),
	}
	if len(m.Groups) > 0 {
		w.Groups = m.Groups
	}
	if len(m.Named) > 0 {
		w.Named = m.Named
	}
	if context {
		w.Before, w.After = append([]string{}, m.Before...), append([]string{}, m.After...)
	}
	return w
}
