package keeper

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stopFirstAfter is the number of sweeps that did not end the job after which each sweep stops all processes before
	// it kills them: while stopped, they cannot fork faster than they are listed.
	stopFirstAfter = 50
	// deniedSweeps is the number of sweeps in a row that found only processes of other users after which the operation
	// is reported: it can do no more.
	deniedSweeps = 3
	// killPatience is how long after the first KILL a report waits for processes that the kernel does not release, such
	// as ones in disk wait.
	killPatience = 10 * time.Second
	// hangupAgain is the time from the first HUP to the leader's second. The time doubles with each one, through the
	// grace period: an interactive bash loses a HUP that arrives between its check for signals and its wait for a key.
	hangupAgain = 100 * time.Millisecond
)

// A killOp is one kill operation. All fields are guarded by keeper.mu.
type killOp struct {
	began    time.Time
	deadline time.Time // end of the grace period
	force    bool
	hangup   bool
	hungUp   time.Time     // time of the last HUP, if hangup
	again    time.Duration // time from hungUp to the next HUP
	marks    []string      // as in keeper
	forcedAt time.Time     // of the first KILL
	reported bool          // the report was sent; the sweeps go on, slowly

	quietRuns  int // sweeps in a row that found no new process
	listed     int // number of processes, in the last sweep
	slipped    int // of these, unknown ones that were gone before they were inspected
	deniedRuns int // sweeps in a row that could signal no process
	looker

	signals []SignalSent
	seen    map[int]*seenProc // by pid, those not known to have ended
	order   []*seenProc
	omitted int
	hidden  bool // some processes of the job are hidden, and so are those below them

	// changed wakes runKill when deadline or force has changed, a child was reaped, or the job is over.
	changed chan struct{}
}

// A seenProc is one process that a kill operation has found.
type seenProc struct {
	Proc
	start   uint64
	killed  bool   // KILL was sent to it
	denied  bool   // it may not be signalled
	how     string // how it ended, or empty
	told    bool   // TERM was sent to it
	spared  bool   // it was started to answer TERM, and gets none
	doubted bool   // or may have been forked just when TERM was sent: it gets TERM in the second half of the grace

	// State when TERM was sent to it:
	forked  bool // it had not executed its program yet
	handled bool // it had a handler
	awake   bool // it ran, and so may have been forking
	unsure  bool // it executed its program at that very time
}

// kill begins a kill operation, or joins the one in progress:
//
//	current    new       result
//	any        hangup    HUP is sent now if it was not
//	no force   no force  the earlier deadline
//	force      force     the earlier deadline
//	no force   force     force, at the new deadline
//	force      no force  unchanged
//
// TERM is not sent again: many programs interpret a second one as impatience. The caller holds k.mu.
func (k *keeper) kill(o KillOptions) {
	deadline := time.Now().Add(o.Grace)
	k.last = k.last || o.Last
	if k.op != nil && !k.op.reported {
		k.join(k.op, o, deadline)
		return
	}
	op := &killOp{
		began: time.Now(), deadline: deadline, force: !o.NoForce, hangup: o.Hangup, marks: k.marks,
		seen: make(map[int]*seenProc), changed: make(chan struct{}, 1),
	}
	k.op = op
	if o.Grace > 0 || o.NoForce {
		k.strike(unix.SIGTERM)
		k.signalAll(op, unix.SIGTERM)
		if o.Hangup {
			k.hangUp(op)
		}
		k.signalAll(op, unix.SIGCONT) // A stopped process handles TERM only after that.
	}
	go k.runKill(op)
}

func (k *keeper) join(op *killOp, o KillOptions, deadline time.Time) {
	if o.Hangup && !op.hangup && op.forcedAt.IsZero() {
		op.hangup = true
		k.hangUp(op)
		k.signalAll(op, unix.SIGCONT)
	}
	switch {
	case !o.NoForce && !op.force:
		op.force, op.deadline = true, deadline
	case o.NoForce && op.force:
		return
	case deadline.Before(op.deadline):
		op.deadline = deadline
	}
	op.wake()
}

func (op *killOp) wake() {
	select {
	case op.changed <- struct{}{}:
	default:
	}
}

// runKill takes an operation through its grace period to the sweeps, which end when reap finds that no child is left.
func (k *keeper) runKill(op *killOp) {
	if !k.awaitGrace(op) {
		return
	}
	for n := 0; ; n++ {
		k.mu.Lock()
		if k.op != op { // The job is over, or there is a new operation after the report.
			k.mu.Unlock()
			return
		}
		met, began := op.met(), time.Now()
		k.sweep(op, n)
		pause := op.nap(n, met, time.Since(began))
		k.mu.Unlock()
		// This waits for no event: it leaves the processor, and the lock, to reap.
		time.Sleep(pause)
	}
}

