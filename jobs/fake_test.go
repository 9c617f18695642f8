package jobs

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

// A fakeProcess is a simulated process tree: the test sends the events of its keeper.
type fakeProcess struct {
	events chan keeper.Event
	kills  chan keeper.KillOptions

	mu     sync.Mutex
	notify func() // nil before the start
}

func newFakeProcess() *fakeProcess {
	return &fakeProcess{events: make(chan keeper.Event, 64), kills: make(chan keeper.KillOptions, 8)}
}

func (p *fakeProcess) PID() int                    { return 4711 }
func (p *fakeProcess) Events() <-chan keeper.Event { return p.events }
func (p *fakeProcess) Notify(f func()) {
	p.mu.Lock()
	p.notify = f
	p.mu.Unlock()
	f()
}
func (p *fakeProcess) Kill(o keeper.KillOptions) error {
	p.kills <- o
	return nil
}
func (p *fakeProcess) Signal(keeper.Target, syscall.Signal) error { return nil }

// exit reports that the leader has ended; gone reports that no process is left.
func (p *fakeProcess) exit(code int) { p.tell(keeper.Event{Kind: keeper.Exited, Code: code}) }
func (p *fakeProcess) gone()         { p.tell(keeper.Event{Kind: keeper.Empty}) }

func (p *fakeProcess) tell(e keeper.Event) {
	p.events <- e
	p.told()
}

func (p *fakeProcess) end() {
	close(p.events)
	p.told()
}

func (p *fakeProcess) told() {
	p.mu.Lock()
	f := p.notify
	p.mu.Unlock()
	if f != nil {
		f()
	}
}

// A fakeSource returns the data that the test sends to it. If that must count before another event, such as the exit,
// call synctest.Wait between the two.
type fakeSource struct {
	data   chan []byte
	drain  chan struct{}
	closed chan struct{}
	once   sync.Once
	wake   time.Time // set by the readLoop
	idle   atomic.Bool
}

func newFakeSource() *fakeSource {
	return &fakeSource{data: make(chan []byte), drain: make(chan struct{}, 8), closed: make(chan struct{})}
}

func (s *fakeSource) Read(p []byte) (int, error) {
	select {
	case b, ok := <-s.data:
		if !ok {
			return 0, io.EOF
		}
		return copy(p, b), nil
	case <-s.drain:
		return 0, proc.ErrDrained
	case <-s.closed:
		return 0, os.ErrClosed
	case <-s.woken():
		s.wake = time.Time{}
		return 0, proc.ErrPaused
	}
}
func (s *fakeSource) Wake(at time.Time) { s.wake = at }
func (s *fakeSource) woken() <-chan time.Time {
	if s.wake.IsZero() {
		return nil
	}
	return time.After(time.Until(s.wake))
}
func (s *fakeSource) Stored()      {}
func (s *fakeSource) Idle() bool   { return s.idle.Load() }
func (s *fakeSource) Drain()       { s.drain <- struct{}{} }
func (s *fakeSource) Close() error { s.once.Do(func() { close(s.closed) }); return nil }

// A fakeInput takes as many bytes as the test sends to room.
type fakeInput struct {
	room      chan int
	interrupt chan struct{}
	closed    chan struct{}
	once      sync.Once
}

func newFakeInput() *fakeInput {
	return &fakeInput{make(chan int), make(chan struct{}, 8), make(chan struct{}), sync.Once{}}
}

func (i *fakeInput) Write(p []byte) (n int, err error) {
	for n < len(p) {
		select {
		case m := <-i.room:
			n += min(m, len(p)-n)
		case <-i.interrupt:
			return n, proc.ErrInterrupted
		case <-i.closed:
			return n, os.ErrClosed
		}
	}
	return n, nil
}

// WriteNow writes nothing, as if the kernel's buffers were full.
func (i *fakeInput) WriteNow([]byte) (int, error) { return 0, nil }

func (i *fakeInput) Interrupt(uint64) { i.interrupt <- struct{}{} }
func (i *fakeInput) GiveUp(uint64)    { i.interrupt <- struct{}{} }
func (i *fakeInput) Close() error     { i.once.Do(func() { close(i.closed) }); return nil }

type fakeTerminal struct{ attrs proc.Attrs }

func (t fakeTerminal) Attrs() (proc.Attrs, error) { return t.attrs, nil }
func (t fakeTerminal) Resize(int, int) error      { return nil }
func (t fakeTerminal) Close() error               { return nil }

