package keeper

import (
	"time"

	"golang.org/x/sys/unix"
)

// What TERM has missed.
//
// A shell that has a handler for TERM, and gets it while it forks, goes on to fork: the
// child is born after everybody was told, and the shell waits for it, be it for hours.
// Or the child is there already but still has the shell's handler, which does nothing
// in a child, and then becomes its program, which knows of no TERM. So through the grace
// the job is looked at again: whenever one of it was reaped, and at times that double.
//
// Not all that is new was missed: a handler starts processes as well, to clean up.
// Those are left alone until KILL, as long as their parent lives. What tells them apart is
// that parent: it handles TERM, and was asleep when that was sent, so that it was not
// forking. Of one that ran then nobody can tell: what it starts next gets half of the grace,
// which is most of what a clean-up needs, and then TERM, which leaves it the other half.

const (
	// firstLook is how long after TERM the first look comes; each further one comes
	// after twice the time.
	firstLook = 50 * time.Microsecond
	// maxLooks bounds the looks at a job that never comes to rest.
	maxLooks = 256
	// lookShare of the time at most is spent on looking, the inverse of it.
	lookShare = 5
	// forkTime is how long after TERM a child may be the one that its parent was
	// forking then.
	forkTime = time.Second
)

// A looker says when an operation looks again. It is part of a killOp.
type looker struct {
	looks  int
	next   time.Time // the next look that needs no news
	rested time.Time // after the last look, before which there is none for news either
	news   bool      // one of the job was reaped since the last look
	late   bool      // the last look was in the second half of the grace
}

// half is when half of the grace is over.
func (op *killOp) half() time.Time { return op.began.Add(op.deadline.Sub(op.began) / 2) }

// lookDue is when to look again. There is always a look at half of the grace, so that
// whom it was put off for has the other half to end.
func (op *killOp) lookDue() time.Time {
	l := &op.looker
	due := l.next
	switch {
	case l.looks >= maxLooks:
		due = op.deadline
	case l.news && l.rested.Before(due):
		due = l.rested
	}
	if half := op.half(); !l.late && half.Before(due) {
		return half
	}
	return due
}

// lookWhenDue looks again where it is time for it, and returns how long it is until
// the next time, at most left. The caller holds k.mu.
func (k *keeper) lookWhenDue(op *killOp, left time.Duration) time.Duration {
	l := &op.looker
	if left <= 0 {
		return left
	}
	now := time.Now()
	if wait := op.lookDue().Sub(now); wait > 0 {
		return min(wait, left)
	}
	l.looks++
	l.news = false
	l.late = !now.Before(op.half())
	k.tellMissed(op)
	l.rested = now.Add(lookShare * time.Since(now))
	l.next = later(l.rested, now.Add(max(firstLook, now.Sub(op.began))))
	return min(time.Until(op.lookDue()), left)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tellMissed gives TERM to all whom it has missed, and what goes with it. The caller
// holds k.mu.
func (k *keeper) tellMissed(op *killOp) {
	below := newKin(k.self)
	for _, n := range k.list() {
		st, err := readStat(n.pid)
		if err != nil || !st.alive() {
			continue
		}
		p := op.meet(n, st)
		p.spared = p.spared && n.parent != k.self && !(p.doubted && op.late) // An orphan is waited for by nobody.
		if !p.spared && (!p.told || p.hasMissed(st)) {
			op.tell(below, n, p)
		}
	}
}

// meet is see for a process that may have been started to answer TERM.
func (op *killOp) meet(n node, st procStat) *seenProc {
	if p := op.seen[n.pid]; p != nil && sameStart(p.start, st.start) {
		return p
	}
	p := op.see(st)
	p.spared = op.isAnswering(n.parent)
	if parent := op.seen[n.parent]; p.spared && parent != nil {
		// It ran when it was sent TERM: this may be what it was forking then, or cleans up.
		// So may what that starts, until it is told itself.
		p.doubted = parent.awake && time.Since(op.began) < forkTime || parent.doubted && !parent.told
	}
	return p
}

// tell gives one process what the others were given.
func (op *killOp) tell(below *kin, n node, p *seenProc) {
	p.give(below, n, unix.SIGTERM)
	if op.hangup {
		p.give(below, n, unix.SIGHUP)
	}
	p.give(below, n, unix.SIGCONT)
}

// give signals one process that was met.
func (p *seenProc) give(below *kin, n node, sig unix.Signal) {
	p.denied = below.signal(n, sig) == unix.EPERM
	if sig != unix.SIGTERM {
		return
	}
	p.told = true
	if p.forked {
		st, err := readStat(n.pid)
		p.unsure = err != nil || !st.forked
	}
}

// hasMissed says, once, whether a process that was sent TERM has since become another
// program than the one that took it. Where it became one just then, the program may have
// got it: it would be dead, or dies of it, unless it has a handler.
func (p *seenProc) hasMissed(st procStat) bool {
	if !p.told || !p.forked || st.forked {
		return false
	}
	p.forked = false
	return !p.unsure || !st.handlesTERM
}

// isAnswering says whether a process that this parent has started after TERM is there
// to answer it. An orphan's parent is not known, and is told as nobody.
func (op *killOp) isAnswering(parent int) bool {
	p := op.seen[parent]
	switch {
	case p == nil:
		return false
	case p.spared || !p.told:
		return p.spared
	}
	// A program often resets its handler in its handler. A child of a shell resets the
	// one that it was born with, and then knows nothing of the TERM that it took.
	st, err := readStat(parent)
	handles := err == nil && sameStart(st.start, p.start) && st.handlesTERM
	if !handles && (p.forked || !p.handled) {
		return false
	}
	return true
}
