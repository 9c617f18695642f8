package direct

import (
	"syscall"
	"testing"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// The numbers are those of macOS, which this system may give other names.
func TestBSDStatus(t *testing.T) {
	const stop, tstp, cont, ttin, kill, segv = 0x11, 0x12, 0x13, 0x15, 9, 11
	for _, test := range []struct {
		name string
		ws   uint32
		want status
	}{
		{"exit 0", 0, status{}},
		{"exit 3", 3 << 8, status{code: 3}},
		{"exit 255", 255 << 8, status{code: 255}},
		{"an exit with the number of CONT", cont << 8, status{code: cont}},
		{"KILL", kill, status{code: -1, signal: kill}},
		{"SEGV with a core", segv | 0x80, status{code: -1, signal: segv, core: true}},
		{"STOP", stop<<8 | 0x7f, status{kind: hasStopped, signal: stop}},
		{"TSTP", tstp<<8 | 0x7f, status{kind: hasStopped, signal: tstp}},
		{"TTIN", ttin<<8 | 0x7f, status{kind: hasStopped, signal: ttin}},
		{"CONT", cont<<8 | 0x7f, status{kind: goesOn}},
	} {
		if got := bsdStatus(test.ws); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// Statuses of the command in a fake system.
const (
	wsStopped   = syscall.WaitStatus(syscall.SIGSTOP<<8 | 0x7f)
	wsContinued = syscall.WaitStatus(0xffff)
)

// beginStopped starts a job of a fake system whose command is stopped.
func beginStopped(t *testing.T) (*fakeSystem, *Job) {
	t.Helper()
	s := newFake()
	s.setStopped(true)
	s.status = []syscall.WaitStatus{wsStopped}
	j := begin(t, s)
	if e := next(t, j, keeper.Stopped); e.Signal != syscall.SIGSTOP {
		t.Errorf("%+v", e)
	}
	return s, j
}

// setStopped sets whether the command is stopped, without a status.
func (s *fakeSystem) setStopped(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.list[fakeLeader]
	p.stopped = is
	s.list[fakeLeader] = p
}

func (s *fakeSystem) addStatus(ws syscall.WaitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = append(s.status, ws)
}

// turn returns when the job has handled all events from before the call.
func turn(t *testing.T, j *Job) {
	t.Helper()
	for range 2 { // The first may be answered by a turn that had checked before.
		if err := j.Signal(keeper.Leader, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// If no status reports that the command continues, its state does: at once after another event, and otherwise a little
// later.
func TestFakeGoesOn(t *testing.T) {
	for _, woken := range []bool{true, false} {
		s, j := beginStopped(t)
		turn(t, j)
		s.setStopped(false)
		if woken {
			j.poke()
		}
		next(t, j, keeper.Continued)
		s.addStatus(wsContinued) // It is reported once, however late the status comes.
		turn(t, j)
		s.setStopped(true)
		s.addStatus(wsStopped)
		j.poke()
		next(t, j, keeper.Stopped)
		s.exit(j)
		next(t, j, keeper.Exited)
		next(t, j, keeper.Empty)
	}
}

// A status that is older than the stop does not report that the command continues.
func TestFakeStaleContinued(t *testing.T) {
	s, j := beginStopped(t)
	s.addStatus(wsContinued)
	turn(t, j)
	s.exit(j)
	next(t, j, keeper.Exited)
	next(t, j, keeper.Empty)
}

// For a command that continues and ends at once, both are reported.
func TestFakeGoesOnAndEnds(t *testing.T) {
	s, j := beginStopped(t)
	s.mu.Lock()
	delete(s.list, fakeLeader)
	s.status = append(s.status, wsContinued, 0)
	s.mu.Unlock()
	j.poke()
	next(t, j, keeper.Continued)
	next(t, j, keeper.Exited)
	next(t, j, keeper.Empty)
}
