package direct

import (
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A fakeObject has the members that a test sets.
type fakeObject struct {
	mu       sync.Mutex
	in       []keeper.Proc
	born     []keeper.Proc // born during the next terminate
	noList   error
	refuses  error
	closed   int
	listed   chan struct{} // gets a value at each list; capacity 1
	killings int
}

func (o *fakeObject) members() ([]keeper.Proc, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.listed <- struct{}{}:
	default: // The last one was not received yet.
	}
	return o.in, o.noList
}

func (o *fakeObject) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed++
}

func (o *fakeObject) terminate() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.killings++; o.refuses == nil {
		o.in, o.born = o.born, nil
	}
	return o.refuses
}

// set changes the members, and whether they can be listed.
func (o *fakeObject) set(in []keeper.Proc, noList error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.in, o.noList = in, noList
}

func contain(pids ...int) (*fakeObject, *contained, *int) {
	o, left := &fakeObject{listed: make(chan struct{}, 1)}, new(int)
	for _, pid := range pids {
		o.in = append(o.in, keeper.Proc{PID: pid, Command: "[x.exe]"})
	}
	return o, newContained(slog.New(slog.DiscardHandler), 7, o, func() { *left++ }), left
}

// taken returns the available events.
func (c *contained) taken() (all []keeper.Event) {
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				return all
			}
			all = append(all, e)
		default:
			return all
		}
	}
}

func kinds(all []keeper.Event) (list []keeper.Kind) {
	for _, e := range all {
		list = append(list, e.Kind)
	}
	return list
}

func expectKinds(t *testing.T, all []keeper.Event, want ...keeper.Kind) {
	t.Helper()
	got := kinds(all)
	same := len(got) == len(want)
	for i := range got {
		same = same && i < len(want) && got[i] == want[i]
	}
	if !same {
		t.Fatalf("events %v, want %v", got, want)
	}
}

func TestContainedExit(t *testing.T) {
	o, c, left := contain(7)
	o.in = nil
	c.emptied() // may come before the status
	if got := c.taken(); len(got) > 0 {
		t.Fatalf("%+v before the command's end", got)
	}
	c.leaderEnded(0xC0000005)
	all := c.taken()
	expectKinds(t, all, keeper.Exited, keeper.Empty)
	if e := all[0]; e.Code != 0xC0000005 || e.Signal != 0 || len(e.Background) > 0 {
		t.Errorf("%+v", e)
	}
	c.emptied()
	if o.closed != 1 || *left != 1 {
		t.Errorf("closed %d times, left %d times", o.closed, *left)
	}
	if err := c.Kill(keeper.KillOptions{}); err != keeper.ErrGone {
		t.Errorf("a kill afterwards: %v", err)
	}
}

func TestContainedBackground(t *testing.T) {
	o, c, _ := contain(7, 8)
	c.leaderEnded(0)
	all := c.taken()
	expectKinds(t, all, keeper.Exited)
	if b := all[0].Background; len(b) != 1 || b[0].PID != 8 {
		t.Errorf("background %+v", b)
	}
	c.emptied() // not true: a process was born since
	expectKinds(t, c.taken())
	o.set(nil, nil)
	c.emptied()
	expectKinds(t, c.taken(), keeper.Empty)
}

