package follow

import (
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/turn"
)

// A Follower matches patterns over the streams of one owner. Its hits go to the owner in order and one batch at a time:
// it sends the next batch when the owner has taken the last, so that endless matches neither fill the memory nor delay
// an answer.
//
// The work is done by the goroutine that holds busy: run, or one that has stored a little output (inline.go), so that a
// prompt is matched without waking up another goroutine.
type Follower struct {
	// Immutable:
	owner Owner
	mail  *turn.Mailbox[func()] // the owner's requests
	grew  chan struct{}         // Poke -> run; capacity 1
	taken chan struct{}         // owner -> Follower: it has taken a batch of hits; capacity 1
	quit  chan struct{}         // closed by Close
	done  chan struct{}         // closed when run returns

	late    lateness
	leaning atomic.Bool // see Leans

	busy turn.Lock // run keeps it when it returns

	// Guarded by busy:
	cursors []*cursor // in the order of their next turns
	syncs   []*syncing
	quiet   *time.Timer
	inline  inline
}

// New returns a Follower without patterns, and starts its goroutine.
func New(o Owner) *Follower {
	f := &Follower{
		owner: o, mail: turn.NewMailbox[func()](), grew: make(chan struct{}, 1),
		taken: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		quiet: time.NewTimer(time.Hour), busy: turn.NewLock(),
	}
	go f.run()
	return f
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
		if isClosed(f.quit) || !f.awaitTaken() {
			f.quiet.Stop()
			return // busy stays locked: nothing is matched any more
		}
		more = f.work()
		f.busy.Unlock()
	}
}

// work handles the requests and matches one turn's worth of output. It reports whether there is more to do at once.
func (f *Follower) work() (more bool) {
	f.takeMail()
	more = f.feed()
	if f.late.isOver() {
		f.takeMail()    // the Sync may be in there
		more = f.feed() // matches nothing, but notes which cursors are behind
		f.giveUp()
	}
	f.answer()
	f.armQuiet()
	return more
}

// takeMail handles the owner's requests. During an inline turn it leaves them to run: the hits of such a turn are
// reported when it ends, and an answer must not overtake them.
func (f *Follower) takeMail() {
	if f.inline.on {
		return
	}
	for _, do := range f.mail.Take() {
		do()
	}
}

// post reports a batch of hits, and waits until the owner has taken it.
func (f *Follower) post(hits []Hit) {
	if len(hits) == 0 {
		return
	}
	if f.inline.on {
		f.inline.hits = append(f.inline.hits, hits...)
		return
	}
	f.owner.Hits(hits, f.taken)
	select {
	case <-f.taken:
	case <-f.quit:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
