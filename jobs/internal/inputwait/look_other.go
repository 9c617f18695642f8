//go:build !linux

package inputwait

import (
	"fmt"
	"runtime"
	"time"
)

// A Prober looks at one job.
type Prober struct{ target Target }

// New returns one that has not looked yet.
func New(t Target) *Prober { return &Prober{t} }

// Look takes one look. quiet is how long ago output last came or input was last written.
// It is not for concurrent use.
func (p *Prober) Look(quiet time.Duration) Verdict {
	return p.target.guess(quiet, cannotSee())
}

// Examine says what looks at a job's process with this pid reach on this machine.
func Examine(pid int) (Confidence, string) { return Guess, cannotSee() }

func cannotSee() string {
	return fmt.Sprintf("what a process waits for cannot be seen on %s", runtime.GOOS)
}
