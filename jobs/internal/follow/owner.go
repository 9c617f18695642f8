package follow

import (
	"time"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/turn"
)

// An Owner receives the hits of a Follower. Its methods are called while the Follower works, by the Follower's
// goroutine or by the one that has called OutputCame. They must not block, and may call the methods of the Follower
// that do not.
type Owner interface {
	// Hits reports hits, in order. The owner sends one value to taken when it has taken them; taken has room for it.
	// There are no further hits before that.
	Hits(hits []Hit, taken chan<- struct{})
	// Synced answers Sync, after the hits that the Sync waited for. partly reports that it was hastened before
	// everything was matched.
	Synced(tok *turn.Token, partly bool)
	// Leans reports that Follower.Leans has become true. It is not called if that happens within OutputCame: the
	// caller of OutputCame has to check Follower.Leans.
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

// A Hit is a report about a pattern. One of Match, Removed and Behind is set.
type Hit struct {
	Key     int
	Stream  string // the name of the Source; empty with Behind
	Match   *match.Match
	Passed  int64 // matches of the pattern between the hit before and this one, which are not reported
	Removed error // why the pattern was removed
	Behind  error // names the output that the pattern had not seen when the Follower gave up
}
