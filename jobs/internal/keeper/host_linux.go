package keeper

import (
	"errors"
	"os"
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

	jobs    int                    // how many it was given; whoever took it from the Pool
	job     atomic.Pointer[Keeper] // from start -> readLoop, which takes it out when it is over
	stopped atomic.Bool            // somebody has stopped the process
	ended   atomic.Bool            // it has ended, and its pid may soon be another's
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
	h.ended.Store(true)
	_, _ = h.proc.Wait() // The status says nothing that matters.
	h.pool.forget(h)
	if k := h.job.Load(); k != nil {
		if !k.ended && k.commanded.Load() {
			report := h.pool.endOrphans()
			h.pool.log.Warn("a keeper died before its job", "keeper", h.proc.Pid, "job", k.pid, "killed", len(report.Killed))
			k.queue.push(Event{Kind: Lost, Report: report})
		}
		k.over()
	}
	close(h.gone)
}

// readMessage returns false when the keeper has ended.
func (h *host) readMessage() bool {
	message, err := h.sock.receive()
	if err != nil {
		return false
	}
	k := h.job.Load()
	d := decoder{b: message}
	if k != nil && k.onMessage(&d) {
		if k.forgotten {
			h.onReady(k)
		}
		return true
	}
	h.pool.log.Error("a keeper sent what is no message", "keeper", h.proc.Pid)
	return true
}

// onMessage takes what the keeper tells of the job, unless it is malformed.
func (k *Keeper) onMessage(d *decoder) bool {
	switch d.byte() {
	case opStarted:
		k.pid = d.int()
		k.started <- startReply{pid: k.pid}
	case opFailed:
		k.ended = true
		stage := stageName(d.int())
		k.started <- startReply{stage: stage, errno: syscall.Errno(d.int())}
	case opReply:
		seq := d.int()
		k.answer(seq, syscall.Errno(d.int()))
	case opEvent:
		e := d.event()
		k.ended = k.ended || e.Kind == Empty
		k.queue.push(e)
	case opReady:
		k.forgotten = d.int() == k.number && k.ended
	}
	return d.done() == nil
}

// onReady makes a spare of the host, whose keeper has forgotten the job, and then
// tells the job's end, so that whoever waits for that finds the spare. If the Pool
// has no use for it, it is ended first: the end of its socket says when, since to wait
// for a process takes a thread.
func (h *host) onReady(k *Keeper) {
	h.job.Store(nil) // Before keep: from there on it is the next one's.
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
