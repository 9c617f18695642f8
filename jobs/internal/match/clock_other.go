//go:build !linux

package match

import "time"

// threadTime is the wall clock: a pattern may be judged slow because the machine is.
func threadTime() time.Duration { return wallTime() }

// processTime is the wall clock as well.
func processTime() time.Duration { return wallTime() }
