package keeper

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stopFirstAfter sweeps that did not end the job, each one stops everybody
	// before it kills: what forks faster than it is listed cannot, stopped.
	stopFirstAfter = 50
	// deniedSweeps in a row that found only processes of other users end the
	// operation: it can do no more.
	deniedSweeps = 3
	// killPatience is how long after the first KILL a report waits for processes
	// that the kernel does not let go of, such as ones in disk wait.
	killPatience = 10 * time.Second
	// hangupAgain after the first HUP the leader gets another, then after twice the
	// time, and so on through the grace: an interactive bash loses one that comes
	// between its look for signals and its wait for a key.
	hangupAgain = 100 * time.Millisecond
)

// A killOp is one kill operation. All is guarded by keeper.mu.
type killOp struct {
	began    time.Time
	deadline time.Time // of the grace
	force    bool
	hangup   bool
	hungUp   time.Time     // when HUP was last sent, if hangup
	again    time.Duration // after hungUp, HUP is sent again
	marks    []string      // as in keeper
	forcedAt time.Time     // of the first KILL
	reported bool          // the report was sent; the sweeps go on, slowly

	quietRuns  int // sweeps in a row that met nobody new
	listed     int // by the last sweep
	slipped    int // of them, those that were gone before they were looked at, and not known
	deniedRuns int // sweeps in a row that could signal nobody
	looker

	signals []SignalSent
	seen    map[int]*seenProc // by pid, those not known to have ended
	order   []*seenProc
	omitted int
	hidden  bool // some of the job are hidden, and what is below them as well

	// changed wakes runKill after deadline or force changed, or the job is over.
	changed chan struct{}
}

// A seenProc is one process that a kill operation met.
type seenProc struct {
	Proc
	start   uint64
	killed  bool   // it was sent KILL
	denied  bool   // it may not be signalled
	how     string // how it ended, or empty
	told    bool   // it was sent TERM
	spared  bool   // it is there to answer TERM, and gets none
	doubted bool   // or was being forked when TERM was sent: it gets it in the second half of the grace

	// As it was when it was sent TERM:
	forked  bool // it had not become its program
	handled bool // it had a handler
	awake   bool // it ran, and so may have been forking
	unsure  bool // it became its program just then
}

// kill begins a kill operation, or joins the one that goes on:
//
//	going on   new       result
//	any        hangup    HUP is sent now if it was not
//	no force   no force  the earlier deadline
//	force      force     the earlier deadline
//	no force   force     force, at the new deadline
//	force      no force  as it was
//
// TERM is not sent again: many programs take a second one for impatience. The
// caller holds k.mu.
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
		k.signalAll(op, unix.SIGCONT) // A stopped process takes TERM only then.
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

// runKill takes an operation through its grace to the sweeps, which end when
// reap finds that there is no child left.
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
		// Not a wait for anything: it leaves the processor, and the lock, to reap.
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

// awaitGrace returns true when it is time for KILL, and false when the job is over
// or an operation without force has been reported.
func (k *keeper) awaitGrace(op *killOp) bool {
	for {
		k.mu.Lock()
		if k.op != op {
			k.mu.Unlock()
			return false
		}
		left, force := time.Until(op.deadline), op.force
		if left <= 0 && !force && k.finish(op) {
			k.op, k.blow = nil, blow{} // What ends the command from here on is another.
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

// hangUp sends HUP to everybody. The caller holds k.mu.
func (k *keeper) hangUp(op *killOp) {
	k.signalAll(op, unix.SIGHUP)
	op.hungUp, op.again = time.Now(), hangupAgain
}

// hangUpAgain sends the leader another HUP where it is time for one, and returns
// how long it is until the next. The caller holds k.mu.
func (k *keeper) hangUpAgain(op *killOp, left time.Duration) time.Duration {
	if op.hungUp.IsZero() {
		return left
	}
	if wait := time.Until(op.hungUp.Add(op.again)); wait > 0 {
		return wait
	}
	if left > 0 && !k.leaderGone {
		op.signals = append(op.signals, SignalSent{Name: shortName(unix.SIGHUP), After: time.Since(op.began)})
		_ = unix.Kill(k.leader, unix.SIGHUP) // Best effort: it may be going.
	}
	op.hungUp, op.again = time.Now(), 2*op.again
	return op.again
}

// signalPasses bounds signalAll against a job that forks without end.
const signalPasses = 20

// signalAll gives a signal to everything of the job, once, for the report to tell.
// A child that was forked after its parent had been listed would never get it, and
// live through the grace: it looks again until there is nobody new. That ends,
// since fork does not go through in a process that has a signal to take.
//
// Everybody is looked at before anybody is signalled: of those that die of it,
// nobody could tell the command any more.
func (k *keeper) signalAll(op *killOp, sig syscall.Signal) {
	op.signals = append(op.signals, SignalSent{Name: shortName(sig), After: time.Since(op.began)})
	had := make(map[int]uint64) // start times by pid
	for range signalPasses {
		fresh := k.meetNew(op, had)
		if len(fresh) == 0 {
			return
		}
		if sig == unix.SIGTERM {
			// Who was listed without children, and then seen asleep, may have forked in
			// between: that child is none that answers TERM.
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

// meetNew lists those of the job that are not in had, and that a signal to all is for, and
// adds them to it. The caller holds k.mu.
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

// list lists the job without those whose status can be taken: of a job that forks and
// exits without end there are more of them by the time that they were looked at. The
// caller holds k.mu.
func (k *keeper) list() []node {
	k.collect()         // That nobody is left, reap finds as well.
	list, _ := k.tree() // What is missing in it is below something that is listed, and is ended after that.
	return list
}

// signalListed signals everything that is listed, and notes it as seen. It
// returns how many took the signal, and how many may not be signalled.
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

// sweep sends KILL to everything there is, the n-th time.
func (k *keeper) sweep(op *killOp, n int) {
	if op.forcedAt.IsZero() {
		op.forcedAt = time.Now()
		op.signals = append(op.signals, SignalSent{Name: "KILL", After: time.Since(op.began)})
		k.strike(unix.SIGKILL)
	}
	if n > 0 { // The first is for the report, which has to name them before they die.
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
		unix.Exit(1) // The hang-up that comes with our end is all that is left to try.
	}
	if !op.reported && (stuck || time.Since(op.forcedAt) > killPatience) {
		op.reported = k.finish(op)
	}
}

// finish sends the report of an operation that leaves something alive, be it born since the last
// signal. It names at least one survivor. It returns false if the job is over, so that reap
// reports instead. The caller holds k.mu.
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

// unseen names what keeps a job from being over if no process of it is seen alive: its zombies,
// or else the keeper, of which the kernel says that it has children.
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

// see notes a process at its first sight.
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
	p.Proc = describe(st, nil) // who holds the output takes a look at each descriptor, and is told of survivors
	op.order = append(op.order, p)
	return p
}

// reaped notes how a child of the keeper ended.
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

// report says what became of every process seen.
func (op *killOp) report() Report {
	r := Report{Signals: op.signals, Omitted: op.omitted}
	for _, p := range op.order {
		if p.how == "" {
			st, err := readStat(p.PID)
			switch {
			case err == nil && sameStart(st.start, p.start) && st.alive():
				// As it is now: it may have been met in the middle of its execve.
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