func napAfter(n int, reported bool) time.Duration {
	switch {
	case reported:
		return 250 * time.Millisecond
	case n < stopFirstAfter:
		return 50 * time.Microsecond
	}
	return min(time.Duration(n-stopFirstAfter+1)*200*time.Microsecond, 20*time.Millisecond)
}

// awaitGrace returns true when it is time for KILL, and false when the job is over or an operation without force has
// been reported.
func (k *keeper) awaitGrace(op *killOp) bool {
	for {
		k.mu.Lock()
		if k.op != op {
			k.mu.Unlock()
			return false
		}
		left, force := time.Until(op.deadline), op.force
		if left <= 0 && !force && k.finish(op) {
			k.op, k.blow = nil, blow{} // If the command ends after this, it has another cause.
		}
		pause := min(k.lookWhenDue(op, left), k.hangUpAgain(op, left))
		k.mu.Unlock()
		if left <= 0 {
			return force
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-op.changed:
			timer.Stop()
		}
	}
}

// hangUp sends HUP to all processes. The caller holds k.mu.
func (k *keeper) hangUp(op *killOp) {
	k.signalAll(op, unix.SIGHUP)
	op.hungUp, op.again = time.Now(), hangupAgain
}

// hangUpAgain sends the leader another HUP if it is due, and returns the time until the next. The caller holds k.mu.
func (k *keeper) hangUpAgain(op *killOp, left time.Duration) time.Duration {
	if op.hungUp.IsZero() {
		return left
	}
	if wait := time.Until(op.hungUp.Add(op.again)); wait > 0 {
		return wait
	}
	if left > 0 && !k.leaderGone {
		op.signals = append(op.signals, SignalSent{Name: shortName(unix.SIGHUP), After: time.Since(op.began)})
		_ = unix.Kill(k.leader, unix.SIGHUP) // Best effort: it may be ending.
	}
	op.hungUp, op.again = time.Now(), 2*op.again
	return op.again
}

// signalPasses is the maximum number of passes of signalAll, in case a job forks without end.
const signalPasses = 20

// signalAll sends a signal to all processes of the job, once, and records it for the report. A child forked after its
// parent was listed would never get the signal, and would live through the grace period, so signalAll lists again until
// no process is new. That ends, because fork does not complete in a process with a pending signal.
//
// All processes are inspected before any is signalled: the command lines of those that die could not be read any more.
func (k *keeper) signalAll(op *killOp, sig syscall.Signal) {
	op.signals = append(op.signals, SignalSent{Name: shortName(sig), After: time.Since(op.began)})
	had := make(map[int]uint64) // start times by pid
	for range signalPasses {
		fresh := k.meetNew(op, had)
		if len(fresh) == 0 {
			return
		}
		if sig == unix.SIGTERM {
			// A process that was listed without children, and then seen asleep, may have forked in between: that child
			// was not started to answer TERM.
			fresh = append(fresh, k.meetNew(op, had)...)
		}
		below := newKin(k.self)
		for _, n := range fresh {
			if p := op.seen[n.pid]; p != nil {
				p.give(below, n, sig)
			}
		}
	}
}

// meetNew lists the processes of the job that are not in had and that should get a signal to all, and adds them to had.
// The caller holds k.mu.
func (k *keeper) meetNew(op *killOp, had map[int]uint64) (fresh []node) {
	for _, n := range k.list() {
		st, err := readStat(n.pid)
		if err != nil || !st.alive() {
			continue
		}
		p := op.meet(n, st)
		p.awake = p.awake || !p.told && st.awake()
		if start, met := had[n.pid]; !(met && sameStart(start, st.start)) && !p.spared {
			fresh = append(fresh, n)
		}
		had[n.pid] = st.start
	}
	return fresh
}

// list lists the job without the processes whose status can be taken: if a job forks and exits without end, their
// number grows while they are inspected. The caller holds k.mu.
func (k *keeper) list() []node {
	k.collect()         // If no child is left, reap finds that as well.
	list, _ := k.tree() // A missing process is below a listed one, and is ended after that.
	return list
}

// signalListed signals all listed processes, and records them as seen. It returns how many took the signal, and how
// many may not be signalled.
func (k *keeper) signalListed(op *killOp, sig syscall.Signal) (reached, denied int) {
	below := newKin(k.self)
	list := k.list()
	op.listed, op.slipped = len(list), 0
	for _, n := range list {
		st, err := readStat(n.pid)
		if err != nil || !st.alive() {
			if op.seen[n.pid] == nil {
				op.slipped++
			}
			continue
		}
		p := op.see(st)
		err = below.signal(n, sig)
		p.denied = err == unix.EPERM
		switch {
		case p.denied:
			denied++
		case err == nil:
			reached++
			p.killed = p.killed || sig == unix.SIGKILL
		}
	}
	return reached, denied
}

