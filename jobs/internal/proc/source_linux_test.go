package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A result holds the results of Read or Write.
type result struct {
	n   int
	err error
}

func read(s *Source, buf []byte) func() result {
	return func() result {
		n, err := s.Read(buf)
		return result{n, err}
	}
}

func outputPipe(t *testing.T) (*Source, *os.File) {
	t.Helper()
	s, w, err := OutputPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.Close(), w.Close() })
	return s, w
}

// openTerminal returns a terminal whose slave side is in raw mode.
func openTerminal(t *testing.T) (*Terminal, *os.File) {
	t.Helper()
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = term.Close(), slave.Close() })
	tio, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	tio.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
	tio.Oflag &^= unix.OPOST
	tio.Iflag &^= unix.ICRNL
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, tio); err != nil {
		t.Fatal(err)
	}
	return term, slave
}

// sources runs a test with both kinds of Source, each with a file that writes to it.
func sources(t *testing.T, test func(t *testing.T, s *Source, w *os.File)) {
	t.Run("pipe", func(t *testing.T) {
		s, w := outputPipe(t)
		test(t, s, w)
	})
	t.Run("terminal", func(t *testing.T) {
		term, slave := openTerminal(t)
		test(t, term.Source(), slave)
	})
}

func TestReadTakesAllThereIs(t *testing.T) {
	sources(t, func(t *testing.T, s *Source, w *os.File) {
		want := bytes.Repeat([]byte("0123456789"), 600) // more than one read(2) of a terminal
		if _, err := w.Write(want); err != nil {
			t.Fatal(err)
		}
		var got []byte
		buf := make([]byte, 1000)
		for len(got) < len(want) {
			r := within(t, read(s, buf))
			if r.err != nil || r.n == 0 {
				t.Fatalf("after %d bytes: %+v", len(got), r)
			}
			got = append(got, buf[:r.n]...)
		}
		if !bytes.Equal(got, want) {
			t.Error("the bytes are not those that were written")
		}
		if r := within(t, read(s, nil)); r != (result{}) {
			t.Errorf("an empty buffer: %+v", r)
		}
	})
}

func TestEndOfFile(t *testing.T) {
	sources(t, func(t *testing.T, s *Source, w *os.File) {
		if _, err := w.Write([]byte("last")); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		buf := make([]byte, 64)
		if r := within(t, read(s, buf)); r != (result{n: 4}) {
			t.Errorf("the last bytes: %+v", r)
		}
		for range 3 {
			s.Drain()
			if r := within(t, read(s, buf)); r != (result{err: io.EOF}) {
				t.Errorf("the end: %+v", r)
			}
		}
	})
}

// Read answers each Drain, whether Read is waiting already, is called later, or has output to return first.
func TestDrain(t *testing.T) {
	sources(t, func(t *testing.T, s *Source, w *os.File) {
		buf := make([]byte, 3)
		drained := result{err: ErrDrained}
		s.Drain()
		s.Drain()
		if r := within(t, read(s, buf)); r != drained {
			t.Errorf("drain before read: %+v", r)
		}
		if _, err := w.Write([]byte("12345")); err != nil {
			t.Fatal(err)
		}
		s.Drain()
		for _, want := range []result{{n: 3}, {n: 2}, drained} {
			if r := within(t, read(s, buf)); r != want {
				t.Errorf("got %+v, want %+v", r, want)
			}
		}
		waiting := make(chan result, 1)
		go func() { waiting <- read(s, buf)() }()
		awaitPoll(t)
		s.Drain()
		if r := within(t, func() result { return <-waiting }); r != drained {
			t.Errorf("drain while reading: %+v", r)
		}
	})
}

