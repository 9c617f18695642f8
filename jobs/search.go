package jobs

import (
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/search"
)

// A SearchSpec is a request to search stored output.
type SearchSpec struct {
	Pattern string // an ECMAScript regular expression
	Literal string // or a text, taken literally
	Flags   string // for a literal, only i
	Raw     bool   // match the raw bytes; otherwise match as patterns of watches do
	Lines   bool   // match each line separately, as grep does; only for a pattern

	Group    string // the requested group; a cursor is valid only for the same group
	Stream   Stream // "" = each
	From, To *int64 // bounds within each stream for the begin of a match; negative: from the end
	Reverse  bool   // newest matches first
	Cursor   *SearchPlace

	Context    int // number of wanted lines before and after each match
	MaxMatches int
	MaxBytes   int           // approximate limit for the texts of all matches; one match is always returned
	Timeout    time.Duration // then the search ends with the matches found so far; negative: never

	query *match.Query
}

// A SearchPlace is the place where a search continues: at the matches that begin at Offset or later or, for a search
// that goes backwards, before Offset.
type SearchPlace struct {
	Job     ID
	Stream  Stream
	Offset  int64
	Reverse bool    // the search goes backwards
	Marks   []int64 // if it does, and has left out some matches; see search.Place
	End     int64   // the end of the stream from which negative bounds are counted; 0: neither is negative
	Search  string  // the search that the place belongs to; see searchKey
}

// A SearchMatch is one match.
type SearchMatch struct {
	Job    ID
	Stream Stream
	search.Match
}

// A SearchGap is a part of a stream that should be searched but is no longer stored.
type SearchGap struct {
	Job    ID
	Stream Stream
	Range
}

// A SearchEnd is the reason why a search ended before it had searched everything.
type SearchEnd = search.End

// A SearchResult has the matches of a search, in the order of jobs, streams and offsets, or in reverse order.
type SearchResult struct {
	Matches []SearchMatch
	End     SearchEnd
	Next    *SearchPlace // where the next search continues; nil: all was searched
	Gaps    []SearchGap
	Jobs    int   // number of searched jobs
	Bytes   int64 // number of searched bytes, without the gaps
}

// Compile checks and compiles the spec. It returns an *Error if the spec is invalid.
func (s *SearchSpec) Compile() *Error {
	if s.From != nil && s.To != nil && (*s.From < 0) == (*s.To < 0) && *s.From > *s.To {
		return Invalid("/from", "from %d is after to %d, so nothing would be searched; give the smaller one as from", *s.From, *s.To)
	}
	if s.Literal == "" {
		return s.compilePattern()
	}
	if s.Flags != "" && s.Flags != "i" {
		return Invalid("/flags", "a literal accepts only the flag i; for others give a pattern")
	}
	q, err := match.CompileLiteral(s.Literal, s.Flags == "i", s.Raw)
	if err != nil {
		return Invalid("/literal", "this literal cannot be searched without regard to case: %v; give a shorter one", err)
	}
	s.query = q
	return nil
}

func (s *SearchSpec) compilePattern() *Error {
	w := WatchSpec{Pattern: s.Pattern, Flags: s.Flags, Pointer: "/pattern"}
	if s.Lines && !strings.Contains(w.Flags, "m") {
		w.Flags += "m" // otherwise ^ and $ match only at the edges of the whole text
	}
	if err := w.compile(); err != nil {
		return err
	}
	if s.Lines && w.compiled.NamesLineBreak() {
		return Invalid("/pattern", "this pattern contains a line break, but lines are searched one by one: give \"multiline\": true, or write $ for the end of a line")
	}
	s.query = match.QueryOf(w.compiled, s.Raw, s.Lines)
	return nil
}

// Query returns the compiled query. The spec must be compiled.
func (s *SearchSpec) Query() *match.Query { return s.query }

// fromEnd reports whether a bound is counted from the end of a stream.
func (s *SearchSpec) fromEnd() bool { return s.From != nil && *s.From < 0 || s.To != nil && *s.To < 0 }

func (j *Job) onTarget(m targetMsg) {
	switch {
	case m.stream == "" || j.output.stream(m.stream) != nil:
		t := j.target()
		t.release = j.Hold()
		m.reply.ok(t)
	case len(j.output.streams) == 0:
		m.reply.fail(Invalid("/stream", noStreams))
	default:
		m.reply.fail(j.output.noStream("/stream", m.stream))
	}
}

func (j *Job) target() SearchTarget {
	t := SearchTarget{job: j}
	for _, st := range j.output.streams {
		t.ends = append(t.ends, st.spool.End())
	}
	return t
}

// SearchTargets returns the jobs that have started or, if group is not empty, those of the group.
func (m *Manager) SearchTargets(group string) (all []SearchTarget) {
	for _, j := range m.All() {
		if j.public.Load() != nil && (group == "" || j.spec.Group == group) {
			all = append(all, j.target())
		}
	}
	return all
}

