package follow

import (
	"shelld/jobs/internal/echo"
	"shelld/jobs/internal/match"
	"shelld/jobs/internal/turn"
)

// A Pattern is what is looked for in a stream, from an offset on.
type Pattern struct {
	Key     int // chosen by the owner; one may stand for a pattern on several streams
	Source  Source
	Pattern *match.Pattern
	Raw     bool
	Once    bool
	From    int64
	Typed   *echo.Typed // whose echo is not matched; nil: nothing's
}

// The messages that a follower takes beside patterns.
type (
	// followRemove takes every pattern with this key away.
	followRemove struct{ key int }
	// followSync is answered with Owner.Synced once all that is stored now was
	// matched with the patterns of some keys, or, where keys is nil, with all; with
	// settle, matches that lean on the end count then.
	followSync struct {
		tok    *turn.Token
		settle bool
		keys   []int
	}
	// followHaste has a followSync be answered with what was matched by now, but not
	// before each of its patterns has had a turn.
	followHaste struct{ tok *turn.Token }
)

// Add adds a pattern.
func (f *Follower) Add(p Pattern) { f.mail.Put(p) }

// Remove takes every pattern with this key away.
func (f *Follower) Remove(key int) { f.mail.Put(followRemove{key}) }

// Sync is answered with Owner.Synced once all that is stored now was matched with the patterns
// of some keys.
func (f *Follower) Sync(tok *turn.Token, keys []int) { f.mail.Put(followSync{tok, false, keys}) }

// Settle is Sync, and matches that lean on the end of what is stored count. Where keys is nil,
// it is about all patterns.
func (f *Follower) Settle(tok *turn.Token, keys []int) { f.mail.Put(followSync{tok, true, keys}) }

// Hasten has a Sync be answered with what was matched by now, but not before each of its
// patterns has had a turn.
func (f *Follower) Hasten(tok *turn.Token) { f.mail.Put(followHaste{tok}) }

// GiveUp says that a Settle of all patterns is waited for no longer. pressed: nor may a pattern
// that takes its time have any more.
func (f *Follower) GiveUp(tok *turn.Token, pressed bool) {
	f.pressed.Store(pressed)
	f.hurry.Store(tok)
}

// GivesUp says whether GiveUp was called for this Settle.
func (f *Follower) GivesUp(tok *turn.Token) bool { return f.hurry.Load() == tok }

// Leans says whether a match depends on whether more output comes.
func (f *Follower) Leans() bool { return f != nil && f.leaning.Load() }

// Close ends the follower, and returns when its goroutine has ended.
func (f *Follower) Close() {
	close(f.quit)
	<-f.done
}

// Hold stops the matching until release is called. It is for tests of what does not wait for it.
func (f *Follower) Hold() (release func()) {
	f.busy.Lock()
	return f.busy.Unlock
}
