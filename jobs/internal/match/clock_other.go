//go:build !linux

package match

import "time"

// threadTime is the wall clock's: a pattern may be taken for slow where the machine is.
func threadTime() time.Duration { return wallTime() }

// processTime is the wall clock's as well.
func processTime() time.Duration { return wallTime() }
