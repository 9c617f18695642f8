package follow

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/echo"
	"shelld/jobs/internal/match"
	"shelld/jobs/internal/turn"
)

// QuietTime is how long no output must have come before a match that leans on the
// end of the data counts (protocol section 4).
const QuietTime = 50 * time.Millisecond

// A Follower matches patterns over a job's output. It reads the spools with
// cursors of its own, so that a pattern that takes its time delays neither the
// job's loop nor its output. Its goroutine is started with the first pattern and
// ends with the job's loop; what it finds goes to that loop, in order, and it goes on
// when the loop has taken it: matches without end fill no memory and delay no answer.
// A little output that is all there is to match is matched by the readLoop that has
// brought it (follower_here.go): a prompt waits for nobody to wake up.
type Follower struct {
	// Immutable:
	owner Owner

	mail  *turn.Mailbox[any] // the job's loop -> whoever works
	grew  chan struct{}      // readLoops -> run; capacity 1
	taken chan struct{}      // the job's loop -> whoever works: one per hitsMsg; capacity 1
	quit  chan struct{}      // closed by the job's loop
	done  chan struct{}      // closed when run returns

	hurry   atomic.Pointer[turn.Token] // the sync that the job's loop waits for no longer
	pressed atomic.Bool                // and somebody waits for the job's end
	leaning atomic.Bool                // a match leans on the end of what is stored

	busy turn.Lock // held by whoever works, and by run when it has ended

	// Guarded by busy:
	sets   []*followSet // in the order of their next turns
	syncs  []*syncing
	haste  haste
	synced *turn.Token // the last sync of everything that was answered
	quiet  *time.Timer
	here   hereTurns
}

// A followSet is a set of patterns with one cursor into one stream.
type followSet struct {
	src   Source
	set   *match.Set
	typed *echo.Typed  // whose echo is not matched; nil: nothing's
	echo  *echo.Finder // of typed, while it searches
	cut   bool         // feed has left off before the end
	turns int          // how many it has had
	seen  int64        // up to where it is done, but for what may be an echo
}

// A Hit is a match, a pattern that had to be removed, or one that was not done
// with the output when nobody could wait any longer.
type Hit struct {
	Key     int
	Stream  string
	Match   *match.Match
	Passed  int64 // matches of the pattern before this one that are not told
	Removed error
	Behind  error
}

func New(o Owner) *Follower {
	f := &Follower{
		owner: o, mail: turn.NewMailbox[any](), grew: make(chan struct{}, 1),
		taken: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		quiet: time.NewTimer(time.Hour), busy: turn.NewLock(),
	}
	go f.run()
	return f
}

// Poke says that output was stored. Any goroutine may call it.
func (f *Follower) Poke() {
	select {
	case f.grew <- struct{}{}:
	default:
	}
}

func (f *Follower) run() {
	defer close(f.done)
	for more := false; ; {
		if !more {
			select {
			case <-f.mail.Wake():
			case <-f.grew:
			case <-f.quiet.C:
			case <-f.quit:
			}
		}
		f.busy.Lock()
		if isClosed(f.quit) || !f.settleHere() {
			f.quiet.Stop()
			return // and busy for good
		}
		more = f.work()
		f.busy.Unlock()
	}
}

// work does what there is time for, and says whether there is more to do at once.
func (f *Follower) work() (more bool) {
	f.takeMail()
	more = f.feed()
	if f.hurried() {
		f.takeMail()    // the sync may be in there
		more = f.feed() // no further than to see what is there
		f.giveUp()
	}
	f.answer()
	f.armQuiet()
	return more
}

// takeMail leaves it to run where a readLoop works, whose hits go to the loop when it has
// done: an answer must not overtake them.
func (f *Follower) takeMail() {
	if f.here.on {
		return
	}
	for _, m := range f.mail.Take() {
		f.onMessage(m)
	}
}

func (f *Follower) onMessage(m any) {
	switch m := m.(type) {
	case Pattern:
		f.setFor(m).Add(m.Key, m.Pattern, match.Options{Raw: m.Raw, Once: m.Once})
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
		f.syncs = append(f.syncs, f.begin(m))
	case followHaste:
		f.hasten(m.tok)
	}
}

