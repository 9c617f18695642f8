package store

import (
	"context"
	"time"
)

// restTime is the interval at which the caller checks a folder if the system does not report changes.
const restTime = 200 * time.Millisecond

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