// searches limits the number of searches that run at once; the others wait. Each search uses a whole processor, and
// jobs and answers need processors, too.
type searches struct {
	slots chan struct{} // each running search holds one
	seed  maphash.Seed  // the seed of searchKey: a cursor is valid for one server only
}

func newSearches() searches {
	return searches{slots: make(chan struct{}, max(runtime.GOMAXPROCS(0)/2, 1)), seed: maphash.MakeSeed()}
}

// Search searches targets and releases them. It may take long, so it must run in a goroutine of the caller's. It
// blocks nothing else. Closing cancel ends the search.
func (m *Manager) Search(spec *SearchSpec, targets []SearchTarget, cancel <-chan struct{}) (SearchResult, *Error) {
	defer func() {
		for _, t := range targets {
			t.Release()
		}
	}()
	key := m.searchKey(spec, targets)
	if err := m.checkCursor(spec, targets, key); err != nil {
		return SearchResult{}, err
	}
	select {
	case m.searches.slots <- struct{}{}:
		defer func() { <-m.searches.slots }()
	case <-cancel:
		return SearchResult{}, errSearchCanceled()
	case <-m.end.begun:
		return SearchResult{}, errSearchEnding()
	}
	s := &searching{SearchSpec: spec, key: key, run: spec.run()}
	s.run.Stop = stopSearch(cancel, m.end.begun)
	s.targets(m, targets)
	return s.res, s.err
}

// stopSearch returns a function that returns the reason why a search must end at once, or nil.
func stopSearch(cancel, ending <-chan struct{}) func() error {
	return func() error {
		select {
		case <-cancel:
			return errSearchCanceled()
		case <-ending:
			return errSearchEnding()
		default:
			return nil
		}
	}
}

// run returns a search of streams, whose timeout begins now.
func (s *SearchSpec) run() search.Run {
	r := search.Run{Spec: search.Spec{
		Query: s.query, Raw: s.Raw, From: s.From, To: s.To, Reverse: s.Reverse,
		Context: s.Context, MaxMatches: s.MaxMatches, MaxBytes: s.MaxBytes,
	}}
	if s.Timeout >= 0 {
		deadline := time.Now().Add(s.Timeout)
		r.Late = func() bool { return !time.Now().Before(deadline) }
	}
	return r
}

func errSearchCanceled() *Error {
	return errorf(CodeCanceled, "the search was cancelled; it changed nothing")
}

func errSearchEnding() *Error {
	return errorf(CodeShuttingDown, "the server is shutting down and ended the search; search the output files")
}

// A searching is a search of jobs in progress. It belongs to one goroutine.
type searching struct {
	*SearchSpec
	key string // the key of its cursors
	run search.Run
	res SearchResult
	err *Error
}

// targets searches jobs, given in the order of their handles.
func (s *searching) targets(m *Manager, all []SearchTarget) {
	if s.Reverse {
		slices.Reverse(all)
	}
	for _, t := range all {
		if s.target(m, t); s.run.Ended() {
			break
		}
	}
	s.res.End = s.run.End
}

// target searches the streams of a job.
func (s *searching) target(m *Manager, t SearchTarget) {
	j := t.job
	if t.release == nil {
		defer j.Hold()()
		if !m.Knows(j.id) { // the job was removed meanwhile
			return
		}
	}
	looked := false
	for i := range j.output.streams {
		if s.Reverse {
			i = len(j.output.streams) - 1 - i
		}
		st := j.output.streams[i]
		if s.Stream != "" && s.Stream != st.name || s.isBehind(j.id, st.name) {
			continue
		}
		looked = true
		s.add(j, st.name, s.run.Search(st.spool, t.ends[i], s.place(j.id, st.name)))
		if s.run.Err != nil {
			s.err = searchError(j, s.run.Err)
		}
		if s.run.Ended() {
			break
		}
	}
	if looked {
		s.res.Jobs++
	}
}

// isBehind reports whether the cursor is behind a stream, in the order of the search.
func (s *searching) isBehind(id ID, name Stream) bool {
	if s.Cursor == nil {
		return false
	}
	before := s.Cursor.compare(id, name)
	return before != 0 && (before < 0) == s.Reverse
}

// place returns the cursor if it is in this stream, and nil otherwise.
func (s *searching) place(id ID, name Stream) *search.Place {
	c := s.Cursor
	if c == nil || c.compare(id, name) != 0 {
		return nil
	}
	return &search.Place{Offset: c.Offset, Marks: c.Marks, End: c.End}
}

