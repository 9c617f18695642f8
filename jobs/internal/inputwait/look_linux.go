package inputwait

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A Prober probes one job.
type Prober struct {
	target Target
	best   tier // the best tier to use

	id         ID // of the input
	identified bool

	r      reader
	s      search
	last   suspect // the process that waited most recently
	burnt  sample  // processor time of a thread, in nanoseconds
	awoken sample  // context switches of a process
	pairs  []pairing
	files  files    // of the last probed process
	seen   []member // reused: processes found by the search
	ends   []end    // reused: ends found by the search
	rest   rest     // the last verdict, while nothing contradicts it
	used   []usage  // by the job's threads, when it was last searched
	keen   keen
}

// New returns a Prober that has not probed yet.
func New(t Target) *Prober { return &Prober{target: t, best: bestTier()} }

// How soon the next probe is worthwhile if the last one met a temporary obstacle.
const (
	soon  = time.Millisecond
	later = 250 * time.Millisecond
)

// backoff returns the time until the next probe. It grows with the time of quiet.
func backoff(quiet time.Duration) time.Duration { return min(max(quiet, soon), later) }

// Look probes the job. quiet is the time since the last output or write to the input. It is not for concurrent use.
func (p *Prober) Look(quiet time.Duration) Verdict {
	p.s.reset()
	p.r.begin()
	unsettled := p.unsettled()
	if refused, because := p.refused(); refused != "" {
		v := Verdict{Why: refused}
		if p.r.failed != nil {
			v.Again = backoff(quiet)
		}
		return v
	} else if because != "" {
		return p.settle(p.target.guess(quiet, because), unsettled, quiet)
	}
	if quiet > later { // The cost of probes matters only once they find nothing new.
		if v, ok := p.rests(); ok {
			return p.settle(v, unsettled, quiet)
		}
	}
	p.search(quiet > later && p.last.pid != 0)
	v := Verdict{Blocked: p.s.blocked}
	switch s := &p.s; {
	case s.found:
		p.weigh(&v, quiet)
	case s.denied.pid != 0:
		p.weighAlive(&v, quiet)
	case s.hidden:
		v = p.target.guess(quiet, "its processes cannot be seen")
	case s.stopped:
		v.Stopped, v.Why = true, "the process that would read is stopped"
	default:
		v.Why = "no process is blocked on " + p.what()
	}
	p.rest = rest{}
	if p.r.failed != nil { // A process that was not seen may run, or may be the one that waits.
		return Verdict{Blocked: v.Blocked, Why: fmt.Sprintf("the job could not be inspected completely: %v", p.r.failed), Again: backoff(quiet)}
	}
	v = p.settle(v, unsettled, quiet)
	if v.Waiting {
		p.remember(&v)
		p.note(&v)
	}
	return v
}

// remember notes the waiting process, so that the next probe inspects it early.
func (p *Prober) remember(v *Verdict) {
	switch v.PID {
	case p.s.best.pid:
		p.last = suspect{pid: v.PID, start: p.s.best.start}
	case p.s.denied.pid:
		p.last = p.s.denied
	default:
		p.last = suspect{}
	}
}

// A rest is a verdict that the job waits for the input alone, valid as long as the processor use of each of its threads
// stays the same: then nothing has changed, because a thread that starts or wakes up another has run itself.
type rest struct {
	verdict Verdict
	looks   int // probes that have relied on it
}

// A usage is the processor use of a thread, from its schedstat.
type usage struct {
	pid, tid    int
	time, turns int
}

const (
	mostRests   = 7 // how many probes may rely on one
	mostResting = 6 // threads: with more it costs as much as a full probe
)

// note adds the thread's turns to a verdict, and keeps the verdict for rests if it is exact.
func (p *Prober) note(v *Verdict) {
	u := usage{pid: v.PID, tid: v.PID}
	found := p.s.found && p.s.best.pid == v.PID
	if found {
		u.tid = p.s.best.tid
	}
	if !p.use(&u) {
		return
	}
	v.Turns = u.turns
	if found && v.Confidence == Exact && p.s.resting && slices.Contains(p.used, u) {
		p.rest = rest{verdict: *v}
	}
}

// use reads the usage of a thread. It returns false if that is unknown.
func (p *Prober) use(u *usage) bool {
	text, err := p.r.slurp(unix.AT_FDCWD, p.r.join([]part{{name: "/proc"}, {number: u.pid}, {name: "task"}, {number: u.tid}, {name: "schedstat"}}), 128)
	return err == nil && u.parse(text)
}

// track notes the usage of a process's threads, before the process is inspected.
func (p *Prober) track(proc process, st *stat) {
	var few [16]int
	tids := append(few[:0], proc.pid)
	if st.threads > 1 && len(p.used)+st.threads <= mostResting {
		tids = p.threads(tids[:0], proc)
	}
	if p.s.resting = len(p.used)+max(len(tids), st.threads) <= mostResting; !p.s.resting {
		return
	}
	for _, tid := range tids {
		u := usage{pid: proc.pid, tid: tid}
		if p.s.resting = u.read(proc); !p.s.resting {
			return
		}
		p.used = append(p.used, u)
	}
}

