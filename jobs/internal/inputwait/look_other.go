//go:build !linux

package inputwait

import (
	"fmt"
	"runtime"
	"time"
)

// A Prober probes one job.
type Prober struct{ target Target }

// New returns a Prober for a job.
func New(t Target) *Prober { return &Prober{t} }

// Look probes the job. quiet is the time since the last output or write to the input. It is not for concurrent use.
func (p *Prober) Look(quiet time.Duration) Verdict {
	return p.target.guess(quiet, cannotSee())
}

// Examine returns the best confidence that probes of a job's process reach on this system.
func Examine(pid int) (Confidence, string) { return Guess, cannotSee() }

func cannotSee() string {
	return fmt.Sprintf("the wait of a process cannot be inspected on %s", runtime.GOOS)
}
