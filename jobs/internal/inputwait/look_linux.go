package inputwait

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A Prober looks at one job.
type Prober struct {
	target Target
	best   tier // the best that is used

	id         ID // of the input
	identified bool

	r      reader
	s      search
	last   suspect // who waited when somebody did last
	burnt  sample  // processor time of a thread, in nanoseconds
	awoken sample  // switches of a process
	pairs  []pairing
	files  files    // of the process that was looked at last
	seen   []member // used again: of the search
	ends   []end    // the same
	rest   rest     // the last verdict, while nothing speaks against it
	used   []usage  // by the job's threads, when it was searched last
	keen   keen
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
	if quiet > later { // what looks cost only matters once they are for nothing
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
		v.Stopped, v.Why = true, "who would read is stopped"
	default:
		v.Why = "nobody is blocked on " + p.what()
	}
	p.rest = rest{}
	if p.r.failed != nil { // Whoever was not seen may be the one who runs, or who waits.
		return Verdict{Blocked: v.Blocked, Why: fmt.Sprintf("not all of the job could be looked at: %v", p.r.failed), Again: backoff(quiet)}
	}
	v = p.settle(v, unsettled, quiet)
	if v.Waiting {
		p.remember(&v)
		p.note(&v)
	}
	return v
}

// remember notes who waits, to be looked at early the next time.
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

// A rest is a job that was seen to wait for the input alone, and what each of its threads
// had been given of a processor by then. As long as that is the same, nothing has changed:
// who starts another or wakes it up has run himself.
type rest struct {
	verdict Verdict
	looks   int // that have relied on it
}

// A usage is what a thread has been given.
type usage struct {
	pid, tid    int
	time, turns int
}

const (
	mostRests   = 7 // how many looks rely on one
	mostResting = 6 // threads: for more it is not cheaper than to look
)

// note adds its turns to a verdict, and keeps it for rests if it is exact.
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

// use reads what a thread has been given. It returns false where that is not known.
func (p *Prober) use(u *usage) bool {
	text, err := p.r.slurp(unix.AT_FDCWD, p.r.join([]part{{name: "/proc"}, {number: u.pid}, {name: "task"}, {number: u.tid}, {name: "schedstat"}}), 128)
	return err == nil && u.parse(text)
}

// track notes what the threads of a process have been given, before it is looked at.
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

// rests says whether the job has slept since it was seen to wait, and what was said then.
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

// refused says why no look can be taken, or because of what there can be but a guess.
func (p *Prober) refused() (refused, because string) {
	if p.best == nothing {
		return "", "nobody is looked at"
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

// settle holds against a verdict what speaks against waiting, whoever reads: before
// anybody was looked at, and now, since what was seen may be what was before it.
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
			return Verdict{Blocked: v.Blocked, Why: v.Why + ": it was not quiet for long enough", Again: quietGuess - quiet}
		}
		v.Confidence, v.Why = Guess, fmt.Sprintf("%s; whether what was written was consumed is not known: %v", v.Why, p.s.unknown)
	}
	return v
}

// unsettled says what speaks against waiting: "" for nothing.
func (p *Prober) unsettled() string {
	unread, err := p.target.Input.Unread()
	p.s.unknown = err
	switch {
	case errors.Is(err, os.ErrClosed):
		return "the input is closed"
	case unread:
		p.keen = keen{} // What it does with that it has not shown yet.
		return "what was written was not consumed"
	case !p.target.Input.OutputIdle():
		return "output is still coming"
	}
	return ""
}

// weigh says what the wait that was found comes to.
func (p *Prober) weigh(v *Verdict, quiet time.Duration) {
	w := &p.s.best
	switch {
	case w.others != "":
	case p.s.cut:
		w.others = "there is more of the job than one look sees"
	case p.s.blocked:
		w.others = "somebody of the job waits for its output to be read"
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
		v.Again, v.Why = max(missing, soon), p.explain(w)+": it was not quiet for long enough"
		if w.others == "" && !w.ambiguous && w.seen == full && w.timeout == forever {
			v.Reader = w.pid
		}
		return
	}
	kind, _ := p.target.kind()
	v.Waiting, v.State, v.Kind, v.Confidence, v.PID, v.Why = true, c.state, kind, c.confidence, w.pid, p.explain(w)
}

// weighShared weighs once more a wait that seems to be for the input alone.
func (p *Prober) weighShared(w *wait, c claim) claim {
	switch shared, known := p.shared(w.pid); {
	case shared:
		w.others = "perhaps on what another process does"
		return w.claim(p.s.runner != 0)
	case !known:
		c.confidence = Likely
	}
	return c
}

// keen is a process that was met again and again where it takes input, although it was not
// quiet.
type keen struct {
	pid         int
	looks       int
	since, last time.Time
}

// isKeen notes that a process was met, and says whether that was so for long.
func (p *Prober) isKeen(w *wait) bool {
	now := time.Now()
	if p.keen.pid != w.pid || now.Sub(p.keen.last) > keenFor {
		p.keen = keen{pid: w.pid, since: now}
	}
	p.keen.looks++
	p.keen.last = now
	return p.keen.looks >= keenLooks && now.Sub(p.keen.since) >= keenFor
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
	if w.timed {
		text += ", while another of its threads waits for a time"
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
