package jobs

import (
	"fmt"
	"hash/maphash"
	"slices"
)

// searchKey names a search of this server: all that decides what it finds, and in which order.
// How much of that is told at a time, and of its surroundings, may be another for each page.
func (m *Manager) searchKey(s *SearchSpec, targets []SearchTarget) string {
	type bound struct {
		given bool
		at    int64
	}
	at := func(off *int64) bound {
		if off == nil {
			return bound{}
		}
		return bound{true, *off}
	}
	var job ID
	if one(targets) {
		job = targets[0].job.id
	}
	return fmt.Sprintf("%016x", maphash.Comparable(m.searches.seed, struct {
		pattern, literal, flags string
		raw, lines, reverse     bool
		job                     ID
		group                   string
		stream                  Stream
		from, to                bound
	}{s.Pattern, s.Literal, s.Flags, s.Raw, s.Lines, s.Reverse, job, s.Group, s.Stream, at(s.From), at(s.To)}))
}

// one says whether a single job is searched that was asked for.
func one(targets []SearchTarget) bool { return len(targets) == 1 && targets[0].release != nil }

// checkCursor refuses a place at which this search cannot have ended. A job that was removed since
// is none: the search goes on with those behind it.
func (m *Manager) checkCursor(spec *SearchSpec, targets []SearchTarget, key string) *Error {
	c := spec.Cursor
	if c == nil {
		return nil
	}
	err := m.checkPlace(spec, targets)
	if err == nil && c.Search != key {
		err = Invalid("/cursor/search", "this cursor is of another search, or of another server: what is looked for, and where, has to be as it was"+wrongCursor)
	}
	return err
}

const wrongCursor = "; give the cursor of an answer to this search, or none to begin anew"

// checkPlace is what can be said of a cursor that was never one of this search.
func (m *Manager) checkPlace(spec *SearchSpec, targets []SearchTarget) *Error {
	const what = wrongCursor
	c := spec.Cursor
	switch i := slices.IndexFunc(targets, func(t SearchTarget) bool { return t.job.id == c.Job }); {
	case c.Reverse && !spec.Reverse:
		return Invalid("/cursor/reverse", "this cursor is of a search with \"reverse\": true"+what)
	case spec.Reverse && !c.Reverse:
		return Invalid("/cursor/reverse", "this cursor is of a search without \"reverse\""+what)
	case len(c.Marks) > 0 && (!c.Reverse || !slices.IsSorted(c.Marks) || c.Marks[len(c.Marks)-1] >= c.Offset):
		return Invalid("/cursor/marks", "marks ascend to before the offset of a cursor with \"reverse\": true, and these do not"+what)
	case spec.Stream != "" && c.Stream != spec.Stream:
		return Invalid("/cursor/stream", "this cursor is in %q, which is not the stream that is searched"+what, c.Stream)
	case spec.fromEnd() != (c.End > 0):
		return Invalid("/cursor/end", "a cursor has an end where from or to is negative, and there alone"+what)
	case i >= 0:
		return targets[i].checkPlace(c)
	case one(targets), m.Knows(c.Job), !m.registry.hadStarted(c.Job):
		return Invalid("/cursor/handle", "this cursor is of job %d, which this search is not about"+what, c.Job)
	}
	return nil
}

func (t SearchTarget) checkPlace(c *SearchPlace) *Error {
	const what = wrongCursor
	i := slices.IndexFunc(t.job.output.streams, func(st *stream) bool { return st.name == c.Stream })
	switch {
	case i < 0:
		return Invalid("/cursor/stream", "this cursor is in %q, a stream that job %d does not have"+what, c.Stream, c.Job)
	case c.Offset > t.ends[i]:
		return Invalid("/cursor/offset", "this cursor is behind the end of the output of job %d"+what, c.Job)
	case c.End > t.ends[i]:
		return Invalid("/cursor/end", "this cursor has an end behind that of the output of job %d"+what, c.Job)
	}
	return nil
}
