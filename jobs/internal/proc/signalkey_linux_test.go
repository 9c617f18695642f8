package proc

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// setLocal turns local modes of a terminal on and off.
func setLocal(t *testing.T, slave *os.File, on, off uint32) {
	t.Helper()
	tio, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	tio.Lflag = tio.Lflag&^off | on
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, tio); err != nil {
		t.Fatal(err)
	}
}

// crowd types into a terminal that no process reads until the kernel takes no more. It returns the number of bytes
// taken.
func crowd(t *testing.T, s *Sink) int {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		n, err := s.Write(bytes.Repeat([]byte("a line that nobody reads\n"), 1<<14))
		done <- result{n, err}
	}()
	awaitPoll(t)
	s.Interrupt(1)
	return within(t, func() result { return <-done }).n
}

const ctrlC = 3

// Overtake discards all input before a signal key, and later input arrives.
func TestOvertake(t *testing.T) {
	for name, on := range map[string]uint32{"raw": unix.ISIG, "canonical": unix.ISIG | unix.ICANON} {
		t.Run(name, func(t *testing.T) {
			term, slave := openTerminal(t)
			setLocal(t, slave, on, 0)
			if n := crowd(t, term.Sink()); n < 8000 {
				t.Fatalf("the kernel has taken %d bytes: no crowd", n)
			}
			sent, err := term.Overtake(ctrlC)
			if sent || err != nil {
				t.Fatalf("sent %v, error %v; want the key to be typed", sent, err)
			}
			if res := within(t, write(term.Sink(), []byte("\x03later\n"))); res != (result{n: 7}) {
				t.Fatalf("write: %+v", res)
			}
			if got := within(t, func() string { return readN(t, slave, 6) }); got != "later\n" {
				t.Errorf("%q arrived", got)
			}
		})
	}
}

// Overtake discards nothing if the terminal does not turn the key into a signal, or if it keeps its input; in the
// latter case it sends the signal without the key.
func TestOvertakeKeepsTheInput(t *testing.T) {
	for _, c := range []struct {
		name string
		on   uint32
		key  byte
		sent bool
	}{
		{"no signals", 0, ctrlC, false},
		{"no signal key", unix.ISIG, 'c', false},
		{"no key", unix.ISIG, 0, false},
		{"input is kept", unix.ISIG | unix.NOFLSH, ctrlC, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			term, slave := openTerminal(t)
			setLocal(t, slave, c.on, 0)
			n := crowd(t, term.Sink())
			if sent, err := term.Overtake(c.key); sent != c.sent || err != nil {
				t.Errorf("sent %v, error %v; want %v", sent, err, c.sent)
			}
			if got := drain(t, slave, n); got != n {
				t.Errorf("%d bytes are left of %d", got, n)
			}
		})
	}
}

func TestOvertakeOfAClosedTerminal(t *testing.T) {
	term, slave := openTerminal(t)
	setLocal(t, slave, unix.ISIG, 0)
	_ = term.Close()
	if sent, err := term.Overtake(ctrlC); sent || err == nil {
		t.Errorf("sent %v, error %v", sent, err)
	}
}

// If every process has closed the slave, Overtake does not keep a new one open: Read still returns io.EOF.
func TestOvertakeWithoutSlave(t *testing.T) {
	term, slave := openTerminal(t)
	setLocal(t, slave, unix.ISIG, 0)
	_ = slave.Close()
	if sent, err := term.Overtake(ctrlC); sent || err != nil {
		t.Errorf("sent %v, error %v", sent, err)
	}
	if res := within(t, read(term.Source(), make([]byte, 10))); res.err != io.EOF {
		t.Errorf("read: %+v, want the end", res)
	}
}

func readN(t *testing.T, f *os.File, n int) string {
	b := make([]byte, n)
	m, err := io.ReadFull(f, b)
	if err != nil {
		t.Errorf("read: %v", err)
	}
	return string(b[:m])
}

// GiveUp ends a Write when the kernel takes no more, and not before.
func TestGiveUp(t *testing.T) {
	sinks(t, func(t *testing.T, s *Sink, r *os.File) {
		s.GiveUp(1)
		first := within(t, write(s, make([]byte, 1<<20)))
		if first.n <= 0 || first.n >= 1<<20 || first.err != ErrInterrupted {
			t.Fatalf("given up before: %+v", first)
		}
		done := make(chan result, 1)
		go func() { done <- write(s, make([]byte, 1<<20))() }()
		awaitPoll(t)
		s.GiveUp(2)
		second := within(t, func() result { return <-done })
		if second.err != ErrInterrupted {
			t.Fatalf("given up in the middle: %+v", second)
		}
		if got, want := drain(t, r, first.n+second.n), first.n+second.n; got != want {
			t.Errorf("%d bytes arrived of %d", got, want)
		}
		s.GiveUp(2)
		if res := within(t, write(s, []byte("third"))); res != (result{n: 5}) {
			t.Errorf("one that it does not concern: %+v", res)
		}
	})
}

func TestSignalOf(t *testing.T) {
	a := Attrs{Signals: true, Intr: ctrlC, Quit: 0x1c, Susp: 0x1a, EOF: 4}
	for key, want := range map[byte]syscall.Signal{ctrlC: syscall.SIGINT, 0x1c: syscall.SIGQUIT, 0x1a: syscall.SIGTSTP, 4: 0, 'c': 0, 0: 0} {
		if got := a.signalOf(key); got != want {
			t.Errorf("key %#x: %v, want %v", key, got, want)
		}
	}
	a.Signals = false
	if got := a.signalOf(ctrlC); got != 0 {
		t.Errorf("without signals: %v", got)
	}
}
