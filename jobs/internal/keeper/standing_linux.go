package keeper

import (
	"time"

	"golang.org/x/sys/unix"
)

// endStanding ends the keeper where it would never take a command for this job: somebody
// traces a thread of it and has stopped that, or it has ended, and a tracer holds what is
// left. Its job comes to this process, which ends it. It returns false where the
// keeper works, or has the job no more.
func (h *host) endStanding(k *Keeper) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k == nil || h.job.Load() != k || h.ended.Load() {
		return false
	}
	if t := lookAtThreads(h.proc.Pid); t.stopped == 0 && t.ended == 0 {
		return false
	}
	_ = h.proc.Kill() // It fails only where it has ended by itself.
	h.sock.finish()   // Who traces it may hold that as well.
	return true
}

// threads is how many threads a process has, and how many of them somebody's tracing has
// stopped, or have ended. None of a keeper's ends before all do, and then it is gone as soon
// as nobody traces it: one that is still there is a zombie that a tracer holds, or the first.
type threads struct{ all, stopped, ended int }

// lookAtThreads looks at all of them: a tracer may have chosen any, and as long as he holds
// one that has ended, nothing else tells that the process has. The caller knows that it was
// not reaped.
func lookAtThreads(pid int) threads {
	var t threads
	task := procPath(pid, "task")
	tids, _ := names(task, 1<<16) // A thread that is missing is taken for one that works.
	for _, tid := range tids {
		text, err := slurp(task+"/"+tid+"/stat", 1024)
		if err != nil {
			continue // It has just ended. The first is there until the process is reaped.
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

// endPause is how long the end of a process is awaited before it is looked at in another
// way. It doubles, up to maxEndPause.
const (
	endPause    = 5 * time.Millisecond
	maxEndPause = time.Second
)

// awaitEnd returns when the process has ended, and what it has killed of the job. It
// changes nothing where the end is seen and only to be taken. Where a tracer holds it, who
// may be of the job, the job is ended first: until the tracer has ended, too, the status
// cannot be taken. The caller is who reaps the process.
func (h *host) awaitEnd() Report {
	var done Report
	for pause := endPause; !h.pollEnd(pause); pause = min(2*pause, maxEndPause) {
		t := lookAtThreads(h.proc.Pid)
		if t.all > 0 && t.ended == t.all {
			break
		}
		_ = h.proc.Kill() // It does not speak any more, and is to end.
		if t.stopped > 0 && pause > endPause {
			// KILL was sent before, and does not get it past a tracer who has it stop at its exit.
			done = done.then(h.pool.endBelow(h.proc.Pid))
		}
	}
	if deadChild(unix.P_PID, h.proc.Pid) != 0 {
		return done
	}
	return done.then(h.pool.endOrphans())
}

// pollEnd waits for the process to end, at most so long, and says whether it has. Of one
// that has ended it returns false where a tracer holds another thread than the first.
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