// setFor returns a set whose next byte is at offset from: a present one, where
// joining it is the same as starting anew, so that the patterns of a start share
// one cursor.
func (f *Follower) setFor(m Pattern) *match.Set {
	for _, s := range f.sets {
		if s.src == m.Source && s.typed == m.Typed && s.set.Offset() == m.From && s.set.AtStart() {
			return s.set
		}
	}
	s := &followSet{src: m.Source, set: match.NewSet(m.From), typed: m.Typed}
	s.set.Most, s.set.Stop, s.set.Struck = batchMatches, f.stops, f.struck
	if m.Typed != nil {
		s.echo = echo.New(m.Typed, m.Source.Spool())
	}
	f.sets = slices.Insert(f.sets, 0, s) // it has its turn at once
	return s.set
}

var feedBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// feedTo matches what was stored up to end, as long as somebody waits for it and the turn
// lasts.
func (f *Follower) feedTo(s *followSet, buf []byte, end int64, t followTurn) {
	t.ends += s.set.Offset()
	for s.set.Offset() < end {
		n, at, err := s.src.Spool().TryRead(buf, s.set.Offset())
		if err != nil {
			f.unreadable(s, end, err)
			return
		}
		if gap := at - s.set.Offset(); gap > 0 {
			s.set.Skip(gap)
		}
		if n = int(min(int64(n), end-at)); n <= 0 {
			break
		}
		for rest := buf[:n]; len(rest) > 0; {
			if s.cut = f.stops(); s.cut {
				return
			}
			n, hits := s.set.Step(rest)
			f.report(s, hits)
			rest = rest[n:]
			if t.over(s.set.Offset()) {
				return
			}
		}
	}
}

// unreadable takes the patterns of a set away: they have not seen what is stored up to end, and
// nobody can say that they do not match there.
func (f *Follower) unreadable(s *followSet, end int64, err error) {
	e := f.owner.Unreadable(s.set.Offset(), err)
	var out []Hit
	for _, key := range s.set.IDs() {
		out = append(out, Hit{Key: key, Stream: s.src.Name(), Removed: e})
		s.set.Remove(key)
	}
	s.set.Skip(end - s.set.Offset())
	if len(out) > 0 {
		f.post(out)
	}
}

// batchMatches is how many matches of one pattern are told of up to 8 KiB of output: the
// first ones and the last. A client reads no more of them than that, and would have to
// wait for them all.
const batchMatches = 64

func (f *Follower) report(s *followSet, hits []match.Hit) {
	if len(hits) == 0 {
		return
	}
	out := make([]Hit, len(hits))
	for i, h := range hits {
		out[i] = Hit{Key: h.ID, Stream: s.src.Name(), Match: h.Match, Passed: h.Passed, Removed: h.Removed}
	}
	f.post(out)
}

// post gives the loop a batch, and waits until it has taken it.
func (f *Follower) post(hits []Hit) {
	if f.here.on {
		f.here.hits = append(f.here.hits, hits...)
		return
	}
	f.owner.Hits(hits, f.taken)
	select {
	case <-f.taken:
	case <-f.quit:
	}
}

// armQuiet counts matches that lean on the end of a stream whose job waits for input, or that
// has been quiet for long enough, and sets the timer for those that may count later.
func (f *Follower) armQuiet() {
	next, leans := time.Hour, false
	for _, s := range f.sets {
		if s.echo != nil && s.echo.Patience(QuietTime) > 0 {
			next = min(next, max(s.echo.Patience(QuietTime)-s.src.QuietFor(), 0))
		}
		if !s.set.Pending() || s.set.Offset() < s.src.Spool().End() {
			continue
		}
		left := QuietTime - s.src.QuietFor()
		if left > 0 && !s.src.IsAll(s.set.Offset()) {
			next, leans = min(next, left), true
			continue
		}
		f.report(s, s.set.Settle())
	}
	f.quiet.Reset(next)
	f.leans(leans)
}

// leans has looks be taken while there is a match that leans on the end. It is called by
// whoever works for the follower; a readLoop takes a turn of its own behind it.
func (f *Follower) leans(is bool) {
	if was := f.leaning.Swap(is); is && !was && !f.here.on {
		f.owner.Leans()
	}
}
