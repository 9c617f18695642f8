package jobs

import (
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// An idleSource implements Idle like the real source: it returns true if the output that was read is stored.
type idleSource struct {
	*fakeSource
	held  sync.Mutex
	holds bool
}

func (s *idleSource) Read(p []byte) (int, error) {
	s.Stored()
	n, err := s.fakeSource.Read(p)
	if s.holds = n > 0; s.holds {
		s.held.Lock()
	}
	return n, err
}

func (s *idleSource) Stored() {
	if s.holds {
		s.holds = false
		s.held.Unlock()
	}
}

func (s *idleSource) Idle() bool {
	if !s.held.TryLock() {
		return false
	}
	s.held.Unlock()
	return true
}

// A heldTerminal blocks the readLoop when it asks for the foreground group.
type heldTerminal struct {
	fakeTerminal
	asked, let chan struct{}
}

func (t heldTerminal) ForegroundGroup() (int, error) {
	t.asked <- struct{}{}
	<-t.let
	return 0, nil
}

// startIdle starts a job whose source implements Idle.
func startIdle(t *testing.T, sink Sink, term terminal) (*Job, *fakeProcess, *idleSource, *Manager) {
	t.Helper()
	m, p, src := newManager(slog.New(slog.DiscardHandler)), newFakeProcess(), &idleSource{fakeSource: newFakeSource()}
	m.system.plan = func(*Spec) (plan, *Error) { return plan{argv: []string{"fake"}, mode: ModePTY, dir: "/"}, nil }
	m.launch = func(_ *Spec, pl plan) (*launched, *Error) {
		return &launched{plan: pl, proc: p, outputs: []output{{PTY, src}}, input: newFakeInput(), term: term}, nil
	}
	j, started, err := m.Start(Spec{Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	must(t, started)
	return j, p, src, m
}

// A change in the last output is reported before the end, however late the readLoop handles it.
func TestChangeOfTheLastOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, term := &recorder{}, heldTerminal{fakeTerminal{}, make(chan struct{}), make(chan struct{})}
		_, p, src, m := startIdle(t, sink, term)
		src.data <- []byte("bye\x1b]0;last title\x07")
		<-term.asked
		p.exit(0)
		p.gone()
		synctest.Wait()
		close(term.let)
		synctest.Wait()
		sink.mu.Lock()
		if n := len(sink.events); n != 3 || sink.events[0].Changed == nil || sink.events[2].Closed == nil {
			t.Errorf("events %+v, want the title, exited and closed", sink.events)
		}
		sink.mu.Unlock()
		p.end()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A slowSink blocks in one call of Flush.
type slowSink struct {
	recorder
	sends chan struct{} // closed when Flush blocks; nil: it does not
	let   chan struct{}
}

func (s *slowSink) Flush() {
	s.recorder.mu.Lock()
	c := s.sends
	s.sends = nil
	s.recorder.mu.Unlock()
	if c != nil {
		close(c)
		<-s.let
	}
}

// A goroutine that sends the events of a turn does not delay the turns of other goroutines.
func TestSendDoesNotBlockTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &slowSink{let: make(chan struct{})}
		j, p, _, m := startIdle(t, sink, fakeTerminal{})
		synctest.Wait()
		sends := make(chan struct{})
		sink.recorder.mu.Lock()
		sink.sends = sends
		sink.recorder.mu.Unlock()
		go p.tell(keeper.Event{Kind: keeper.Stopped, Signal: 20})
		<-sends
		j.Kill(KillOptions{})
		synctest.Wait()
		if len(p.kills) != 1 {
			t.Error("nobody has taken the kill")
		}
		close(sink.let)
		p.exit(0)
		p.gone()
		<-j.ended
		p.end()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}
