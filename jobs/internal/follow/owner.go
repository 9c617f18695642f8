package follow

import (
	"time"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/turn"
)

// An Owner takes what a Follower finds. Its methods are called while the Follower works, by the Follower's goroutine or
// by the one that has called OutputCame. They must not block, and may call those of the Follower that do not.
type Owner interface {
	// Hits reports hits, in order. The owner sends one value to taken when it has taken them; taken has room for it.
	// There are no further hits before that.
	Hits(hits []Hit, taken chan<- struct{})
	// Synced answers Sync, behind the hits that it is about. It is partly done if it was hastened before everything
	// was matched.
	Synced(tok *turn.Token, partly bool)
	// Leans reports that Leans has become true. It is not called if that is so when OutputCame returns: its caller
	// has to look.
	Leans()
	// Unreadable returns the error for output that cannot be read at an offset.
	Unreadable(at int64, err error) error
}

// A Source is a stream of output. Sources are compared: patterns that follow the same one share a cursor if they can.
type Source interface {
	// Name names the stream in hits.
	Name() string
	Spool() *spool.Spool
	// QuietFor returns for how long no output has come.
	QuietFor() time.Duration
	// IsAll reports whether no output follows the offset for now.
	IsAll(offset int64) bool
}

// A Hit is what a Follower reports of a pattern: one of Match, Removed and Behind is set.
type Hit struct {
	Key     int
	Stream  string // the name of the Source; empty with Behind
	Match   *match.Match
	Passed  int64 // matches of the pattern between the hit before and this one, which are not reported
	Removed error // why the pattern was removed
	Behind  error // what of the output it had not seen when the Follower gave up
}
