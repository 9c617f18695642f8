package direct

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A fakeSystem has the processes that a test adds to it.
type fakeSystem struct {
	mu        sync.Mutex
	list      map[int]process
	status    []syscall.WaitStatus     // of the command, not taken yet
	killed    map[int][]syscall.Signal // the signals sent
	watched   map[int]func()           // by pid
	immune    map[int]bool             // KILL does nothing to them
	denied    map[int]bool             // they may not be signalled
	noList    int                      // number of lists that fail
	noWatch   error                    // the error of watch
	onKill    func(pid int, s syscall.Signal)
	afterList func() // called by processes after it has made its list
	closings  int
}

const fakeLeader = 100

func newFake() *fakeSystem {
	return &fakeSystem{
		list:   map[int]process{fakeLeader: {pid: fakeLeader, ppid: 50, pgid: fakeLeader, sid: fakeLeader, start: 1, name: "cmd"}},
		killed: map[int][]syscall.Signal{}, watched: map[int]func(){}, immune: map[int]bool{}, denied: map[int]bool{},
	}
}

func (s *fakeSystem) start(keeper.Command) (int, error) { return fakeLeader, nil }

func (s *fakeSystem) wait(int) (st status, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.status) == 0 {
		return st, false
	}
	st, s.status = statusOf(s.status[0]), s.status[1:]
	return st, true
}

func (s *fakeSystem) processes() (all []process, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noList > 0 {
		s.noList--
		return nil, errors.New("no list")
	}
	for _, p := range s.list {
		all = append(all, p)
	}
	if after := s.afterList; after != nil {
		s.mu.Unlock()
		after()
		s.mu.Lock()
	}
	return all, nil
}

func (s *fakeSystem) find(pid int) (process, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.list[pid]
	return p, ok
}

func (s *fakeSystem) command(int) string { return "" }

func (s *fakeSystem) kill(pid int, sig syscall.Signal) error {
	s.mu.Lock()
	if s.denied[pid] {
		s.mu.Unlock()
		return syscall.EPERM
	}
	s.killed[pid] = append(s.killed[pid], sig)
	dies := sig == syscall.SIGKILL && !s.immune[pid]
	s.mu.Unlock()
	if s.onKill != nil {
		s.onKill(pid, sig)
	}
	if dies {
		s.end(pid)
	}
	return nil
}

func (s *fakeSystem) watch(p process, ended func()) (forget func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noWatch != nil {
		return nil, s.noWatch
	}
	if _, ok := s.list[p.pid]; !ok {
		return nil, syscall.ESRCH
	}
	s.watched[p.pid] = ended
	return func() { s.mu.Lock(); delete(s.watched, p.pid); s.mu.Unlock() }, nil
}

func (s *fakeSystem) close() { s.closings++ }

// end ends a process, and calls its watch.
func (s *fakeSystem) end(pid int) {
	s.mu.Lock()
	delete(s.list, pid)
	if pid == fakeLeader {
		s.status = append(s.status, syscall.WaitStatus(syscall.SIGKILL))
	}
	ended := s.watched[pid]
	delete(s.watched, pid)
	s.mu.Unlock()
	if ended != nil {
		ended()
	}
}

func (s *fakeSystem) put(all ...process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range all {
		s.list[p.pid] = p
	}
}

// exit makes the command exit with 0.
func (s *fakeSystem) exit(j *Job) {
	s.mu.Lock()
	delete(s.list, fakeLeader)
	s.status = append(s.status, 0)
	s.mu.Unlock()
	j.poke()
}

func member(pid int) process {
	return process{pid: pid, ppid: 1, pgid: fakeLeader, sid: fakeLeader, start: uint64(pid), name: "member"}
}

// begin starts a job of a fake system. Without a real SIGCHLD, tests call poke.
func begin(t *testing.T, s *fakeSystem) *Job {
	t.Helper()
	pool := newPool(slog.New(slog.DiscardHandler), s)
	j, err := pool.Start(keeper.Command{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-j.gone:
		case <-time.After(watchdog):
			t.Error("the job does not end")
			return
		}
		pool.Close()
		if s.closings != 1 || len(s.watched) > 0 {
			t.Errorf("closed %d times; watched still: %d", s.closings, len(s.watched))
		}
	})
	s.onKill = func(int, syscall.Signal) { j.poke() }
	return j
}

// A process that may not be signalled is reported as a survivor, and the job ends when it does.
func TestFakeDenied(t *testing.T) {
	s := newFake()
	s.put(member(101))
	s.denied[101] = true
	j := begin(t, s)
	if err := j.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	next(t, j, keeper.Exited)
	r := next(t, j, keeper.Killed).Report
	if len(r.Survivors) != 1 || r.Survivors[0].PID != 101 || r.Survivors[0].Why != "it runs as another user and may not be signalled" {
		t.Errorf("report %+v", r)
	}
	if len(r.Killed) != 1 || r.Killed[0].How != "KILL" {
		t.Errorf("report %+v", r)
	}
	s.end(101)
	next(t, j, keeper.Empty)
}

