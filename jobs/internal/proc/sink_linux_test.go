package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func write(s *Sink, p []byte) func() result {
	return func() result {
		n, err := s.Write(p)
		return result{n, err}
	}
}

func inputPipe(t *testing.T) (*Sink, *os.File) {
	t.Helper()
	s, r, err := InputPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.Close(), r.Close() })
	return s, r
}

// sinks runs a test with both kinds of Sink, each with a file that reads from it.
func sinks(t *testing.T, test func(t *testing.T, s *Sink, r *os.File)) {
	t.Run("pipe", func(t *testing.T) {
		s, r := inputPipe(t)
		test(t, s, r)
	})
	t.Run("terminal", func(t *testing.T) {
		term, slave := openTerminal(t)
		test(t, term.Sink(), slave)
	})
}

// awaitPoll returns when a goroutine waits in the poller for a file.
func awaitPoll(t *testing.T) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < watchdog; runtime.Gosched() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for _, g := range strings.Split(string(stacks), "\n\n") {
			if strings.Contains(g, "[IO wait") && (strings.Contains(g, "(*Source).Read") || strings.Contains(g, "(*Sink).Write")) {
				return
			}
		}
	}
	panic("nobody waits in the poller")
}

// A long Write continues while its data is read, and all of it arrives.
func TestWriteAll(t *testing.T) {
	sinks(t, func(t *testing.T, s *Sink, r *os.File) {
		want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		got := make(chan []byte, 1)
		go func() {
			buf := make([]byte, len(want))
			n, _ := io.ReadFull(r, buf)
			got <- buf[:n]
		}()
		if res := within(t, write(s, want)); res != (result{n: len(want)}) {
			t.Errorf("write: %+v", res)
		}
		if b := within(t, func() []byte { return <-got }); !bytes.Equal(b, want) {
			t.Errorf("%d bytes arrived, or others", len(b))
		}
		if res := within(t, write(s, nil)); res != (result{}) {
			t.Errorf("write nothing: %+v", res)
		}
	})
}

// fill starts a Write whose data is not read, and returns when it waits.
func fill(t *testing.T, s *Sink) chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() { done <- write(s, make([]byte, 1<<20))() }()
	awaitPoll(t)
	return done
}

func TestInterrupt(t *testing.T) {
	sinks(t, func(t *testing.T, s *Sink, r *os.File) {
		done := fill(t, s)
		s.Interrupt(1)
		res := within(t, func() result { return <-done })
		if res.n <= 0 || res.n >= 1<<20 || res.err != ErrInterrupted {
			t.Fatalf("interrupted: %+v", res)
		}
		// n is exact: that many bytes have arrived, and no more.
		if got := drain(t, r, res.n); got != res.n {
			t.Errorf("%d bytes arrived of %d", got, res.n)
		}
		// This is too late for the first Write, and does not affect the second.
		s.Interrupt(1)
		if res := within(t, write(s, []byte("second"))); res != (result{n: 6}) {
			t.Errorf("the second: %+v", res)
		}
		drain(t, r, 6)
		// The third Write is interrupted before it begins, and the fourth is not.
		s.Interrupt(3)
		s.Interrupt(2)
		if res := within(t, write(s, []byte("third"))); res != (result{err: ErrInterrupted}) {
			t.Errorf("the third: %+v", res)
		}
		if res := within(t, write(s, []byte("fourth"))); res != (result{n: 6}) {
			t.Errorf("the fourth: %+v", res)
		}
		if got := drain(t, r, 6); got != 6 {
			t.Errorf("%d bytes of the fourth", got)
		}
	})
}

// drain reads n bytes, and returns how many there are in all.
func drain(t *testing.T, r *os.File, n int) int {
	t.Helper()
	got, err := io.ReadFull(r, make([]byte, n))
	if err != nil {
		t.Fatal(err)
	}
	fd := int(r.Fd())
	if poll, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil || poll != 0 {
		t.Errorf("there is more than %d bytes (%v)", n, err)
	}
	return got
}

func TestCloseEndsWrite(t *testing.T) {
	sinks(t, func(t *testing.T, s *Sink, r *os.File) {
		done := fill(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if res := within(t, func() result { return <-done }); res.n <= 0 || res.err != os.ErrClosed {
			t.Errorf("closed: %+v", res)
		}
		s.Interrupt(9)
		if res := within(t, write(s, []byte("x"))); res != (result{err: os.ErrClosed}) {
			t.Errorf("write after close: %+v", res)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close again: %v", err)
		}
	})
}

func TestBrokenPipe(t *testing.T) {
	s, r := inputPipe(t)
	done := fill(t, s)
	_ = r.Close()
	if res := within(t, func() result { return <-done }); res.n <= 0 || !errors.Is(res.err, unix.EPIPE) {
		t.Errorf("got %+v, want EPIPE", res)
	}
}

func TestTerminalWithoutSlave(t *testing.T) {
	term, slave := openTerminal(t)
	_ = slave.Close()
	if res := within(t, write(term.Sink(), []byte("x"))); res != (result{n: 1}) {
		t.Errorf("got %+v", res)
	}
}
