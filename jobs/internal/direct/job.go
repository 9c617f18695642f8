//go:build linux || darwin

package direct

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A Job is a running command, with the processes that it has started. Its methods may be called from any goroutine.
type Job struct {
	// Immutable once it runs:
	pool     *Pool
	sys      system
	pid      int
	terminal *os.File // the terminal's other side, held open for the whole job; nil without one
	events   keeper.Events

	poked chan struct{} // any goroutine -> run; capacity 1
	gone  chan struct{} // closed by run when nothing is left
	dirty atomic.Bool   // a watched process has ended

	mu    sync.Mutex
	asked []func() // requests for run to execute; none is added once gone is closed
	over  bool     // guarded by mu

	// Owned by run:
	family   *family
	living   []process
	emptyRun int            // scans in a row that have found no process
	reaped   bool           // the command
	status   string         // how it ended, as in keeper.KilledProc
	stopped  bool           // reported to the consumer as stopped
	watched  map[int]*watch // by pid
	op       *killOp        // the kill in progress, or nil
	unread   error          // error of the last scan
	retry    time.Time      // time of the next scan after a failed one; zero: none failed
}

// A watch is a process whose end the system reports.
type watch struct {
	start  uint64
	forget func()
}

func newJob(p *Pool) *Job {
	return &Job{
		pool: p, sys: p.sys, events: keeper.NewEvents(),
		poked: make(chan struct{}, 1), gone: make(chan struct{}), watched: map[int]*watch{},
	}
}

// start runs the command. The terminal is opened before that and held: when the last holder closes it, macOS discards
// the unread output.
func (j *Job) start(cmd keeper.Command) (err error) {
	if cmd.Terminal != nil {
		if j.terminal, err = hold(cmd.Terminal); err != nil {
			return startError(cmd, keeper.StageTerminal, err)
		}
	}
	if j.pid, err = j.sys.start(cmd); err != nil {
		if j.terminal != nil {
			_ = j.terminal.Close() // Nothing was written to it.
		}
		return err
	}
	server, _ := j.sys.find(os.Getpid())
	j.family = newFamily(j.pid, server)
	j.poke() // It may have ended before any goroutine listened.
	return nil
}

// PID returns the command's process ID. It is valid only until Exited.
func (j *Job) PID() int { return j.pid }

// Events returns the channel of the job's events, in order. The channel is closed after Empty. The consumer must
// receive until then, but may do so late.
func (j *Job) Events() <-chan keeper.Event { return j.events.C() }

// Notify registers f, which is called whenever there is something to receive from Events, and when Events is closed.
func (j *Job) Notify(f func()) { j.events.Notify(f) }

// Kill ends the job, like keeper.Keeper's Kill, as far as its processes can be found. The error is keeper.ErrGone.
func (j *Job) Kill(o keeper.KillOptions) error {
	if !j.ask(func() { j.beginKill(o) }) {
		return keeper.ErrGone
	}
	return nil
}

// Signal sends a signal to some of the job's processes, and returns when it was sent. The error wraps ESRCH if the
// target has no process, and EPERM if it may not be signalled. It is keeper.ErrGone if the job is over.
func (j *Job) Signal(target keeper.Target, sig syscall.Signal) error {
	answer := make(chan syscall.Errno, 1)
	if !j.ask(func() { answer <- j.signal(target, sig) }) {
		return keeper.ErrGone
	}
	// A request is carried out even if the job is over by then.
	if errno := <-answer; errno != 0 {
		return fmt.Errorf("send signal %d to the %s of job %d: %w", int(sig), target, j.pid, errno)
	}
	return nil
}

// ask makes run execute f. It returns false if nothing is left of the job.
func (j *Job) ask(f func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		return false
	}
	j.asked = append(j.asked, f)
	j.poke()
	return true
}

func (j *Job) poke() {
	select {
	case j.poked <- struct{}{}:
	default: // run has been poked and has not checked yet
	}
}

