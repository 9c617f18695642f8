// Package probe looks at what a machine lets a server do, by doing it: a file system
// that says it is there is asked, a call that may be filtered is made. It leaves
// nothing behind, and knows nothing of jobs.
package probe

import (
	"strings"
	"syscall"
	"time"
)

// A Grade says how well something is.
type Grade string

// The grades.
const (
	OK      Grade = "ok"
	Limited Grade = "limited" // it works, with less than there could be
	Missing Grade = "missing"
)

// A Finding is what was seen of one thing.
type Finding struct {
	Name   string
	Grade  Grade
	Found  string // what was seen, as a phrase
	Reason string // why it is not ok
	Advice string // what to do about it, or what not to expect
	Facts  map[string]any
}

// A Probe is one look, and the name of its finding.
type Probe struct {
	Name string
	Look func() Finding
}

// Bounded looks, but not for longer than limit. A look that hangs, as on a dead file
// system, keeps its goroutine.
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

// orShort is the finding, unless the look itself was short of descriptors: nothing was seen
// then, whatever it took that for.
func (f Finding) orShort() Finding {
	if !strings.Contains(f.Reason, syscall.EMFILE.Error()) || strings.Contains(f.Advice, "ulimit -n") {
		return f
	}
	return Finding{
		Name: f.Name, Grade: Limited, Found: "not known", Reason: f.Reason,
		Advice: "raise the limit on open files and run this again: ulimit -n 2560",
	}
}
