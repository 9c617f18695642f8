//go:build linux || darwin

package direct

import (
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

const (
	// stopFirstAfter is the number of sweeps that did not end the job after which each sweep stops all processes before
	// it kills them: while stopped, they cannot fork faster than they are listed.
	stopFirstAfter = 20
	// sweepPause is the pause between two sweeps; a reported end causes a scan at once.
	sweepPause = 2 * time.Millisecond
	// slowPause is the pause once the report was sent: no process may be signalled, or killPatience is over.
	slowPause = 250 * time.Millisecond
	// deniedSweeps is the number of sweeps in a row that found only processes of other users after which the operation
	// is reported: it can do no more.
	deniedSweeps = 3
	// killPatience is how long after the first KILL a report waits for processes that the kernel does not release.
	killPatience = 10 * time.Second
	// hangupAgain is the time from the first HUP to the command's second. The time doubles with each one, through the
	// grace period: an interactive bash loses a HUP that arrives between its check for signals and its wait for a key.
	hangupAgain = 100 * time.Millisecond
	// signalPasses is the maximum number of scans for processes that were born while a signal was being sent.
	signalPasses = 16
)

// A killOp is one kill operation.
type killOp struct {
	began    time.Time
	deadline time.Time // end of the grace period
	force    bool
	hangup   bool
	hangAt   time.Time     // when the command gets another HUP, if hangup
	again    time.Duration // time from that one to the next
	forcedAt time.Time     // time of the first KILL
	sweepAt  time.Time     // time of the next sweep
	sweeps   int
	denied   int  // sweeps in a row that could signal no process
	reported bool // the report was sent; the sweeps go on, slowly

	signals []keeper.SignalSent
	seen    map[int]*seen // by pid
	order   []*seen
	omitted int
}

// A seen is one process that a kill operation has found.
type seen struct {
	keeper.Proc
	start  uint64
	killed bool // KILL was sent to it
	denied bool // it may not be signalled
}

// due returns the time at which the operation continues by itself.
func (op *killOp) due() time.Time {
	switch {
	case !op.sweepAt.IsZero():
		return op.sweepAt
	case op.hangup && op.hangAt.Before(op.deadline):
		return op.hangAt
	}
	return op.deadline
}

// beginKill begins a kill operation, or joins the one in progress; package keeper's kill has the table of the results.
func (j *Job) beginKill(o keeper.KillOptions) {
	now := time.Now()
	if j.op != nil && !j.op.reported {
		j.join(j.op, o, now)
		return
	}
	j.op = &killOp{
		began: now, deadline: now.Add(o.Grace), force: !o.NoForce, hangup: o.Hangup, seen: map[int]*seen{},
	}
	if o.Grace > 0 || o.NoForce {
		signals := []syscall.Signal{syscall.SIGTERM}
		if o.Hangup {
			signals = append(signals, syscall.SIGHUP)
			j.op.hangUpFrom(now)
		}
		j.signalAll(append(signals, syscall.SIGCONT)...) // A stopped process handles TERM only after CONT.
	}
}

func (j *Job) join(op *killOp, o keeper.KillOptions, now time.Time) {
	deadline := now.Add(o.Grace)
	if o.Hangup && !op.hangup && op.forcedAt.IsZero() {
		op.hangup = true
		op.hangUpFrom(now)
		j.signalAll(syscall.SIGHUP, syscall.SIGCONT)
	}
	switch {
	case !o.NoForce && !op.force:
		op.force, op.deadline = true, deadline
	case o.NoForce && op.force:
	case deadline.Before(op.deadline):
		op.deadline = deadline
	}
}

// advance does the work that is due.
func (j *Job) advance(now time.Time) {
	op := j.op
	switch {
	case now.Before(op.deadline):
		if op.hangup && !now.Before(op.hangAt) && !j.reaped {
			op.note(syscall.SIGHUP, now)
			_ = j.sys.kill(j.pid, syscall.SIGHUP) // Best effort: it may be ending.
		}
		if op.hangup && !now.Before(op.hangAt) {
			op.again *= 2
			op.hangAt = now.Add(op.again)
		}
	case !op.force:
		j.look()
		if !j.isEmpty() {
			j.events.Push(keeper.Event{Kind: keeper.Killed, Report: j.reportLiving(op)})
			j.op = nil
		}
	case !now.Before(op.sweepAt):
		j.sweep(op, now)
	}
}

// hangUpFrom sets the time at which the command gets another HUP.
func (op *killOp) hangUpFrom(now time.Time) {
	op.again = hangupAgain
	op.hangAt = now.Add(hangupAgain)
}

func (op *killOp) note(sig syscall.Signal, now time.Time) {
	op.signals = append(op.signals, keeper.SignalSent{Name: shortName(sig), After: max(now.Sub(op.began), 0)})
}

// signalAll sends signals to all processes of the job, each once. A child forked after its parent was listed would
// never get them, so signalAll scans again until no process is new. All processes are inspected before any is
// signalled: the command lines of those that die could not be read any more.
func (j *Job) signalAll(signals ...syscall.Signal) {
	for _, sig := range signals {
		j.op.note(sig, time.Now())
	}
	had := map[int]uint64{}
	for range signalPasses {
		j.look()
		var fresh []process
		for _, p := range j.living {
			if start, ok := had[p.pid]; !ok || start != p.start {
				had[p.pid] = p.start
				j.see(p)
				fresh = append(fresh, p)
			}
		}
		if len(fresh) == 0 {
			return
		}
		for _, p := range fresh {
			for _, sig := range signals {
				err := j.send(p, sig)
				j.see(p).denied = err == syscall.EPERM
			}
		}
	}
}

// sweep sends KILL to all processes.
func (j *Job) sweep(op *killOp, now time.Time) {
	if op.forcedAt.IsZero() {
		op.forcedAt = now
		op.note(syscall.SIGKILL, now)
	}
	j.look()
	if op.sweeps++; op.sweeps > stopFirstAfter {
		for _, p := range j.living {
			_ = j.send(p, syscall.SIGSTOP) // KILL comes next.
		}
		j.look()
	}
	if j.unread != nil && !j.reaped {
		_ = j.sys.kill(-j.pid, syscall.SIGKILL) // The command leads a group, and needs no list.
	}
	reached := false
	for _, p := range j.living {
		s := j.see(p)
		err := j.send(p, syscall.SIGKILL)
		s.denied = err == syscall.EPERM
		s.killed = s.killed || err == nil
		reached = reached || err != syscall.EPERM
	}
	if op.denied++; reached || len(j.living) == 0 {
		op.denied = 0
	}
	stuck := op.denied >= deniedSweeps || now.Sub(op.forcedAt) > killPatience
	if stuck && !op.reported && !j.isEmpty() {
		op.reported = true
		j.events.Push(keeper.Event{Kind: keeper.Killed, Report: j.reportLiving(op)})
	}
	op.sweepAt = time.Now().Add(sweepPause)
	if op.reported {
		op.sweepAt = time.Now().Add(slowPause)
	}
}

// see returns the record of a process, and adds it at first sight.
func (j *Job) see(p process) *seen {
	op := j.op
	if s := op.seen[p.pid]; s != nil && s.start == p.start {
		return s
	}
	s := &seen{start: p.start}
	op.seen[p.pid] = s
	if len(op.order) == keeper.MaxProcs {
		op.omitted++
		return s
	}
	s.Proc = j.describe(p)
	op.order = append(op.order, s)
	return s
}

// report returns the result for every process that the operation has found, by the last scan.
func (j *Job) report(op *killOp) keeper.Report {
	for _, p := range j.living {
		j.see(p)
	}
	alive := map[int]uint64{}
	for _, p := range j.living {
		alive[p.pid] = p.start
	}
	r := keeper.Report{Signals: op.signals, Omitted: op.omitted}
	for _, s := range op.order {
		if start, ok := alive[s.PID]; ok && start == s.start {
			r.Survivors = append(r.Survivors, keeper.Survivor{Proc: s.Proc, Why: s.why(op)})
			continue
		}
		r.Killed = append(r.Killed, keeper.KilledProc{Proc: s.Proc, How: j.ending(s)})
	}
	return r
}

// reportLiving is report for a job that is not over. It names at least one survivor: if the list
// of processes could not be read, the list may be incomplete.
func (j *Job) reportLiving(op *killOp) keeper.Report {
	r := j.report(op)
	if len(r.Survivors) == 0 {
		why := "it is not yet known whether processes of the job are alive"
		if j.unread != nil {
			why = "the live processes of the job cannot be listed: " + j.unread.Error()
		}
		r.Survivors = []keeper.Survivor{{Proc: keeper.Proc{PID: j.pid}, Why: why}}
	}
	return r
}

// ending returns how a process ended; the system reports that for the command alone.
func (j *Job) ending(s *seen) string {
	switch {
	case s.PID == j.pid && j.reaped:
		return j.status
	case s.killed:
		return shortName(syscall.SIGKILL)
	}
	return keeper.HowGone
}

func (s *seen) why(op *killOp) string {
	switch {
	case s.denied:
		return "it runs as another user and may not be signalled"
	case op.force:
		return "KILL was sent, but the kernel has not ended it yet"
	}
	return "it was still alive after the grace"
}