// run serves the job until nothing of it is left. It calls nothing that blocks; a scan of all processes takes about a
// millisecond.
func (j *Job) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		j.collect()
		j.answer()
		if j.review(time.Now()) && j.end() {
			return
		}
		var late <-chan time.Time
		if due := j.due(); !due.IsZero() {
			timer.Reset(time.Until(due))
			late = timer.C
		}
		select {
		case <-j.poked:
		case <-late:
		}
	}
}

// answer executes the requests.
func (j *Job) answer() {
	j.mu.Lock()
	asked := j.asked
	j.asked = nil
	j.mu.Unlock()
	for _, f := range asked {
		f()
	}
	if len(asked) > 0 {
		j.poke() // A signalled process may have a status by now, for which not every system sends SIGCHLD.
	}
}

// end releases everything, unless there is a new request, which is answered first. It reports whether the job is over.
func (j *Job) end() bool {
	j.mu.Lock()
	j.over = len(j.asked) == 0
	over := j.over
	j.mu.Unlock()
	if !over {
		j.poke()
		return false
	}
	for _, w := range j.watched {
		w.forget()
	}
	if j.terminal != nil {
		_ = j.terminal.Close() // Nothing was written to it.
	}
	if op := j.op; op != nil && !op.reported {
		j.events.Push(keeper.Event{Kind: keeper.Killed, Report: j.report(op)})
	}
	j.events.Push(keeper.Event{Kind: keeper.Empty})
	j.pool.leave(j)
	close(j.gone)
	j.events.End()
	return true
}

// collect takes the available statuses of the command.
func (j *Job) collect() {
	for !j.reaped {
		st, ok := j.sys.wait(j.pid)
		if !ok {
			break
		}
		switch st.kind {
		case hasStopped:
			j.stopped = true
			j.events.Push(keeper.Event{Kind: keeper.Stopped, Signal: st.signal})
		case goesOn:
			// It may be older than the stop, which is reported first.
			if p, ok := j.sys.find(j.pid); !ok || !p.stopped {
				j.tellContinued()
			}
		case hasEnded:
			j.exited(st)
		}
	}
	if !j.stopped || j.reaped {
		return
	}
	if p, ok := j.sys.find(j.pid); ok && !p.stopped { // If it is not there, its status is yet to come.
		j.tellContinued()
	}
}

// tellContinued reports that the command continues, once after each stop.
func (j *Job) tellContinued() {
	if j.stopped {
		j.stopped = false
		j.events.Push(keeper.Event{Kind: keeper.Continued})
	}
}

// exited reports that the command has ended, and which processes are left.
func (j *Job) exited(st status) {
	j.reaped, j.status = true, keeper.HowSelf
	j.family.leaderReaped()
	if w := j.watched[j.pid]; w != nil {
		w.forget()
		delete(j.watched, j.pid)
	}
	e := keeper.Event{Kind: keeper.Exited, Code: st.code, Signal: st.signal, Core: st.core}
	if st.signal != 0 {
		j.status = shortName(st.signal)
	}
	j.glance() // One scan is enough for this report, which should not come late.
	j.dirty.Store(true)
	for _, p := range j.living[:min(len(j.living), keeper.MaxProcs)] {
		e.Background = append(e.Background, j.describe(p))
	}
	j.events.Push(e)
}

// review advances the job as far as it can go now, and returns true when nothing is left. While the command runs and no
// kill is in progress, no scan is needed.
func (j *Job) review(now time.Time) bool {
	if !j.reaped && j.op == nil {
		return false
	}
	if j.dirty.Load() || !j.retry.IsZero() && !now.Before(j.retry) {
		j.look()
	}
	if j.isEmpty() {
		return true
	}
	if j.op != nil {
		j.advance(now)
	}
	return j.isEmpty()
}

func (j *Job) isEmpty() bool { return j.reaped && j.emptyRun >= emptyLooks }

// due returns the time at which something must be done without an event; zero: never.
func (j *Job) due() time.Time {
	due := j.retry
	if again := time.Now().Add(lookAgainAfter); j.stopped && !j.reaped && (due.IsZero() || again.Before(due)) {
		due = again // macOS sends no SIGCHLD when it continues.
	}
	if j.op != nil {
		if next := j.op.due(); due.IsZero() || next.Before(due) {
			due = next
		}
	}
	return due
}