func (t fakeTerminal) ForegroundGroup() (int, error) { return 0, errors.ErrUnsupported }
func (t fakeTerminal) Foreground(int) (proc.Foreground, error) {
	return proc.Foreground{}, errors.ErrUnsupported
}

// Overtake returns false, as a real terminal does after it has flushed the input.
func (t fakeTerminal) Overtake(byte) (bool, error) { return false, nil }

// A recorder is a Sink that keeps all events.
type recorder struct {
	mu      sync.Mutex
	started int
	events  []Event
	block   chan struct{} // not nil: Started waits for it, which real sinks must not do
}

func (r *recorder) Started(*Job, Info) {
	if r.block != nil {
		<-r.block
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started++
}
func (r *recorder) Output() {}
func (r *recorder) Flush()  {}
func (r *recorder) Flood()  {}

func (r *recorder) Event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) names() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		switch {
		case e.Matched != nil:
			names = append(names, "matched")
		case e.Exited != nil:
			names = append(names, "exited")
		case e.Closed != nil:
			names = append(names, "closed")
		}
	}
	return names
}

// A fakeJob is a job whose system is simulated by the test.
type fakeJob struct {
	*actor
	t    *testing.T
	m    *Manager
	proc *fakeProcess
	out  *fakeSource
	in   *fakeInput
	sink *recorder
}

// startFake starts a job on a simulated terminal.
func startFake(t *testing.T, sink *recorder) *fakeJob {
	t.Helper()
	return startFakeWith(t, sink, func(*Manager) {})
}

func startFakeWith(t *testing.T, sink *recorder, prepare func(*Manager), ask ...func(*Spec)) *fakeJob {
	t.Helper()
	f := &fakeJob{
		t: t, m: newManager(slog.New(slog.DiscardHandler)), sink: sink,
		proc: newFakeProcess(),
		out:  newFakeSource(), in: newFakeInput(),
	}
	prepare(f.m)
	f.m.system.plan = func(*Spec) (plan, *Error) {
		return plan{argv: []string{"fake"}, mode: ModePTY, dir: "/", cols: 80, rows: 24}, nil
	}
	f.m.launch = func(_ *Spec, p plan) (*launched, *Error) {
		term := fakeTerminal{proc.Attrs{Canonical: true, Echo: true, Signals: true, CRToNL: true, EOF: 4, Intr: 3}}
		return &launched{plan: p, proc: f.proc, outputs: []output{{PTY, f.out}}, input: f.in, term: term}, nil
	}
	spec := Spec{Sink: sink}
	for _, a := range ask {
		a(&spec)
	}
	j, p, err := f.m.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	f.actor = actorOf(j)
	if sink.block == nil {
		must(t, p)
	}
	return f
}

// end ends the leader with no other process left, and closes the manager.
func (f *fakeJob) end() {
	f.proc.exit(0)
	f.proc.gone()
	f.finish()
}

func (f *fakeJob) finish() {
	f.t.Helper()
	if err := f.m.Close(); err != nil {
		f.t.Error(err)
	}
}

// watchdog bounds every wait for a real program. Even on a busy machine, nothing takes a tenth of it.
const watchdog = 2 * time.Minute

// deref returns *p. If p is nil it fails the test, where a panic would end all tests of the package.
func deref[T any](t testing.TB, p *T) T {
	t.Helper()
	if p == nil {
		t.Fatal("a value is missing")
	}
	return *p
}

// must waits for an answer, and fails the test if it is an error.
func must[T any](t *testing.T, p Pending[T]) T {
	t.Helper()
	r := <-p.C
	if r.Err != nil {
		t.Fatalf("%v", r.Err)
	}
	return r.Value
}

// refused waits for an answer, and fails the test if it is not an error with this code.
func refused[T any](t *testing.T, p Pending[T], code Code) *Error {
	t.Helper()
	r := <-p.C
	e, ok := r.Err.(*Error)
	if !ok || e.Code != code {
		t.Fatalf("answer %+v, error %v; want code %d", r.Value, r.Err, code)
	}
	return e
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// withParts creates the parts of a job that was created without a start.
func withParts(a *actor) *actor {
	a.newParts()
	return a
}

func actorOf(j *Job) *actor { return j.turns.(*actor) }
