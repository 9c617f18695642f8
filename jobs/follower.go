package jobs

import (
	"sync"
	"time"

	"shelld/jobs/internal/match"
)

// quietTime is how long no output must have come before a match that leans on the
// end of the data counts (protocol section 4).
const quietTime = 50 * time.Millisecond

// A follower matches patterns over a job's output. It reads the spools with
// cursors of its own, so that a pattern that takes its time delays neither the
// job's loop nor its output. Its goroutine is started with the first pattern and
// ends with the job's loop; what it finds goes to that loop, in order.
type follower struct {
	// Immutable:
	job *Job

	mail *mailbox[any] // the job's loop -> run
	grew chan struct{} // readLoops -> run; capacity 1
	done chan struct{} // closed when run returns

	// Owned by run:
	sets  []*followSet
	syncs []followSync
}

// A followSet is a set of patterns with one cursor into one stream.
type followSet struct {
	st    *stream
	set   *match.Set
	typed *typedInput // whose echo is not matched; nil: nothing's
	echo  *echoFinder // of typed, while it searches
}

// The messages that a follower takes.
type (
	// followAdd adds a pattern under a key that the loop chose.
	followAdd struct {
		key     int
		st      *stream
		pattern *match.Pattern
		raw     bool
		once    bool
		from    int64
		typed   *typedInput
	}
	// followRemove takes every pattern with this key away.
	followRemove struct{ key int }
	// followSync is answered with a syncedMsg once all that is stored now was
	// matched; with settle, matches that lean on the end count then.
	followSync struct {
		tok    *token
		settle bool
	}
	followQuit struct{}
)

// A followerHit is a match, or a pattern that had to be removed.
type followerHit struct {
	key     int
	stream  Stream
	match   *Match
	removed error
}

func newFollower(j *Job) *follower {
	f := &follower{job: j, mail: newMailbox[any](), grew: make(chan struct{}, 1), done: make(chan struct{})}
	go f.run()
	return f
}

// poke says that output was stored. Any goroutine may call it.
func (f *follower) poke() {
	select {
	case f.grew <- struct{}{}:
	default:
	}
}

func (f *follower) run() {
	defer close(f.done)
	quiet := time.NewTimer(time.Hour)
	defer quiet.Stop()
	for {
		select {
		case <-f.mail.wake:
			for _, m := range f.mail.take() {
				if !f.onMessage(m) {
					return
				}
			}
		case <-f.grew:
		case <-quiet.C:
		}
		f.feed()
		f.answer()
		f.armQuiet(quiet)
	}
}

func (f *follower) onMessage(m any) bool {
	switch m := m.(type) {
	case followAdd:
		f.setFor(m).Add(m.key, m.pattern, match.Options{Raw: m.raw, Once: m.once})
	case followRemove:
		kept := f.sets[:0]
		for _, s := range f.sets {
			s.set.Remove(m.key)
			if s.set.Len() > 0 {
				kept = append(kept, s)
			}
		}
		clear(f.sets[len(kept):])
		f.sets = kept
	case followSync:
		f.syncs = append(f.syncs, m)
	case followQuit:
		return false
	}
	return true
}

// setFor returns a set whose next byte is at offset from: a present one, where
// joining it is the same as starting anew, so that the patterns of a start share
// one cursor.
func (f *follower) setFor(m followAdd) *match.Set {
	for _, s := range f.sets {
		if s.st == m.st && s.typed == m.typed && s.set.Offset() == m.from && s.set.AtStart() {
			return s.set
		}
	}
	s := &followSet{st: m.st, set: match.NewSet(m.from), typed: m.typed}
	if m.typed != nil {
		s.echo = newEchoFinder(m.typed, m.st.spool)
	}
	f.sets = append(f.sets, s)
	return s.set
}

var feedBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// feed matches what was stored by now. What comes meanwhile has its own poke.
func (f *follower) feed() {
	buf := feedBuffers.Get().(*[]byte)
	defer feedBuffers.Put(buf)
	for _, s := range f.sets {
		f.feedSet(s, *buf)
		f.quietEcho(s, *buf)
	}
}

// feedTo matches what was stored up to end.
func (f *follower) feedTo(s *followSet, buf []byte, end int64) {
	for s.set.Offset() < end {
		n, at := s.st.spool.Read(buf, s.set.Offset())
		if gap := at - s.set.Offset(); gap > 0 {
			s.set.Skip(gap)
		}
		if n = int(min(int64(n), end-at)); n <= 0 {
			break
		}
		f.report(s, s.set.Feed(buf[:n]))
	}
}

func (f *follower) settle() {
	buf := feedBuffers.Get().(*[]byte)
	defer feedBuffers.Put(buf)
	for _, s := range f.sets {
		f.giveUpEcho(s, *buf)
		f.report(s, s.set.Settle())
	}
}

func (f *follower) report(s *followSet, hits []match.Hit) {
	if len(hits) == 0 {
		return
	}
	out := make([]followerHit, len(hits))
	for i, h := range hits {
		out[i] = followerHit{key: h.ID, stream: s.st.name, match: h.Match, removed: h.Removed}
	}
	f.job.post(hitsMsg{out})
}

// answer tells the loop that its syncs are reached: feed has just brought every
// cursor to where the output was when they came.
func (f *follower) answer() {
	for _, s := range f.syncs {
		if s.settle {
			f.settle()
		}
		f.job.post(syncedMsg{s.tok})
	}
	f.syncs = f.syncs[:0]
}

// armQuiet counts matches that lean on the end of a stream that has been quiet for
// long enough, and sets the timer for those that may count later.
func (f *follower) armQuiet(t *time.Timer) {
	next := time.Hour
	for _, s := range f.sets {
		if s.echo != nil && s.echo.patience() > 0 {
			next = min(next, max(s.echo.patience()-s.st.quietFor(), 0))
		}
		if !s.set.Pending() || s.set.Offset() < s.st.spool.End() {
			continue
		}
		left := quietTime - s.st.quietFor()
		if left > 0 {
			next = min(next, left)
			continue
		}
		f.report(s, s.set.Settle())
	}
	t.Reset(next)
}