// A reused pid is not signalled, and the job does not wait for it.
func TestFakeReused(t *testing.T) {
	s := newFake()
	s.put(member(101))
	j := begin(t, s)
	s.onKill = func(pid int, sig syscall.Signal) {
		if pid == fakeLeader && sig == syscall.SIGTERM {
			s.put(process{pid: 101, ppid: 1, pgid: 101, sid: 101, start: 999, name: "stranger"})
			s.mu.Lock()
			s.killed[101] = nil // the signals sent to the member
			s.mu.Unlock()
			s.end(fakeLeader)
			j.poke()
		}
	}
	if err := j.Kill(keeper.KillOptions{Grace: time.Hour}); err != nil {
		t.Fatal(err)
	}
	over(t, j)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent := s.killed[101]; len(sent) > 0 {
		t.Errorf("the stranger was sent %v", sent)
	}
}

// If the list cannot be read, there may still be processes.
func TestFakeNoList(t *testing.T) {
	s := newFake()
	s.put(member(101))
	j := begin(t, s)
	s.mu.Lock()
	s.noList = 2
	s.mu.Unlock()
	s.exit(j)
	next(t, j, keeper.Exited)
	select {
	case e := <-j.Events():
		t.Fatalf("event %+v while a process lives", e)
	case <-time.After(lookAgainAfter + 50*time.Millisecond):
	}
	s.end(101)
	next(t, j, keeper.Empty)
}

// If the system reports no ends, scans are repeated.
func TestFakeNoWatch(t *testing.T) {
	s := newFake()
	s.put(member(101))
	s.noWatch = syscall.EMFILE
	j := begin(t, s)
	s.exit(j)
	if e := next(t, j, keeper.Exited); len(e.Background) != 1 || e.Background[0].Command != "[member]" {
		t.Errorf("%+v", e)
	}
	s.end(101)
	next(t, j, keeper.Empty)
}

// A process that ends between the scan and the watch is not waited for, and its child is not missed.
func TestFakeForksAway(t *testing.T) {
	s := newFake()
	s.put(member(101))
	j := begin(t, s)
	lists := 0
	s.mu.Lock()
	s.afterList = func() {
		switch lists++; lists {
		case 1: // for the exit; another scan follows
			s.put(member(102))
		case 2: // it is listed, and not watched yet
			s.put(member(103))
			s.end(102)
		}
	}
	s.mu.Unlock()
	s.exit(j)
	next(t, j, keeper.Exited)
	late := time.After(watchdog)
	for {
		s.mu.Lock()
		ended := s.watched[103]
		s.mu.Unlock()
		if ended != nil {
			break
		}
		select {
		case e := <-j.Events():
			t.Fatalf("event %+v while a process lives", e)
		case <-time.After(time.Millisecond): // The watch is not reported.
		case <-late:
			t.Fatal("the child is not watched")
		}
	}
	s.end(101)
	s.end(103)
	next(t, j, keeper.Empty)
}

// A process that does not die of KILL is stopped first, and reported when killPatience is over; here it dies in the
// end.
func TestFakeStopsFirst(t *testing.T) {
	s := newFake()
	s.put(member(101))
	s.immune[101] = true
	j := begin(t, s)
	stops := 0
	s.onKill = func(pid int, sig syscall.Signal) {
		j.poke()
		if pid == 101 && sig == syscall.SIGSTOP {
			if stops++; stops == 3 {
				s.end(101)
			}
		}
	}
	if err := j.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	r := event(t, over(t, j), keeper.Killed).Report
	if len(r.Survivors) > 0 || len(r.Killed) != 2 {
		t.Errorf("report %+v", r)
	}
}

// The command of an interactive shell gets HUP again and again through the grace period.
func TestFakeHangsUpAgain(t *testing.T) {
	s := newFake()
	j := begin(t, s)
	hangups := 0
	s.onKill = func(pid int, sig syscall.Signal) {
		if sig == syscall.SIGHUP {
			if hangups++; hangups == 3 {
				s.end(fakeLeader)
				j.poke()
			}
		}
	}
	if err := j.Kill(keeper.KillOptions{Grace: time.Hour, Hangup: true}); err != nil {
		t.Fatal(err)
	}
	over(t, j)
}

// Living returns the present processes behind the command.
func TestFakeLiving(t *testing.T) {
	s := newFake()
	s.put(member(101))
	j := begin(t, s)
	s.exit(j)
	next(t, j, keeper.Exited)
	s.put(member(102))
	if list, ok := j.Living(); !ok || len(list) != 2 {
		t.Errorf("%+v, %v", list, ok)
	}
	s.end(101)
	if list, ok := j.Living(); !ok || len(list) != 1 || list[0].PID != 102 {
		t.Errorf("%+v, %v", list, ok)
	}
	s.end(102)
	next(t, j, keeper.Empty)
	<-j.gone
	if list, ok := j.Living(); ok {
		t.Errorf("%+v of a job that is over", list)
	}
}

// If a kill cannot list the living processes, its report has a survivor. The command is ended without a list.
func TestFakeKillWithoutLists(t *testing.T) {
	s := newFake()
	s.noList = 1 << 30
	j := begin(t, s)
	if err := j.Kill(keeper.KillOptions{NoForce: true, Grace: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	r := next(t, j, keeper.Killed).Report
	if len(r.Survivors) != 1 || r.Survivors[0].PID != fakeLeader || !strings.Contains(r.Survivors[0].Why, "no list") {
		t.Errorf("report %+v", r)
	}
	if _, ok := j.Living(); ok {
		t.Error("what lives is known without a list")
	}
	s.onKill = func(pid int, sig syscall.Signal) {
		if pid == -fakeLeader && sig == syscall.SIGKILL {
			s.end(fakeLeader)
			s.mu.Lock()
			s.noList = 0
			s.mu.Unlock()
			j.poke()
		}
	}
	if err := j.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	over(t, j)
}