// With Drain called by many goroutines during output, all output written before a call of Drain has been read when Read
// returns its ErrDrained.
func TestDrainMeansDrained(t *testing.T) {
	sources(t, func(t *testing.T, s *Source, w *os.File) {
		const rounds = 2000
		asked, answered := make(chan int), make(chan int)
		go func() {
			defer close(asked)
			for i := range rounds {
				if _, err := w.Write(make([]byte, 1+i%7000)); err != nil {
					t.Error(err)
					return
				}
				asked <- 1 + i%7000
				<-answered
			}
		}()
		var mu sync.Mutex
		got := 0
		done := make(chan struct{})
		drained := make(chan struct{})
		go func() {
			defer close(done)
			buf := make([]byte, 4096)
			for {
				n, err := s.Read(buf)
				mu.Lock()
				got += n
				mu.Unlock()
				switch {
				case err == ErrDrained:
					drained <- struct{}{}
				case err != nil:
					return
				}
			}
		}()
		want := 0
		for size := range asked {
			want += size
			s.Drain()
			within(t, func() struct{} { return <-drained })
			mu.Lock()
			if got != want {
				t.Errorf("%d bytes when drained, want %d", got, want)
			}
			mu.Unlock()
			answered <- 0
		}
		_ = s.Close()
		within(t, func() struct{} { return <-done })
	})
}

func TestCloseEndsRead(t *testing.T) {
	sources(t, func(t *testing.T, s *Source, w *os.File) {
		buf := make([]byte, 8)
		waiting := make(chan result, 1)
		go func() { waiting <- read(s, buf)() }()
		awaitPoll(t)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if r := within(t, func() result { return <-waiting }); r != (result{err: os.ErrClosed}) {
			t.Errorf("read when closed: %+v", r)
		}
		_, _ = w.Write([]byte("x"))
		s.Drain()
		if r := within(t, read(s, buf)); r != (result{err: os.ErrClosed}) {
			t.Errorf("read after close: %+v", r)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close again: %v", err)
		}
	})
}

func TestTheirsIsBlocking(t *testing.T) {
	_, w := outputPipe(t)
	sink, r := inputPipe(t)
	term, slave := openTerminal(t)
	_, _ = sink, term
	for _, f := range []*os.File{w, r, slave} {
		raw, err := f.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Control(func(fd uintptr) {
			status, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
			if err != nil || status&unix.O_NONBLOCK != 0 {
				t.Errorf("%s: flags %#x, %v, want blocking", f.Name(), status, err)
			}
			flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
			if err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("%s: %#x, %v, want close-on-exec", f.Name(), flags, err)
			}
		})
	}
}

func TestReadErrorIsTold(t *testing.T) {
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s, err := newSource(f, false)
	if err != nil {
		t.Fatal(err)
	}
	// A directory can be neither polled nor read.
	if r := within(t, read(s, make([]byte, 8))); r.n != 0 || !errors.Is(r.err, unix.EISDIR) {
		t.Errorf("got %+v", r)
	}
}

// A drain ends even if a writer never stops: it covers the output that was there at the call of Drain, and no more than
// the kernel can hold.
func TestDrainBesideAFlood(t *testing.T) {
	sources(t, func(t *testing.T, s *Source, w *os.File) {
		stop, flood := make(chan struct{}), sync.WaitGroup{}
		flood.Go(func() {
			block := bytes.Repeat([]byte("x"), 4096)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		})
		buf := make([]byte, 4096)
		for range 20 {
			within(t, read(s, buf))
		}
		s.Drain()
		total := within(t, func() (total int) {
			for {
				n, err := s.Read(buf)
				total += n
				if err != nil {
					if err != ErrDrained {
						t.Errorf("Read: %v", err)
					}
					return total
				}
				if total > 64<<20 {
					t.Error("no ErrDrained in 64 MiB")
					return total
				}
			}
		})
		if limit := terminalHolds + len(buf) + 1; total > limit {
			t.Errorf("the drain has read %d bytes, more than the %d there can have been", total, limit)
		}
		close(stop)
		_ = s.Close() // The writer gets EPIPE or finds stop.
		if s.terminal {
			_ = s.file.Close() // This wakes a writer that is blocked on the terminal.
		}
		flood.Wait()
	})
}
