package jobs

import "shelld/jobs/internal/keeper"

// A starter runs commands and contains what they start. Linux has package keeper for it,
// macOS and Windows package direct, and other systems have none.
type starter interface {
	Start(keeper.Command) (process, error) // *keeper.StartError, or keeper.ErrClosed
	Warm()
	Close()
}
