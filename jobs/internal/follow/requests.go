package follow

import (
	"shelld/jobs/internal/echo"
	"shelld/jobs/internal/match"
	"shelld/jobs/internal/turn"
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

// Sync is answered, by Owner.Synced, when all output that is stored when it is taken up has been matched with the
// patterns of these keys; nil: with all patterns. With settle, that output is all there is: matches count that more
// could change.
func (f *Follower) Sync(tok *turn.Token, keys []int, settle bool) {
	f.mail.Put(func() { f.begin(tok, keys, settle) })
}

// Hasten has a Sync be answered with what is matched by now, but not before each of its patterns has had a turn.
func (f *Follower) Hasten(tok *turn.Token) { f.mail.Put(func() { f.hasten(tok) }) }

// GiveUp has a Sync of all patterns be answered soon: what is not matched then is skipped and reported as Behind.
// With pressed, a pattern that takes too long gets no time at the cost of that wait. It must be called at most once
// per Sync.
func (f *Follower) GiveUp(tok *turn.Token, pressed bool) {
	f.late.pressed.Store(pressed)
	f.late.asked.Store(tok)
}

// GivesUp reports whether the last call of GiveUp was for this Sync.
func (f *Follower) GivesUp(tok *turn.Token) bool { return f.late.asked.Load() == tok }

// Leans reports whether there is a match that more output could change. A nil Follower has none.
func (f *Follower) Leans() bool { return f != nil && f.leaning.Load() }

// Poke has the Follower look at what is stored. Any goroutine may call it.
func (f *Follower) Poke() {
	select {
	case f.grew <- struct{}{}:
	default: // it was poked and has not looked yet
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