// compare compares the stream of a place with another one, in the order of a search.
func (c *SearchPlace) compare(id ID, name Stream) int {
	if c.Job != id {
		return int(c.Job - id)
	}
	rank := func(s Stream) int { return slices.Index([]Stream{PTY, Stdout, Stderr}, s) }
	return rank(c.Stream) - rank(name)
}

// add adds the result of a search of one stream.
func (s *searching) add(j *Job, name Stream, found search.Result) {
	for _, m := range found.Matches {
		s.res.Matches = append(s.res.Matches, SearchMatch{j.id, name, m})
	}
	for _, g := range found.Gaps {
		s.res.Gaps = append(s.res.Gaps, SearchGap{j.id, name, g})
	}
	s.res.Bytes += found.Bytes
	if n := found.Next; n != nil {
		s.res.Next = &SearchPlace{Job: j.id, Stream: name, Offset: n.Offset, Reverse: s.Reverse, Marks: n.Marks, Search: s.key}
		if s.fromEnd() {
			s.res.Next.End = n.End
		}
	}
}

// searchError returns the error for a search that failed in the output of a job.
func searchError(j *Job, err error) *Error {
	var unread *search.ReadError
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	if errors.As(err, &unread) {
		return j.output.unreadable(unread.Offset, unread.Err, "check the disk and search again, or search around it: give handle, stream, and from or to")
	}
	e := errorf(CodeLimitExceeded, "%v in the output of job %d; make the pattern simpler, or look for a literal", err, j.id)
	e.Limit, e.Max = "patternTimeMs", match.TimeLimit.Milliseconds()
	if errors.Is(err, match.ErrStackLimit) {
		e.Limit, e.Max = "patternStack", match.StackLimit
	}
	return e
}

// searchKey returns a key for a search of this server. It covers all settings that decide which matches the search
// finds, and in which order. The size of a page and the size of the context may change from page to page.
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

// one reports whether the search is for a single job, named in the request.
func one(targets []SearchTarget) bool { return len(targets) == 1 && targets[0].release != nil }

// checkCursor returns an error for a cursor that this search cannot have returned. A cursor of a job that was removed
// since is valid: the search continues with the jobs behind it.
func (m *Manager) checkCursor(spec *SearchSpec, targets []SearchTarget, key string) *Error {
	c := spec.Cursor
	if c == nil {
		return nil
	}
	err := m.checkPlace(spec, targets)
	if err == nil && c.Search != key {
		err = Invalid("/cursor/search", "the cursor belongs to a different search or server: repeat the same pattern, scope and bounds"+wrongCursor)
	}
	return err
}

const wrongCursor = "; give a cursor from an answer to this search, or none to start over"

// checkPlace returns an error for a cursor that this search can never have returned, as far as the cursor itself shows
// it.
func (m *Manager) checkPlace(spec *SearchSpec, targets []SearchTarget) *Error {
	const what = wrongCursor
	c := spec.Cursor
	switch i := slices.IndexFunc(targets, func(t SearchTarget) bool { return t.job.id == c.Job }); {
	case c.Reverse && !spec.Reverse:
		return Invalid("/cursor/reverse", "the cursor belongs to a search with \"reverse\": true"+what)
	case spec.Reverse && !c.Reverse:
		return Invalid("/cursor/reverse", "the cursor belongs to a search without \"reverse\""+what)
	case len(c.Marks) > 0 && (!c.Reverse || !slices.IsSorted(c.Marks) || c.Marks[len(c.Marks)-1] >= c.Offset):
		return Invalid("/cursor/marks", "the marks of a cursor with \"reverse\": true must ascend and stay below its offset"+what)
	case spec.Stream != "" && c.Stream != spec.Stream:
		return Invalid("/cursor/stream", "the cursor is in stream %q, which is not the searched one"+what, c.Stream)
	case spec.fromEnd() != (c.End > 0):
		return Invalid("/cursor/end", "a cursor has end if and only if from or to is negative"+what)
	case i >= 0:
		return targets[i].checkPlace(c)
	case one(targets), m.Knows(c.Job), !m.registry.hadStarted(c.Job):
		return Invalid("/cursor/handle", "the cursor is in job %d, which is not searched"+what, c.Job)
	}
	return nil
}

func (t SearchTarget) checkPlace(c *SearchPlace) *Error {
	const what = wrongCursor
	i := slices.IndexFunc(t.job.output.streams, func(st *stream) bool { return st.name == c.Stream })
	switch {
	case i < 0:
		return Invalid("/cursor/stream", "the cursor is in stream %q, which job %d does not have"+what, c.Stream, c.Job)
	case c.Offset > t.ends[i]:
		return Invalid("/cursor/offset", "the offset of the cursor is after the end of the output of job %d"+what, c.Job)
	case c.End > t.ends[i]:
		return Invalid("/cursor/end", "the end of the cursor is after the end of the output of job %d"+what, c.Job)
	}
	return nil
}
