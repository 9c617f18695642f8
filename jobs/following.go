package jobs

import (
	"cmp"
	"time"

	"shelld/jobs/internal/follow"
	"shelld/jobs/internal/spool"
)

// The waits own the job's follower (package follow), which looks for their patterns in output.

// hitsMsg and syncedMsg come from the follower, in order.
type (
	hitsMsg struct {
		hits  []follow.Hit
		taken chan<- struct{} // has room
	}
	syncedMsg struct {
		tok    *token
		partly bool // it was hastened before all was matched
	}
)

func (m hitsMsg) deliver(j *Job) {
	j.waits.onFound(m.hits)
	m.taken <- struct{}{}
}
func (m syncedMsg) deliver(j *Job) { j.waits.onSynced(m.tok, m.partly) }

// Hits has what the follower found taken in a turn.
func (p *waitsPart) Hits(hits []follow.Hit, taken chan<- struct{}) { p.j.ask(hitsMsg{hits, taken}) }

// Synced has its answer taken in a turn.
func (p *waitsPart) Synced(tok *token, partly bool) { p.j.ask(syncedMsg{tok, partly}) }

// Leans has a turn taken, in which looks begin.
func (p *waitsPart) Leans() { p.j.actor.attend() }

// Unreadable is why patterns were removed that have not seen what is stored at an offset.
func (p *waitsPart) Unreadable(at int64, err error) error {
	return p.j.reads.unreadable(at, err, "see to the disk, and watch or wait again from an offset behind it")
}

// Name, Spool and QuietFor are what a follower needs to know of a stream, beside IsAll.
func (s *stream) Name() string        { return string(s.name) }
func (s *stream) Spool() *spool.Spool { return s.spool }

// QuietFor is how long no output has come, from the job's start where none ever did.
func (s *stream) QuietFor() time.Duration {
	return time.Since(s.base) - time.Duration(s.last.Load())
}

// A followerHit is a match, a pattern that had to be removed, or one that was not done
// with the output when nobody could wait any longer.
type followerHit struct {
	key     int
	stream  Stream
	match   *Match
	passed  int64 // matches of the pattern before this one that are not told
	removed error
	place   *Place  // on the screen; nil: not there
	shown   *Screen // the same
	behind  error
}

// onFound takes what the follower found.
func (p *waitsPart) onFound(hits []follow.Hit) {
	for _, h := range hits {
		p.onHit(followerHit{key: h.Key, stream: Stream(h.Stream), match: h.Match, passed: h.Passed, removed: h.Removed, behind: h.Behind})
	}
}

// onHits takes what a glance found on the screen.
func (p *waitsPart) onHits(hits []followerHit) {
	for _, h := range hits {
		p.onHit(h)
	}
}

// onHit takes what was found. A hit whose watch is gone is nobody's.
func (p *waitsPart) onHit(h followerHit) {
	w := p.watches[h.key]
	switch {
	case w == nil:
	case w.wait != nil:
		w.wait.take(h, w.cond)
	case h.match == nil:
		p.unfollow(h.key)
		p.j.sink.Event(Event{After: p.barrier(), Removed: &WatchRemoved{w.id, cmp.Or(h.removed, h.behind).Error()}})
	default:
		if w.spec.Once {
			p.unfollow(h.key)
		}
		p.j.sink.Event(Event{
			After:   map[Stream]int64{h.stream: h.match.End},
			Matched: &Matched{w.id, h.stream, *h.match, h.place, h.passed},
		})
	}
}

// take takes what was found for a condition, of which the first match counts.
func (w *wait) take(h followerHit, cond int) {
	switch {
	case h.behind != nil: // it ends with the job, as if there had been no match
	case h.match == nil:
		w.failed[cond] = true
	case w.matches[cond] == nil:
		w.matches[cond], w.streams[cond] = h.match, h.stream
		w.places[cond], w.shown = h.place, h.shown
	}
}
