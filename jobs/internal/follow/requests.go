package follow

import (
	"shelld.dev/shelld/jobs/internal/echo"
	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/turn"
)

// A Pattern is looked for in a stream, from an offset on.
type Pattern struct {
	Key     int // chosen by the owner; one key may stand for a pattern on several streams
	Source  Source
	Pattern *match.Pattern
	Raw     bool // as in [match.Options]
	Once    bool
	From    int64
	Typed   *echo.Typed // the input whose echo is not matched; nil: none
}

// Add adds a pattern. None of the methods blocks, except for OutputCame, Close and Hold.
func (f *Follower) Add(p Pattern) { f.mail.Put(func() { f.add(p) }) }

// Remove removes all patterns with a key. Hits that were found before may still follow.
func (f *Follower) Remove(key int) { f.mail.Put(func() { f.remove(key) }) }

// Sync is answered, by Owner.Synced, when the patterns of these keys (nil: all patterns) have been matched against all
// output that is stored when the Follower takes up the request. With settle, that output counts as complete: matches
// that more output could change count.
func (f *Follower) Sync(tok *turn.Token, keys []int, settle bool) {
	f.mail.Put(func() { f.begin(tok, keys, settle) })
}

// Hasten ends a Sync early: it is answered even if not everything is matched, as soon as each of its patterns has had a
// turn.
func (f *Follower) Hasten(tok *turn.Token) { f.mail.Put(func() { f.hasten(tok) }) }

// GiveUp ends a Sync of all patterns soon: after a short time, unmatched output is skipped and reported as Behind.
// With pressed, a pattern that exceeds its time limit does not extend that time. GiveUp must be called at most once per
// Sync.
func (f *Follower) GiveUp(tok *turn.Token, pressed bool) {
	f.late.pressed.Store(pressed)
	f.late.asked.Store(tok)
}

// GivesUp reports whether the last call of GiveUp was for this Sync.
func (f *Follower) GivesUp(tok *turn.Token) bool { return f.late.asked.Load() == tok }

// Leans reports whether there is a match that more output could change. A nil Follower has none.
func (f *Follower) Leans() bool { return f != nil && f.leaning.Load() }

// Poke makes the Follower match the output that was stored. Any goroutine may call it.
func (f *Follower) Poke() {
	select {
	case f.grew <- struct{}{}:
	default: // an earlier Poke is still pending
	}
}

// Close ends the Follower, and returns when its goroutine has ended. It must be called once.
func (f *Follower) Close() {
	close(f.quit)
	<-f.done
}

// Hold stops all matching until release is called. It is for tests.
func (f *Follower) Hold() (release func()) {
	f.busy.Lock()
	return f.busy.Unlock
}
