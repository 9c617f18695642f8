package jobs

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A tape is a simulated input of a terminal. It takes as many bytes as the test allows, and keeps them. Like a
// proc.Sink it is interrupted by the number of the write.
type tape struct {
	attrs proc.Attrs
	sends bool          // Overtake sends the signal itself
	held  chan struct{} // not nil: Overtake waits for it, as for a lock of the kernel

	mu          sync.Mutex
	wake        chan struct{} // change -> Write; capacity 1
	got         []byte
	room        int
	writes      uint64
	interrupted uint64
	givenUp     uint64
	closed      bool
	overtaken   []int // the number of bytes taken at each call of Overtake
}

func newTape() *tape {
	return &tape{wake: make(chan struct{}, 1), attrs: proc.Attrs{
		Canonical: true, Echo: true, Signals: true, CRToNL: true, EOF: 4, Intr: 3, Quit: 0x1c, Susp: 0x1a,
	}}
}

// change calls f with the lock held, and wakes Write.
func (t *tape) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *tape) allow(n int)        { t.change(func() { t.room += n }) }
func (t *tape) Interrupt(n uint64) { t.change(func() { t.interrupted = max(t.interrupted, n) }) }
func (t *tape) GiveUp(n uint64)    { t.change(func() { t.givenUp = max(t.givenUp, n) }) }
func (t *tape) Close() error       { t.change(func() { t.closed = true }); return nil }

func (t *tape) Write(p []byte) (n int, err error) {
	t.change(func() { t.writes++ })
	for {
		if n, err = t.take(p, n); n == len(p) || err != nil {
			return n, err
		}
		<-t.wake
	}
}

func (t *tape) take(p []byte, n int) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.interrupted >= t.writes {
		return n, proc.ErrInterrupted
	}
	if t.closed {
		return n, os.ErrClosed
	}
	m := min(t.room, len(p)-n)
	t.got, t.room = append(t.got, p[n:n+m]...), t.room-m
	if n += m; n < len(p) && t.givenUp >= t.writes {
		return n, proc.ErrInterrupted
	}
	return n, nil
}

// text returns the input taken so far.
func (t *tape) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.got)
}

func (t *tape) Attrs() (proc.Attrs, error) { return t.attrs, nil }
func (t *tape) Resize(int, int) error      { return nil }

func (t *tape) Overtake(key byte) (bool, error) {
	if t.held != nil {
		<-t.held
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overtaken = append(t.overtaken, len(t.got))
	if t.sends {
		t.got = append(t.got, key)
	}
	return t.sends, nil
}

// WriteNow writes nothing.
func (t *tape) WriteNow([]byte) (int, error) { return 0, nil }

// A tapeTerminal is a terminal whose input is the tape. Closing it closes the input.
type tapeTerminal struct{ *tape }

func (tapeTerminal) ForegroundGroup() (int, error) { return 0, errors.ErrUnsupported }
func (tapeTerminal) Foreground(int) (proc.Foreground, error) {
	return proc.Foreground{}, errors.ErrUnsupported
}

// startTape starts a job whose input is a tape.
func startTape(t *testing.T, sink *recorder) (*fakeJob, *tape) {
	t.Helper()
	return startTapeOf(t, Spec{Sink: sink}, sink)
}

func startTapeOf(t *testing.T, spec Spec, sink *recorder) (*fakeJob, *tape) {
	t.Helper()
	tp := newTape()
	f := &fakeJob{
		t: t, m: newManager(slog.New(slog.DiscardHandler)), sink: sink,
		proc: newFakeProcess(), out: newFakeSource(),
	}
	f.m.system.plan = func(*Spec) (plan, *Error) {
		return plan{argv: []string{"fake"}, mode: ModePTY, dir: "/", cols: 80, rows: 24}, nil
	}
	f.m.launch = func(_ *Spec, p plan) (*launched, *Error) {
		return &launched{plan: p, proc: f.proc, outputs: []output{{PTY, f.out}}, input: tp, term: tapeTerminal{tp}}, nil
	}
	j, p, err := f.m.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	f.actor = actorOf(j)
	if sink.block == nil {
		must(t, p)
	}
	return f, tp
}

// typeIn writes input, and fails the test if it is refused at once.
func (f *fakeJob) typeIn(in Input) Pending[WriteResult] {
	f.t.Helper()
	p, err := f.Write(in)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}
