package keeper

import (
	"time"

	"golang.org/x/sys/unix"
)

// Processes that missed TERM.
//
// A shell that has a handler for TERM, and gets it while it forks, goes on to fork: the child is born after all
// processes were signalled, and the shell waits for it, perhaps for hours. Or the child exists already but still has
// the shell's handler, which does nothing in a child, and then executes its program, which never gets TERM. So during
// the grace period the job is probed again: whenever one of its processes was reaped, and at intervals that double.
//
// Not every new process missed TERM: a handler starts processes as well, to clean up. Those are left alone until KILL,
// as long as their parent lives. The parent shows the difference: it handles TERM, and was asleep when TERM was sent,
// so that it was not forking. If it was running then, the difference cannot be seen: its next child gets half of the
// grace period, which is most of the time that a clean-up needs, and then TERM, which leaves it the other half.

const (
	// firstLook is the time from TERM to the first probe; each further one comes after twice the time.
	firstLook = 50 * time.Microsecond
	// maxLooks is the maximum number of probes, for a job that never comes to rest.
	maxLooks = 256
	// lookShare is the inverse of the maximum share of the time that is spent on probes.
	lookShare = 5
	// forkTime is the time after TERM during which a new child may be the one that its parent was forking then.
	forkTime = time.Second
)

// A looker schedules the probes of an operation. It is part of a killOp.
type looker struct {
	looks  int
	next   time.Time // the next probe that needs no news
	rested time.Time // after the last probe; before this there is none for news either
	news   bool      // a process of the job was reaped since the last probe
	late   bool      // the last probe was in the second half of the grace period
}

// half returns the time at which half of the grace period is over.
func (op *killOp) half() time.Time { return op.began.Add(op.deadline.Sub(op.began) / 2) }

// lookDue returns the time of the next probe. There is always a probe at half of the grace period, so that a process
// whose TERM was delayed until then has the other half to end.
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

// lookWhenDue runs a probe if it is due, and returns the time until the next one, at most left. The caller holds k.mu.
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

// tellMissed sends TERM, and the signals that go with it, to all processes that missed it. The caller holds k.mu.
func (k *keeper) tellMissed(op *killOp) {
	below := newKin(k.self)
	for _, n := range k.list() {
		st, err := readStat(n.pid)
		if err != nil || !st.alive() {
			continue
		}
		p := op.meet(n, st)
		p.spared = p.spared && n.parent != k.self && !(p.doubted && op.late) // No process waits for an orphan.
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
		// The parent ran when TERM was sent to it: this may be the child that it was forking then, or one that cleans
		// up. The same is true of that child's own children, until TERM is sent to it.
		p.doubted = parent.awake && time.Since(op.began) < forkTime || parent.doubted && !parent.told
	}
	return p
}

// tell sends one process the signals that the others were sent.
func (op *killOp) tell(below *kin, n node, p *seenProc) {
	p.give(below, n, unix.SIGTERM)
	if op.hangup {
		p.give(below, n, unix.SIGHUP)
	}
	p.give(below, n, unix.SIGCONT)
}

// give sends a signal to one process that was found.
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

// hasMissed reports, once, whether a process that was sent TERM has since executed another program than the one that
// took it. If it executed the program at that very time, the program may have got TERM: then it would be dead, or dies
// of it, unless it has a handler.
func (p *seenProc) hasMissed(st procStat) bool {
	if !p.told || !p.forked || st.forked {
		return false
	}
	p.forked = false
	return !p.unsure || !st.handlesTERM
}

// isAnswering reports whether a process that this parent has started after TERM is there to answer it. It returns false
// for an orphan, whose parent is unknown.
func (op *killOp) isAnswering(parent int) bool {
	p := op.seen[parent]
	switch {
	case p == nil:
		return false
	case p.spared || !p.told:
		return p.spared
	}
	// A program often resets its handler in its handler. A child of a shell resets the inherited one, and then nothing
	// in it knows about the TERM that it took.
	st, err := readStat(parent)
	handles := err == nil && sameStart(st.start, p.start) && st.handlesTERM
	if !handles && (p.forked || !p.handled) {
		return false
	}
	return true
}