// sweep sends KILL to all processes, the n-th time.
func (k *keeper) sweep(op *killOp, n int) {
	if op.forcedAt.IsZero() {
		op.forcedAt = time.Now()
		op.signals = append(op.signals, SignalSent{Name: "KILL", After: time.Since(op.began)})
		k.strike(unix.SIGKILL)
	}
	if n > 0 { // The first sweep is for the report, which has to name the processes before they die.
		k.killGroups(unix.SIGKILL)
	}
	if n >= stopFirstAfter {
		k.signalListed(op, unix.SIGSTOP)
	}
	if reached, denied := k.signalListed(op, unix.SIGKILL); reached == 0 && denied > 0 {
		op.deniedRuns++
	} else {
		op.deniedRuns = 0
	}
	stuck := op.deniedRuns >= deniedSweeps
	if stuck && k.serverGone {
		unix.Exit(1) // The hang-up that our exit causes is all that is left to try.
	}
	if !op.reported && (stuck || time.Since(op.forcedAt) > killPatience) {
		op.reported = k.finish(op)
	}
}

// finish sends the report of an operation that leaves a process alive, even one born since the last signal. The report
// names at least one survivor. finish returns false if the job is over, so that reap reports instead. The caller holds
// k.mu.
func (k *keeper) finish(op *killOp) bool {
	if k.collect() {
		return false
	}
	list, err := k.tree()
	for _, n := range list {
		if st, err := readStat(n.pid); err == nil && st.alive() {
			op.see(st)
		}
	}
	r := op.report()
	if len(r.Survivors) == 0 {
		r.Survivors = k.unseen(list, err)
	}
	k.send(encodeEvent(Event{Kind: Killed, Report: r}))
	return true
}

// unseen returns what keeps a job from being over if no process of it is seen alive: its zombies, or else the keeper,
// which has children according to the kernel.
func (k *keeper) unseen(list []node, unread error) (all []Survivor) {
	for _, n := range list {
		if st, err := readStat(n.pid); err == nil && len(all) < MaxProcs {
			all = append(all, Survivor{Proc: describe(st, nil), Why: "it has ended but was not reaped: its parent has not waited for it, or a process traces it"})
		}
	}
	if len(all) > 0 {
		return all
	}
	why := "a process of the job lives below it, and /proc does not list it"
	if unread != nil {
		why += ": " + unread.Error()
	}
	return []Survivor{{Proc: Proc{PID: k.self, Comm: processName, Command: "[" + processName + "]"}, Why: why}}
}

// see returns the record of a process, and adds it at first sight.
func (op *killOp) see(st procStat) *seenProc {
	if p := op.seen[st.pid]; p != nil && sameStart(p.start, st.start) {
		return p
	}
	p := &seenProc{start: st.start, forked: st.forked, handled: st.handlesTERM, awake: st.awake()}
	op.seen[st.pid] = p
	op.hidden = op.hidden || st.hidden
	if len(op.order) == MaxProcs {
		op.omitted++
		return p
	}
	p.Proc = describe(st, nil) // Without marks: they make it read every descriptor, and count for survivors only.
	op.order = append(op.order, p)
	return p
}

// reaped records how a child of the keeper ended.
func (op *killOp) reaped(pid int, ws unix.WaitStatus) {
	if ws.Stopped() || ws.Continued() {
		return
	}
	op.news = true
	op.wake()
	p := op.seen[pid]
	if p == nil && op.hidden && ws.Signaled() {
		// It was below a hidden process, and its group was killed before it became a child.
		p = op.see(procStat{pid: pid, comm: hiddenComm, state: 'Z', start: hiddenStart})
	}
	switch {
	case p == nil:
		return
	case ws.Exited():
		p.how = HowSelf
	default:
		p.how = shortName(ws.Signal())
	}
	delete(op.seen, pid)
}

// report returns the result for every process seen.
func (op *killOp) report() Report {
	r := Report{Signals: op.signals, Omitted: op.omitted}
	for _, p := range op.order {
		if p.how == "" {
			st, err := readStat(p.PID)
			switch {
			case err == nil && sameStart(st.start, p.start) && st.alive():
				// Its present state: it may have been found in the middle of its execve.
				r.Survivors = append(r.Survivors, Survivor{Proc: describe(st, op.marks), Why: p.why(op, st)})
				continue
			case err != nil && !isNotThere(err):
				r.Survivors = append(r.Survivors, Survivor{Proc: p.Proc, Why: "it is unknown whether it has ended: " + err.Error()})
				continue
			}
		}
		r.Killed = append(r.Killed, KilledProc{Proc: p.Proc, How: p.ending()})
	}
	return r
}

func (p *seenProc) ending() string {
	switch {
	case p.how != "":
		return p.how
	case p.killed:
		return "KILL"
	}
	return HowGone
}

func (p *seenProc) why(op *killOp, st procStat) string {
	switch {
	case p.denied:
		return "it runs as another user and may not be signalled"
	case op.force:
		return "KILL was sent, but the kernel has not ended it yet (state " + string(st.state) + ")"
	}
	return "it was still alive after the grace"
}
