//go:build !linux

package store

import (
	"context"
	"time"
)

// Changes reports writes in a folder. On this system it only waits for a while.
type Changes struct{}

// Changes watches the folder from now on. The caller must close the result.
func (f *PastFolder) Changes() (*Changes, error) { return &Changes{}, nil }

// Wait returns after most or restTime, whichever is shorter: something may have been written by then. If ctx is done,
// it returns the error of ctx.
func (c *Changes) Wait(ctx context.Context, most time.Duration) error {
	return rest(ctx, min(most, restTime))
}

// Close ends the watch.
func (c *Changes) Close() error { return nil }
