package jobs

import (
	"runtime"
	"strings"
	"time"

	"shelld/jobs/internal/match"
)

// A SearchSpec says what to look for in stored output, and where.
type SearchSpec struct {
	Pattern string // an ECMAScript regular expression
	Literal string // or a text as it stands
	Flags   string // of a literal i alone
	Raw     bool   // on the bytes as they came, otherwise as with patterns that are watched for
	Lines   bool   // each line by itself, as grep does; of a pattern

	Group    string // that was asked for; a cursor holds for the same one alone
	Stream   Stream // "" = each
	From, To *int64 // where in each stream a match may begin; negative: from the end
	Reverse  bool   // the newest first
	Cursor   *SearchPlace

	Context    int // how many lines before and after each match are wanted
	MaxMatches int
	MaxBytes   int           // of the texts of all matches, about; one match is told in any case
	Timeout    time.Duration // after which the search ends with what it has; negative: never

	query *match.Query
}

// A SearchPlace is where a search goes on: at the matches that begin at Offset or later, or,
// where it goes backwards, before it.
type SearchPlace struct {
	Job     ID
	Stream  Stream
	Offset  int64
	Reverse bool    // the search goes backwards
	Marks   []int64 // where it does, and has left some; see searchMarks
	End     int64   // the end of the stream from which negative bounds are counted; 0: neither is negative
	Search  string  // of which search the place is; see searchKey
}

// A SearchMatch is one match.
type SearchMatch struct {
	Job        ID
	Stream     Stream
	Start, End int64 // raw offsets
	Text       string
	Groups     []*string
	Named      map[string]*string
	Line       string   // on which it starts; plain, as the following
	Before     []string // the lines before that
	After      []string // the lines after the one on which it ends
	Cut        bool     // one of these texts is not all of what it stands for
	Limited    bool     // as in match.Match

	endsLine bool // with a line break
}

// A SearchGap is a part of a stream that was to be searched and is not kept any more.
type SearchGap struct {
	Job    ID
	Stream Stream
	Range
}

// A SearchEnd says why a search has ended before it had looked everywhere.
type SearchEnd string

// The reasons; SearchedAll is none.
const (
	SearchedAll       SearchEnd = ""
	SearchFullMatches SearchEnd = "matches"
	SearchFullBytes   SearchEnd = "bytes"
	SearchTimedOut    SearchEnd = "time"
)

// A SearchResult is what a search has found, in the order of jobs, streams and offsets, or
// the other way round.
type SearchResult struct {
	Matches []SearchMatch
	End     SearchEnd
	Next    *SearchPlace // where the next one goes on, unless all was searched
	Gaps    []SearchGap
	Jobs    int   // whose output was looked at
	Bytes   int64 // of it, without what is not kept
}

// Compile checks a spec; a *Error where it does not hold.
func (s *SearchSpec) Compile() *Error {
	if s.From != nil && s.To != nil && (*s.From < 0) == (*s.To < 0) && *s.From > *s.To {
		return Invalid("/from", "from %d lies behind to %d, so that nothing would be searched; give the smaller one as from", *s.From, *s.To)
	}
	if s.Literal == "" {
		return s.compilePattern()
	}
	if s.Flags != "" && s.Flags != "i" {
		return Invalid("/flags", "a literal takes the flag i alone; for others give a pattern")
	}
	q, err := match.CompileLiteral(s.Literal, s.Flags == "i", s.Raw)
	if err != nil {
		return Invalid("/literal", "the case of this literal cannot be ignored: %v; give a shorter one", err)
	}
	s.query = q
	return nil
}

func (s *SearchSpec) compilePattern() *Error {
	w := WatchSpec{Pattern: s.Pattern, Flags: s.Flags, Pointer: "/pattern"}
	if s.Lines && !strings.Contains(w.Flags, "m") {
		w.Flags += "m" // ^ and $ are the edges of all that the pattern sees
	}
	if err := w.compile(); err != nil {
		return err
	}
	if s.Lines && w.compiled.NamesLineBreak() {
		return Invalid("/pattern", "this pattern names a line break, and each line is searched by itself: give \"multiline\": true, or write $ for the end of a line")
	}
	s.query = match.QueryOf(w.compiled, s.Raw, s.Lines)
	return nil
}

// fromEnd says whether a bound is counted from the end of a stream.
func (s *SearchSpec) fromEnd() bool { return s.From != nil && *s.From < 0 || s.To != nil && *s.To < 0 }

// A SearchTarget is a job whose output is to be searched, as far as it had come.
type SearchTarget struct {
	job     *Job
	ends    []int64 // of its streams
	release func()  // lets go of its files; nil: they are held once they are searched
}

// targetMsg asks for a job to be searched.
type targetMsg struct {
	stream Stream
	reply[SearchTarget]
}

func (targetMsg) message() {}

// SearchTarget asks for the job to be searched, in its turn among the requests. Its files are
// kept until the search is over.
func (j *Job) SearchTarget(stream Stream) Pending[SearchTarget] {
	r := newReply[SearchTarget]()
	j.ask(targetMsg{stream, r})
	return pend(j, r)
}

func (j *Job) onTarget(m targetMsg) {
	switch {
	case m.stream == "" || j.stream(m.stream) != nil:
		t := j.target()
		t.release = j.Hold()
		m.reply.ok(t)
	case len(j.streams) == 0:
		m.reply.fail(Invalid("/stream", noStreams))
	default:
		m.reply.fail(j.noStream("/stream", m.stream))
	}
}

func (j *Job) target() SearchTarget {
	t := SearchTarget{job: j}
	for _, st := range j.streams {
		t.ends = append(t.ends, st.spool.End())
	}
	return t
}

// SearchTargets are the jobs that have started, or those of a group.
func (m *Manager) SearchTargets(group string) (all []SearchTarget) {
	for _, j := range m.All() {
		if j.public.Load() != nil && (group == "" || j.spec.Group == group) {
			all = append(all, j.target())
		}
	}
	return all
}

// Release lets go of a target that is not searched after all.
func (t SearchTarget) Release() {
	if t.release != nil {
		t.release()
	}
}

// searchSlots lets some searches run and others wait: they take a processor each, which jobs
// and answers need as well.
type searchSlots chan struct{}

func newSearchSlots() searchSlots { return make(searchSlots, max(runtime.GOMAXPROCS(0)/2, 1)) }

// Search searches targets, which it lets go of. It takes as long as that takes, and so a
// goroutine of the caller's; it holds nobody up. Closing cancel ends it.
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
	case m.searches <- struct{}{}:
		defer func() { <-m.searches }()
	case <-cancel:
		return SearchResult{}, errSearchCanceled()
	case <-m.ending:
		return SearchResult{}, errSearchEnding()
	}
	s := &searching{SearchSpec: spec, key: key, cancel: cancel, ending: m.ending}
	if spec.Timeout >= 0 {
		deadline := time.Now().Add(spec.Timeout)
		s.late = func() bool { return !time.Now().Before(deadline) }
	}
	s.targets(m, targets)
	return s.res, s.err
}

func errSearchCanceled() *Error {
	return errorf(CodeCanceled, "the search was cancelled; nothing has changed by it")
}

func errSearchEnding() *Error {
	return errorf(CodeShuttingDown, "the server is shutting down, and the search has ended with it; search the output files")
}
