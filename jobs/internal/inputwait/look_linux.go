package inputwait

import (
	"fmt"
	"time"
)

// A Prober looks at one job.
type Prober struct {
	target Target
	best   tier // the best that is used

	id         ID // of the input
	identified bool

	r      reader
	s      search
	last   int      // who waited when somebody did last
	burnt  sample   // processor time of a thread, in nanoseconds
	awoken sample   // switches of a process
	fds    []int    // used again: a process's descriptors
	seen   []member // used again: of the search
}

// New returns one that has not looked yet.
func New(t Target) *Prober { return &Prober{target: t, best: bestTier()} }

// How soon another look is worth it, where the last one met something that passes.
const (
	soon  = time.Millisecond
	later = 250 * time.Millisecond
)

// backoff is longer the longer nothing has happened.
func backoff(quiet time.Duration) time.Duration { return min(max(quiet, soon), later) }

// Look takes one look. quiet is how long ago output last came or input was last written.
// It is not for concurrent use.
func (p *Prober) Look(quiet time.Duration) Verdict {
	because, unsettled := p.before()
	if because == "" {
		p.search()
	}
	v := Verdict{Blocked: p.s.blocked}
	switch s := &p.s; {
	case because != "":
		v = p.target.guess(quiet, because)
	case s.found:
		p.weigh(&v, quiet)
	case s.denied.pid != 0:
		p.weighAlive(&v, quiet)
	case s.hidden:
		v = p.target.guess(quiet, "its processes cannot be seen")
	default:
		v.Stopped = s.stopped
		v.Why = "nobody is blocked on " + p.what()
		if s.stopped {
			v.Why = "who would read is stopped"
		}
		return v
	}
	if unsettled == "" && v.Waiting {
		unsettled = p.unsettled() // again: what was seen may be what was before it
	}
	if unsettled != "" && (v.Waiting || v.Again > 0) {
		return Verdict{Blocked: v.Blocked, Why: unsettled, Again: max(v.Again, backoff(quiet))}
	}
	if v.Waiting {
		p.last = v.PID
	}
	return v
}

// before finds out what has to be known before processes are looked at: why they need
// not be, and what speaks against waiting.
func (p *Prober) before() (because, unsettled string) {
	p.s.reset()
	unsettled = p.unsettled()
	if p.best == nothing {
		return "nobody is looked at", unsettled
	}
	if !p.identified {
		id, err := p.target.Input.ID()
		if err != nil {
			return fmt.Sprintf("the input is not known: %v", err), unsettled
		}
		p.id, p.identified = id, true
	}
	if p.s.unknown {
		return "whether the input was consumed is not known", unsettled
	}
	return "", unsettled
}

// unsettled says what speaks against waiting, whoever reads: "" for nothing.
func (p *Prober) unsettled() string {
	unread, err := p.target.Input.Unread()
	p.s.unknown = err != nil
	switch {
	case unread:
		return "what was written was not consumed"
	case !p.target.Input.OutputIdle():
		return "what was printed was not stored"
	}
	return ""
}

// weigh says what the wait that was found comes to.
func (p *Prober) weigh(v *Verdict, quiet time.Duration) {
	w := &p.s.best
	c := w.claim(p.s.runner != 0)
	missing := c.quiet - quiet
	if c.idle {
		if wait := p.busy(w, quiet); wait > missing {
			missing = wait
		}
	}
	if missing > 0 {
		if p.s.runner != 0 {
			missing = min(missing, backoff(quiet)) // It may just have woken up, or be about to end.
		}
		v.Again, v.Why = max(missing, soon), p.explain(w)+": it was not quiet for long enough"
		return
	}
	kind, _ := p.target.kind()
	v.Waiting, v.State, v.Kind, v.Confidence, v.PID, v.Why = true, c.state, kind, c.confidence, w.pid, p.explain(w)
}

// explain is a phrase about a wait.
func (p *Prober) explain(w *wait) string {
	text := fmt.Sprintf("%s (pid %d) is blocked in %s on %s", w.name, w.pid, w.call, p.what())
	switch {
	case w.others != "":
		text += ", and " + w.others
	case w.ambiguous:
		text += ", or on something else that it reads"
	default:
		text += " alone"
	}
	switch {
	case w.timeout == unknownTimeout:
		text += ", for a time that cannot be read"
	case w.timeout >= 0:
		text += fmt.Sprintf(", for %v", w.timeout)
	}
	if p.s.runner != 0 {
		text += fmt.Sprintf(", while pid %d runs", p.s.runner)
	}
	return text
}

func (p *Prober) what() string {
	if p.target.Terminal == nil {
		return "stdin"
	}
	return "the terminal"
}
