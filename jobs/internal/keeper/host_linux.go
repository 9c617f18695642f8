package keeper

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A host is the server's side of one keeper process, which serves one job after
// the other.
type host struct {
	// Immutable:
	pool *Pool
	proc *os.Process
	sock *socket
	gone chan struct{} // closed by readLoop when the process was reaped

	strange bool                   // readLoop's own: it said what no keeper says
	jobs    int                    // how many it was given; whoever took it from the Pool
	job     atomic.Pointer[Keeper] // from start -> readLoop, which takes it out when it is over
	stopped atomic.Bool            // somebody has stopped the process
	ended   atomic.Bool            // it has ended, and its pid may soon be another's

	// mu is held while the process is looked at and ended for the sake of one job: it is
	// not reaped meanwhile, nor made the next one's.
	mu sync.Mutex
}

func newHost(p *Pool, proc *os.Process, sock *socket) *host {
	return &host{pool: p, proc: proc, sock: sock, gone: make(chan struct{})}
}

// start gives the host, which is a spare, its next job.
func (h *host) start(cmd Command) (*Keeper, error) {
	h.jobs++
	k := newKeeper(h, h.jobs)
	h.job.Store(k)
	if err := k.start(cmd); err != nil {
		return nil, err
	}
	return k, nil
}

// isGone says whether a send failed because the keeper has ended. ECONNRESET is
// that with commands of ours unread.
func isGone(err error) bool {
	return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, os.ErrClosed)
}

// abandon ends a keeper without a job, and returns when it was reaped.
func (h *host) abandon() {
	_ = h.proc.Kill() // Best effort: it may have ended by itself.
	<-h.gone
}

// readLoop passes on what the keeper says until it has ended, and reaps it.
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
	_, _ = h.proc.Wait() // The status says nothing that matters.
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

// endLost ends what the keeper has left of its job, if it has not told the end, or somebody
// else has. Of what was ended before there is a report already.
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

// readMessage returns false when the keeper has ended, or is no keeper any more: it says
// what none says, so that somebody speaks in its name, or has changed it.
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

// then is the report of what was done after what r tells.
func (r Report) then(more Report) Report {
	if len(r.Signals) == 0 {
		return more
	}
	r.Killed, r.Survivors = append(r.Killed, more.Killed...), more.Survivors
	r.Omitted += more.Omitted
	return r
}

// noticeDeath is told that the process has ended.
func (h *host) noticeDeath() {
	if h != nil {
		h.sock.finish()
	}
}

// onMessage takes what the keeper tells of the job, unless it is malformed or out of turn:
// then nothing of it is taken.
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

// onStarted takes the answer to the start, which comes first and once: start waits for no
// other.
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

// onEvent takes an event. That of the exit comes once, and none follows the end. That a
// keeper is lost is nothing that it could say.
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

// onReady makes a spare of the host, whose keeper has forgotten the job, and then
// tells the job's end, so that whoever waits for that finds the spare. If the Pool
// has no use for it, it is ended first: the end of its socket says when, since to wait
// for a process takes a thread.
func (h *host) onReady(k *Keeper) {
	h.mu.Lock()
	h.job.Store(nil) // Before keep: from there on it is the next one's.
	h.mu.Unlock()
	if !h.wasStopped() && h.pool.keep(h) {
		k.over()
		return
	}
	h.job.Store(k)
	_ = h.proc.Kill() // Best effort, and it has no child: it may have ended by itself.
}

// wasStopped says whether somebody has ever stopped the keeper, which a job can
// do. It asks the kernel as well: the guard may not have come to it yet. The
// caller knows that the keeper was not reaped.
func (h *host) wasStopped() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, h.proc.Pid, &info, unix.WSTOPPED|unix.WCONTINUED|unix.WNOHANG, nil)
	if err == nil && info.Signo != 0 {
		h.stopped.Store(true)
	}
	return h.stopped.Load()
}
