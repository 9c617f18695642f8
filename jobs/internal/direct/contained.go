//go:build linux || windows

package direct

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// reviewAgainAfter is the time from a check that has found a process to the next one: the kernel's notifications about
// an object may be lost.
const reviewAgainAfter = 250 * time.Millisecond

// An object is the kernel's container for a job's processes: a job object of Windows.
type object interface {
	// members returns the living processes.
	members() ([]keeper.Proc, error)
	// terminate ends all of them in one step.
	terminate() error
	// close releases the object, which ends all processes left in it.
	close()
}

// A contained is a job in a Windows job object. Its methods may be called from any goroutine.
//
// It has no goroutine of its own: the goroutine that reports an event takes the next steps, under mu, and the timer does so if no
// news may come.
type contained struct {
	// Immutable:
	log    *slog.Logger
	pid    int
	object object
	leave  func() // once, when nothing is left
	events keeper.Events
	gone   chan struct{} // closed when nothing is left

	mu     sync.Mutex
	exited bool          // the command's status is known
	killed []keeper.Proc // the processes that a kill has ended; nil: there was no kill
	again  *time.Timer   // calls reviewAgain; nil until there is something to wait for
	mute   bool          // the last listing failed, which was logged
	over   bool
}

func newContained(log *slog.Logger, pid int, o object, leave func()) *contained {
	return &contained{log: log, pid: pid, object: o, leave: leave, events: keeper.NewEvents(), gone: make(chan struct{})}
}

// PID returns the command's process ID. It is valid only until Exited.
func (c *contained) PID() int { return c.pid }

// Events returns the channel of the job's events, in order. The channel is closed after Empty. The consumer must
// receive until then, but may do so late.
func (c *contained) Events() <-chan keeper.Event { return c.events.C() }

// Notify registers f, which is called whenever there is something to receive from Events, and when Events is closed.
func (c *contained) Notify(f func()) { c.events.Notify(f) }

// Signal returns an error that wraps errors.ErrUnsupported: there are no signals.
func (c *contained) Signal(keeper.Target, syscall.Signal) error {
	return fmt.Errorf("send a signal to job %d: %w", c.pid, errors.ErrUnsupported)
}

// whyNotAsked is reported for each process that survives a kill without force.
const whyNotAsked = "this system has no signal that asks a program to end, and the request excluded a forced kill"

// Kill ends all processes of the job at once: there is no gentler method for which a grace period would be useful.
// Without force it only reports the living processes. The error is keeper.ErrGone.
func (c *contained) Kill(o keeper.KillOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return keeper.ErrGone
	}
	alive := c.alive()
	if o.NoForce {
		c.report(nil, nil, alive, whyNotAsked)
		return nil
	}
	signals := []keeper.SignalSent{{Name: "KILL"}}
	if err := c.object.terminate(); err != nil {
		c.log.Error("cannot end a job", "job", c.pid, "err", err)
		c.report(signals, nil, alive, "the system refused to end it: "+err.Error())
		return nil
	}
	c.noteKilled(alive)
	c.review()
	return nil
}

// noteKilled adds the new ones of alive to the processes that a kill has ended. Afterwards c.killed shows that there
// was a kill, even if alive is empty. The caller holds c.mu.
func (c *contained) noteKilled(alive []keeper.Proc) {
	if c.killed == nil {
		c.killed = []keeper.Proc{}
	}
	for _, p := range alive {
		if !slices.ContainsFunc(c.killed, func(k keeper.Proc) bool { return k.PID == p.PID }) {
			c.killed = append(c.killed, p)
		}
	}
}

// alive returns the living processes, as far as the system reports them. The caller holds c.mu.
func (c *contained) alive() []keeper.Proc {
	alive, err := c.object.members()
	if err != nil {
		if !c.mute { // This runs again and again.
			c.log.Warn("list the processes of a job", "job", c.pid, "err", err)
		}
		c.mute = true
		return []keeper.Proc{{PID: c.pid}} // A process may exist: Empty would be a lie.
	}
	c.mute = false
	return alive
}

// Living lists the living processes of the job besides the command. It returns false if the job is over, or if the
// system does not report them.
func (c *contained) Living() (list []keeper.Proc, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, false
	}
	all, err := c.object.members()
	if err != nil {
		c.log.Warn("list the processes of a job", "job", c.pid, "err", err)
		return nil, false
	}
	isLeader := func(p keeper.Proc) bool { return p.PID == c.pid }
	return slices.DeleteFunc(slices.Clone(all), isLeader), true
}

// report sends the report of a kill. The caller holds c.mu.
func (c *contained) report(signals []keeper.SignalSent, killed, alive []keeper.Proc, why string) {
	r := keeper.Report{Signals: signals}
	for _, p := range killed {
		r.Killed = append(r.Killed, keeper.KilledProc{Proc: p, How: "KILL"})
	}
	for _, p := range alive {
		r.Survivors = append(r.Survivors, keeper.Survivor{Proc: p, Why: why})
	}
	r.Killed, r.Omitted = cut(r.Killed, r.Omitted)
	r.Survivors, r.Omitted = cut(r.Survivors, r.Omitted)
	c.events.Push(keeper.Event{Kind: keeper.Killed, Report: r})
}

// cut limits a list to the length allowed in a report.
func cut[T any](list []T, omitted int) ([]T, int) {
	if more := len(list) - keeper.MaxProcs; more > 0 {
		return list[:keeper.MaxProcs], omitted + more
	}
	return list, omitted
}

// leaderEnded is called when the command has ended.
func (c *contained) leaderEnded(code uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exited = true
	e := keeper.Event{Kind: keeper.Exited, Code: int(code)}
	for _, p := range c.alive() {
		if p.PID != c.pid && len(e.Background) < keeper.MaxProcs {
			e.Background = append(e.Background, p)
		}
	}
	c.events.Push(e)
	c.review()
}

// emptied is called when the kernel has reported an empty object. It may be called more than once, and too early: the
// command's own end counts, and may not be known yet.
func (c *contained) emptied() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.review()
}

// reviewAgain checks the object in case a notification was lost. A process that lives though the job was killed has
// entered the object meanwhile, and is ended as well.
func (c *contained) reviewAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return // This call had begun when the timer was stopped.
	}
	if alive := c.alive(); c.killed != nil && len(alive) > 0 {
		if err := c.object.terminate(); err != nil {
			c.log.Warn("cannot end the rest of a job", "job", c.pid, "err", err)
		}
		c.noteKilled(alive)
	}
	c.review()
}

// lookLater schedules reviewAgain if an expected notification may be lost. While the command just runs, the only
// expected one is its own end, which is never lost. The caller holds c.mu.
func (c *contained) lookLater() {
	switch {
	case !c.exited && c.killed == nil:
	case c.again == nil:
		c.again = time.AfterFunc(reviewAgainAfter, c.reviewAgain)
	default:
		c.again.Reset(reviewAgainAfter)
	}
}

// review ends the job if no process is left. The caller holds c.mu.
func (c *contained) review() {
	if c.over {
		return
	}
	if !c.exited || len(c.alive()) > 0 {
		c.lookLater()
		return
	}
	c.over = true
	if c.again != nil {
		c.again.Stop()
	}
	if c.killed != nil {
		c.report([]keeper.SignalSent{{Name: "KILL"}}, c.killed, nil, "")
	}
	c.object.close()
	c.events.Push(keeper.Event{Kind: keeper.Empty})
	c.leave()
	close(c.gone)
	c.events.End()
}
