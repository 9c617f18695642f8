package keeper

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A host is the server's side of one keeper process, which serves one job after another.
type host struct {
	// Immutable:
	pool *Pool
	proc *os.Process
	sock *socket
	gone chan struct{} // closed by readLoop when the process was reaped

	strange bool                   // readLoop's own: it sent a message that no keeper sends
	jobs    int                    // number of jobs it was given; only for the goroutine that took it from the Pool
	job     atomic.Pointer[Keeper] // from start -> readLoop, which removes it when the job is over
	stopped atomic.Bool            // another process has stopped it
	ended   atomic.Bool            // the process has ended, and its pid may soon be reused

	// mu is held while the process is checked and ended on behalf of one job: meanwhile it is neither reaped nor given
	// the next job.
	mu sync.Mutex
}

func newHost(p *Pool, proc *os.Process, sock *socket) *host {
	return &host{pool: p, proc: proc, sock: sock, gone: make(chan struct{})}
}

// start gives its next job to the host, which has none.
func (h *host) start(cmd Command) (*Keeper, error) {
	h.jobs++
	k := newKeeper(h, h.jobs)
	h.job.Store(k)
	if err := k.start(cmd); err != nil {
		return nil, err
	}
	return k, nil
}

// isGone reports whether a send failed because the keeper has ended. ECONNRESET means that it ended with unread
// commands.
func isGone(err error) bool {
	return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, os.ErrClosed)
}

// abandon kills a keeper without a job, and returns when it was reaped.
func (h *host) abandon() {
	_ = h.proc.Kill() // Best effort: it may have ended by itself.
	<-h.gone
}

// readLoop handles the keeper's messages until the keeper has ended, and reaps it.
func (h *host) readLoop() {
	for h.readMessage() {
	}
	h.sock.close()
	k := h.job.Load()
	var first Report
	if k != nil {
		first = h.awaitEnd()
	}
	h.mu.Lock()
	h.ended.Store(true)
	h.mu.Unlock()
	_, _ = h.proc.Wait() // The status does not matter.
	h.pool.forget(h)
	if k != nil {
		h.endLost(k, first)
	}
	h.pool.over()
	if k != nil {
		k.over()
	}
	close(h.gone)
}

// endLost ends the rest of the keeper's job, unless the keeper has reported the job's end. A report from a strange
// keeper does not count, because another process may have sent it. first is the report of the processes ended before.
func (h *host) endLost(k *Keeper, first Report) {
	if !k.commanded.Load() || k.ended && !h.strange {
		return
	}
	report := first.then(h.pool.endOrphans())
	h.pool.log.Warn("a keeper died before its job", "keeper", h.proc.Pid, "job", k.pid, "killed", len(report.Killed))
	if !k.ended {
		k.queue.push(Event{Kind: Lost, Report: report})
	}
}

// readMessage handles one message. It returns false when the keeper has ended, or has sent a message that no keeper
// sends: then another process speaks in its name, or has modified it.
func (h *host) readMessage() bool {
	message, err := h.sock.receive()
	if err != nil && err != errMalformed {
		return false
	}
	k := h.job.Load()
	d := decoder{b: message}
	if err == nil && k != nil && k.onMessage(&d) {
		if k.forgotten {
			h.onReady(k)
		}
		return true
	}
	h.pool.log.Error("a keeper sent an invalid message and is killed", "keeper", h.proc.Pid)
	h.strange = true
	_ = h.proc.Kill() // Best effort: it may have ended by itself.
	return false
}

// then returns the report of two operations, r and the later one.
func (r Report) then(more Report) Report {
	if len(r.Signals) == 0 {
		return more
	}
	r.Killed, r.Survivors = append(r.Killed, more.Killed...), more.Survivors
	r.Omitted += more.Omitted
	return r
}

// noticeDeath is called when the process has ended.
func (h *host) noticeDeath() {
	if h != nil {
		h.sock.finish()
	}
}

// onMessage handles a message about the job. It returns false if the message is malformed or out of turn: then it has
// no effect.
func (k *Keeper) onMessage(d *decoder) bool {
	switch op := d.byte(); op {
	case opStarted, opFailed:
		return k.onStarted(op, d)
	case opReply:
		seq, errno := d.int(), syscall.Errno(d.int())
		if d.done() != nil {
			return false
		}
		k.answer(seq, errno)
		return true
	case opEvent:
		return k.onEvent(d)
	case opReady:
		k.forgotten = d.int() == k.number && k.ended && d.done() == nil
		return k.forgotten
	}
	return false
}

// onStarted handles the answer to the start, which comes first and only once: start waits for no second one.
func (k *Keeper) onStarted(op byte, d *decoder) bool {
	reply := startReply{}
	if op == opStarted {
		reply.pid = d.int()
	} else {
		reply.stage, reply.errno = stageName(d.int()), syscall.Errno(d.int())
	}
	if d.done() != nil || k.answered {
		return false
	}
	k.answered, k.ended, k.pid = true, op == opFailed, reply.pid
	k.started <- reply
	return true
}

// onEvent handles an event. Exited comes once, and no event follows the end. A keeper cannot report its own loss.
func (k *Keeper) onEvent(d *decoder) bool {
	e := d.event()
	known := e.Kind >= Exited && e.Kind <= Limited && e.Kind != Lost
	if d.done() != nil || !known || !k.answered || k.ended || k.exited && e.Kind == Exited {
		return false
	}
	k.ended, k.exited = e.Kind == Empty, k.exited || e.Kind == Exited
	k.queue.push(e)
	return true
}

// onReady makes a spare of the host, whose keeper has forgotten the job, and then reports the job's end, so that a
// caller that waits for the end finds the spare. If the Pool does not need it, the keeper is killed first, and readLoop
// reports the end when the socket ends: waiting for a process would take a thread.
func (h *host) onReady(k *Keeper) {
	h.mu.Lock()
	h.job.Store(nil) // Before keep: from then on it belongs to the next job.
	h.mu.Unlock()
	if !h.wasStopped() && h.pool.keep(h) {
		k.over()
		return
	}
	h.job.Store(k)
	_ = h.proc.Kill() // Best effort: it may have ended by itself. It has no child.
}

// wasStopped reports whether another process has ever stopped the keeper, which a job can do. It asks the kernel as
// well: the guard may not have handled it yet. The caller knows that the keeper was not reaped.
func (h *host) wasStopped() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, h.proc.Pid, &info, unix.WSTOPPED|unix.WCONTINUED|unix.WNOHANG, nil)
	if err == nil && info.Signo != 0 {
		h.stopped.Store(true)
	}
	return h.stopped.Load()
}
