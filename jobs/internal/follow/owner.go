package follow

import (
	"time"

	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/turn"
)

// An Owner takes what a Follower finds. Its methods may be called by any goroutine, and do not block.
type Owner interface {
	// Hits brings hits, in order. One value is sent to taken, which has room, once they were taken.
	Hits(hits []Hit, taken chan<- struct{})
	// Synced answers Sync. partly: Hasten came before all was matched.
	Synced(tok *turn.Token, partly bool)
	// Leans says that from now on a match depends on whether more output comes.
	Leans()
	// Unreadable returns the error for output that cannot be read at an offset.
	Unreadable(at int64, err error) error
}

// A Source is a stream of output. It must be comparable: the patterns of one share cursors.
type Source interface {
	Name() string
	Spool() *spool.Spool
	// QuietFor is how long no output has come.
	QuietFor() time.Duration
	// IsAll says whether the output before the offset is known to be all for now.
	IsAll(offset int64) bool
}
