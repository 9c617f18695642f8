//go:build !linux

package store

import (
	"context"
	"time"
)

// Changes stands for a report of what is written in a folder, which this system is not asked for.
type Changes struct{}

// Changes watches the folder from now on. Close what it returns.
func (f *PastFolder) Changes() (*Changes, error) { return &Changes{}, nil }

// Wait returns after a while in which something may have been written, or when ctx is done, whose error
// it returns then.
func (c *Changes) Wait(ctx context.Context, most time.Duration) error {
	return rest(ctx, min(most, restTime))
}

// Close ends the watch.
func (c *Changes) Close() error { return nil }