func TestContainedKill(t *testing.T) {
	_, c, _ := contain(7, 8)
	for range 2 { // the second joins
		if err := c.Kill(keeper.KillOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.emptied()
	c.leaderEnded(1)
	all := c.taken()
	expectKinds(t, all, keeper.Exited, keeper.Killed, keeper.Empty)
	if r := all[1].Report; len(r.Killed) != 2 || r.Killed[0].How != "KILL" || len(r.Survivors) > 0 || len(r.Signals) != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestContainedKillLeftovers(t *testing.T) {
	_, c, _ := contain(7, 8)
	c.leaderEnded(0)
	if err := c.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	expectKinds(t, c.taken(), keeper.Exited, keeper.Killed, keeper.Empty)
}

func TestContainedKillWithoutForce(t *testing.T) {
	o, c, _ := contain(7)
	if err := c.Kill(keeper.KillOptions{NoForce: true}); err != nil {
		t.Fatal(err)
	}
	all := c.taken()
	expectKinds(t, all, keeper.Killed)
	if r := all[0].Report; len(r.Survivors) != 1 || len(r.Signals) > 0 || r.Survivors[0].Why != whyNotAsked {
		t.Errorf("report %+v", r)
	}
	if len(o.in) != 1 {
		t.Error("somebody was ended")
	}
}

func TestContainedKillRefused(t *testing.T) {
	o, c, _ := contain(7)
	o.refuses = errors.New("no")
	if err := c.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	all := c.taken()
	expectKinds(t, all, keeper.Killed)
	if r := all[0].Report; len(r.Survivors) != 1 {
		t.Errorf("report %+v", r)
	}
}

// If the list cannot be read, there may still be processes.
func TestContainedNoList(t *testing.T) {
	o, c, _ := contain()
	o.set(nil, errors.New("no list"))
	c.leaderEnded(0)
	expectKinds(t, c.taken(), keeper.Exited)
	o.set(nil, nil)
	c.emptied()
	expectKinds(t, c.taken(), keeper.Empty)
}

func TestContainedSignal(t *testing.T) {
	_, c, _ := contain(7)
	if err := c.Signal(keeper.Leader, syscall.SIGTERM); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// await waits until nothing is left of the job.
func (c *contained) await(t *testing.T) {
	t.Helper()
	select {
	case <-c.gone:
	case <-time.After(watchdog):
		t.Fatal("the job does not end")
	}
}

// If the kernel does not report that the last process has ended, that is noticed a little later.
func TestContainedNotTold(t *testing.T) {
	o, c, left := contain(7, 8)
	c.leaderEnded(0)
	for range 3 { // The checks continue as long as a process lives.
		select {
		case <-o.listed:
		case <-time.After(watchdog):
			t.Fatal("nobody looks")
		}
	}
	expectKinds(t, c.taken(), keeper.Exited)
	o.set(nil, nil)
	c.await(t)
	expectKinds(t, c.taken(), keeper.Empty)
	if o.closed != 1 || *left != 1 {
		t.Errorf("closed %d times, left %d times", o.closed, *left)
	}
}

// The same if the list could not be read when the end was reported.
func TestContainedNoListThen(t *testing.T) {
	o, c, _ := contain()
	o.set(nil, errors.New("no list"))
	c.leaderEnded(0)
	c.emptied()
	o.set(nil, nil)
	c.await(t)
	expectKinds(t, c.taken(), keeper.Exited, keeper.Empty)
}

// A process born while the job is killed is ended as well, and reported among the killed.
func TestContainedKillAgain(t *testing.T) {
	o, c, _ := contain(7, 8)
	o.born = []keeper.Proc{{PID: 9}}
	if err := c.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	c.leaderEnded(1)
	c.await(t)
	all := c.taken()
	expectKinds(t, all, keeper.Exited, keeper.Killed, keeper.Empty)
	if k := all[1].Report.Killed; o.killings != 2 || len(k) != 3 || k[2].PID != 9 {
		t.Errorf("ended %d times, want twice, killed %+v", o.killings, k)
	}
}

// A kill that has found no process, because the command's end was not known yet, is reported.
func TestContainedKillNobody(t *testing.T) {
	_, c, _ := contain()
	if err := c.Kill(keeper.KillOptions{}); err != nil {
		t.Fatal(err)
	}
	c.leaderEnded(0)
	expectKinds(t, c.taken(), keeper.Exited, keeper.Killed, keeper.Empty)
}

// While the command just runs, there are no checks.
func TestContainedRuns(t *testing.T) {
	o, c, _ := contain(7)
	c.emptied() // not true
	if c.again != nil {
		t.Error("a timer runs")
	}
	o.set(nil, nil)
	c.leaderEnded(0)
	expectKinds(t, c.taken(), keeper.Exited, keeper.Empty)
}

// Living returns the present processes, or false if they are unknown.
func TestContainedLiving(t *testing.T) {
	o, c, _ := contain(7, 8)
	c.leaderEnded(0)
	o.set([]keeper.Proc{{PID: 7}, {PID: 9}}, nil)
	if list, ok := c.Living(); !ok || len(list) != 1 || list[0].PID != 9 {
		t.Errorf("%+v, %v", list, ok)
	}
	o.set(nil, errors.New("no list"))
	if list, ok := c.Living(); ok {
		t.Errorf("%+v where there is no list", list)
	}
	o.set(nil, nil)
	c.await(t)
	if list, ok := c.Living(); ok {
		t.Errorf("%+v of a job that is over", list)
	}
}
