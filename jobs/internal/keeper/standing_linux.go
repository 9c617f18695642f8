package keeper

import (
	"time"

	"golang.org/x/sys/unix"
)

// endStanding ends the keeper if it would never take a command for this job: a tracer has stopped one of its threads,
// or it has ended and a tracer holds the zombie. The processes of its job become children of this process, which ends
// them. It returns false if the keeper works, or no longer has the job.
func (h *host) endStanding(k *Keeper) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k == nil || h.job.Load() != k || h.ended.Load() {
		return false
	}
	if t := lookAtThreads(h.proc.Pid); t.stopped == 0 && t.ended == 0 {
		return false
	}
	_ = h.proc.Kill() // It fails only if it has ended by itself.
	h.sock.finish()   // The tracer may hold that as well.
	return true
}

// threads counts the threads of a process: all, those that a tracer has stopped, and those that have ended. No thread
// of a keeper ends before all do, and then the process is gone as soon as nothing traces it: an ended thread that is
// still there is a zombie that a tracer holds, or the first thread.
type threads struct{ all, stopped, ended int }

// lookAtThreads inspects all threads: a tracer may have chosen any of them, and while it holds one that has ended,
// nothing else shows that the process has ended. The caller knows that the process was not reaped.
func lookAtThreads(pid int) threads {
	var t threads
	task := procPath(pid, "task")
	tids, _ := names(task, 1<<16) // A missing thread is treated as one that works.
	for _, tid := range tids {
		text, err := slurp(task+"/"+tid+"/stat", 1024)
		if err != nil {
			continue // It has just ended. The first thread exists until the process is reaped.
		}
		st, err := parseStat(text)
		if err != nil {
			continue
		}
		t.all++
		switch st.state {
		case 't':
			t.stopped++
		case 'Z', 'X':
			t.ended++
		}
	}
	return t
}

// endPause is the time to wait for the end of a process before it is inspected in another way. It doubles, up to
// maxEndPause.
const (
	endPause    = 5 * time.Millisecond
	maxEndPause = time.Second
)

// awaitEnd returns when the process has ended, with a report of the processes of the job that it has killed. If the end
// is visible and its status need only be taken, it does nothing. If a tracer holds the process, and may belong to the
// job, the job is ended first: the status cannot be taken until the tracer has ended, too. The caller is the goroutine
// that reaps the process.
func (h *host) awaitEnd() Report {
	var done Report
	for pause := endPause; !h.pollEnd(pause); pause = min(2*pause, maxEndPause) {
		t := lookAtThreads(h.proc.Pid)
		if t.all > 0 && t.ended == t.all {
			break
		}
		_ = h.proc.Kill() // It sends nothing any more, and must end.
		if t.stopped > 0 && pause > endPause {
			// KILL was sent before, but a tracer stops the process at its exit.
			done = done.then(h.pool.endBelow(h.proc.Pid))
		}
	}
	if deadChild(unix.P_PID, h.proc.Pid) != 0 {
		return done
	}
	return done.then(h.pool.endOrphans())
}

// pollEnd waits for the process to end, at most so long, and reports whether it has. If a tracer holds another thread
// than the first, it returns false even if the process has ended.
func (h *host) pollEnd(most time.Duration) (ended bool) {
	err := h.proc.WithHandle(func(handle uintptr) {
		fds := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(most.Milliseconds()))
		ended = err == nil && n > 0
	})
	if err != nil && deadChild(unix.P_PID, h.proc.Pid) == 0 { // before Linux 5.4
		time.Sleep(most)
	}
	return ended || err != nil && deadChild(unix.P_PID, h.proc.Pid) != 0
}