// rests returns the last verdict, and reports whether it still holds because the job has slept since.
func (p *Prober) rests() (v Verdict, ok bool) {
	if !p.rest.verdict.Waiting || p.rest.looks >= mostRests {
		return v, false
	}
	for _, before := range p.used {
		now := usage{pid: before.pid, tid: before.tid}
		if !p.use(&now) || now != before {
			return v, false
		}
	}
	p.rest.looks++
	v = p.rest.verdict
	v.Kind, _ = p.target.kind()
	return v, true
}

// refused returns why no probe is possible, or as because, why only a guess is.
func (p *Prober) refused() (refused, because string) {
	if p.best == nothing {
		return "", "processes are not inspected"
	}
	if p.identified {
		return "", ""
	}
	id, err := p.target.Input.ID()
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		p.r.failed = err
		return err.Error(), ""
	case errors.Is(err, os.ErrClosed):
		return err.Error(), ""
	case err != nil:
		return "", err.Error()
	}
	p.id, p.identified = id, true
	return "", ""
}

// settle rejects a verdict of waiting if unread input or pending output contradicts it: before the processes were
// inspected (unsettled), or now, because a process may have been seen as it was before that input or output.
func (p *Prober) settle(v Verdict, unsettled string, quiet time.Duration) Verdict {
	if !v.Waiting && v.Again == 0 {
		return v
	}
	if unsettled == "" && (v.Waiting || v.Reader != 0) {
		unsettled = p.unsettled()
	}
	if p.s.unknown != nil {
		v.Reader = 0
	}
	switch {
	case unsettled != "":
		return Verdict{Blocked: v.Blocked, Why: unsettled, Again: max(v.Again, backoff(quiet))}
	case v.Waiting && p.s.unknown != nil && v.Confidence != Guess:
		if quiet < quietGuess {
			return Verdict{Blocked: v.Blocked, Why: v.Why + ": it has not been quiet for long enough", Again: quietGuess - quiet}
		}
		v.Confidence, v.Why = Guess, fmt.Sprintf("%s; it is unknown whether the written input was consumed: %v", v.Why, p.s.unknown)
	}
	return v
}

// unsettled returns why the job cannot be waiting, or "" if nothing contradicts it.
func (p *Prober) unsettled() string {
	unread, err := p.target.Input.Unread()
	p.s.unknown = err
	switch {
	case errors.Is(err, os.ErrClosed):
		return "the input is closed"
	case unread:
		p.keen = keen{} // Its reaction to that is still to come.
		return "the written input was not consumed"
	case !p.target.Input.OutputIdle():
		return "output is still coming"
	}
	return ""
}

// weigh turns the best wait into a verdict.
func (p *Prober) weigh(v *Verdict, quiet time.Duration) {
	w := &p.s.best
	switch {
	case w.others != "":
	case p.s.cut:
		w.others = "the job has more processes than one probe inspects"
	case p.s.blocked:
		w.others = "a process of the job waits for its output to be read"
	}
	c := w.claim(p.s.runner != 0)
	if c.state == Reading {
		c = p.weighShared(w, c)
	}
	missing := c.quiet - quiet
	if c.idle {
		if wait := p.busy(w, quiet); wait > missing {
			missing = wait
		}
	}
	switch {
	case missing <= 0:
		p.keen = keen{} // It was quiet.
	case p.isKeen(w):
		c.state, c.confidence, missing = Listening, Likely, 0
	}
	if missing > 0 {
		if p.s.runner != 0 {
			missing = min(missing, backoff(quiet)) // It may just have woken up, or be about to end.
		}
		v.Again, v.Why = max(missing, soon), p.explain(w)+": it has not been quiet for long enough"
		if w.others == "" && !w.ambiguous && w.seen == full && w.timeout == forever {
			v.Reader = w.pid
		}
		return
	}
	kind, _ := p.target.kind()
	v.Waiting, v.State, v.Kind, v.Confidence, v.PID, v.Why = true, c.state, kind, c.confidence, w.pid, p.explain(w)
}

// weighShared reconsiders a wait that seems to be for the input alone.
func (p *Prober) weighShared(w *wait, c claim) claim {
	switch shared, known := p.shared(w.pid); {
	case shared:
		w.others = "perhaps on another process"
		return w.claim(p.s.runner != 0)
	case !known:
		c.confidence = Likely
	}
	return c
}

// keen counts the probes that have found one process waiting for input although it was not quiet.
type keen struct {
	pid         int
	looks       int
	since, last time.Time
}

// isKeen notes such a probe, and reports whether there were enough of them for long enough.
func (p *Prober) isKeen(w *wait) bool {
	now := time.Now()
	if p.keen.pid != w.pid || now.Sub(p.keen.last) > keenFor {
		p.keen = keen{pid: w.pid, since: now}
	}
	p.keen.looks++
	p.keen.last = now
	return p.keen.looks >= keenLooks && now.Sub(p.keen.since) >= keenFor
}

// explain returns a phrase about a wait.
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
		text += ", with a timeout that cannot be read"
	case w.timeout >= 0:
		text += fmt.Sprintf(", for %v", w.timeout)
	}
	if w.timed {
		text += ", while another of its threads waits with a timeout"
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
