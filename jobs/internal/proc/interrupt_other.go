//go:build !linux

package proc

import "time"

// InterruptBash does nothing here.
func InterruptBash(int, time.Duration) (sent, runs bool) { return false, false }
