package direct

import (
	"log/slog"
	"sync"

	"golang.org/x/sys/unix"
)

// A watcher reports when processes end, children or not, with a kqueue.
//
// Goroutines: run, from the first process on; it owns the wait, and ends with close.
type watcher struct {
	log *slog.Logger

	mu     sync.Mutex
	queue  int               // the kqueue's descriptor, -1 before the first process and after close
	last   uint64            // number of the last watch
	byPID  map[int]uint64    // the kernel's watch for a pid
	ended  map[uint64]func() // by number of watch
	closed bool
}

func newWatcher(log *slog.Logger) *watcher {
	return &watcher{log: log, queue: -1, byPID: map[int]uint64{}, ended: map[uint64]func(){}}
}

// wakeIdent is the one user event, which ends run.
const wakeIdent = 1

// add asks for the end of a process. The error is ESRCH if it has ended.
func (w *watcher) add(pid int, ended func()) (forget func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.begin(); err != nil {
		return nil, err
	}
	change := unix.Kevent_t{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}
	if err := w.change(change); err != nil {
		return nil, err
	}
	w.last++
	number := w.last
	w.byPID[pid], w.ended[number] = number, ended
	return func() { w.forget(pid, number) }, nil
}

// begin makes the kqueue. The caller holds w.mu.
func (w *watcher) begin() error {
	if w.closed {
		return unix.EBADF
	}
	if w.queue >= 0 {
		return nil
	}
	queue, err := unix.Kqueue()
	if err != nil {
		return err
	}
	unix.CloseOnExec(queue)
	w.queue = queue
	wake := unix.Kevent_t{Ident: wakeIdent, Filter: unix.EVFILT_USER, Flags: unix.EV_ADD | unix.EV_CLEAR}
	if err := w.change(wake); err != nil {
		_ = unix.Close(queue) // Nothing was written to it.
		w.queue = -1
		return err
	}
	go w.run(queue)
	return nil
}

// change passes one change to the kernel, which applies it at once. The caller holds w.mu.
func (w *watcher) change(change unix.Kevent_t) error {
	for {
		_, err := unix.Kevent(w.queue, []unix.Kevent_t{change}, nil, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// forget withdraws a watch. If the pid was reused, and a watch of the new process replaced this one, the kernel's watch
// is left alone.
func (w *watcher) forget(pid int, number uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ended, number)
	if w.byPID[pid] != number {
		return
	}
	delete(w.byPID, pid)
	if !w.closed {
		_ = w.change(unix.Kevent_t{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_DELETE}) // It may have ended.
	}
}

// close ends run, which closes the queue.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue < 0 || w.closed {
		w.closed = true
		return
	}
	w.closed = true
	if err := w.change(unix.Kevent_t{Ident: wakeIdent, Filter: unix.EVFILT_USER, Fflags: unix.NOTE_TRIGGER}); err != nil {
		w.log.Error("cannot stop the process watcher", "err", err)
	}
}

func (w *watcher) run(queue int) {
	defer func() { _ = unix.Close(queue) }() // As above.
	events := make([]unix.Kevent_t, 64)
	for {
		n, err := unix.Kevent(queue, nil, events, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			w.log.Error("cannot wait for the end of processes", "err", err)
			w.endAll()
			return
		}
		for _, e := range events[:n] {
			switch e.Filter {
			case unix.EVFILT_USER:
				return
			case unix.EVFILT_PROC:
				w.tell(int(e.Ident))
			}
		}
	}
}

func (w *watcher) tell(pid int) {
	w.mu.Lock()
	number := w.byPID[pid]
	ended := w.ended[number]
	delete(w.byPID, pid)
	delete(w.ended, number)
	w.mu.Unlock()
	if ended != nil {
		ended()
	}
}

// endAll makes every job scan by itself once, because there will be no more reports. Later watches get an error.
func (w *watcher) endAll() {
	w.mu.Lock()
	w.closed = true
	all := w.ended
	w.ended, w.byPID = map[uint64]func(){}, map[int]uint64{}
	w.mu.Unlock()
	for _, ended := range all {
		ended()
	}
}
