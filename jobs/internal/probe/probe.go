// Package probe determines what a machine allows a server to do, by doing it: it reads a file system that claims to
// exist, and makes calls that may be filtered. It leaves nothing behind, and knows nothing of jobs.
package probe

import (
	"strings"
	"syscall"
	"time"
)

// A Grade is the quality of a finding.
type Grade string

// The grades.
const (
	OK      Grade = "ok"
	Limited Grade = "limited" // it works, but less than it could
	Missing Grade = "missing"
)

// A Finding is the result of one probe.
type Finding struct {
	Name   string
	Grade  Grade
	Found  string // the observation, as a phrase
	Reason string // why the grade is not ok
	Advice string // the remedy, or what not to expect
	Facts  map[string]any
}

// A Probe is one probe function, and the name of its finding.
type Probe struct {
	Name string
	Look func() Finding
}

// Bounded runs a probe, but not for longer than limit. A probe that hangs, for example on a dead file system, keeps its
// goroutine.
func Bounded(p Probe, limit time.Duration) Finding {
	found := make(chan Finding, 1)
	go func() { found <- p.Look() }()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case f := <-found:
		f.Name = p.Name
		return f.orShort()
	case <-t.C:
		return Finding{
			Name: p.Name, Grade: Missing, Found: "no answer", Reason: "none within " + limit.String(),
			Advice: "check for a file system that does not respond, or an overloaded machine",
		}
	}
}

// orShort returns the finding, unless the probe itself ran out of descriptors: then nothing was observed, whatever the
// finding claims.
func (f Finding) orShort() Finding {
	if !strings.Contains(f.Reason, syscall.EMFILE.Error()) || strings.Contains(f.Advice, "ulimit -n") {
		return f
	}
	return Finding{
		Name: f.Name, Grade: Limited, Found: "not known", Reason: f.Reason,
		Advice: "raise the limit on open files and run this again: ulimit -n 2560",
	}
}
