package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// peekPipe returns a pipe that behaves as on Windows.
func peekPipe(t *testing.T) (s *peekSource, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	s = &peekSource{file: r, peek: func() (n int, err error) {
		controlErr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		return n, errors.Join(err, controlErr)
	}}
	t.Cleanup(func() { _, _ = s.Close(), w.Close() })
	return s, w
}

func TestPeekDrain(t *testing.T) {
	s, w := peekPipe(t)
	buf := make([]byte, 4)
	s.Drain() // The pipe is empty.
	if n, err := within2(t, func() (int, error) { return s.Read(buf) }); n != 0 || err != ErrDrained {
		t.Fatalf("%d, %v", n, err)
	}
	_, _ = w.WriteString("abcdef")
	s.Drain()
	_, _ = w.WriteString("ghij") // Later output is not part of the drain, and does not delay it.
	var got []byte
	for {
		n, err := within2(t, func() (int, error) { return s.Read(buf) })
		got = append(got, buf[:n]...)
		if err == ErrDrained {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.HasPrefix(got, []byte("abcdef")) {
		t.Errorf("drained after %q", got)
	}
	for len(got) < 10 {
		n, err := within2(t, func() (int, error) { return s.Read(buf) })
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:n]...)
	}
	if string(got) != "abcdefghij" {
		t.Errorf("read %q", got)
	}
}

// Drain wakes a Read that is already waiting.
func TestPeekDrainWakes(t *testing.T) {
	s, _ := peekPipe(t)
	waiting := make(chan error, 1)
	go func() { _, err := s.Read(make([]byte, 4)); waiting <- err }()
	for range 100 { // Read may be waiting by then or not: both orders must work.
		s.Drain()
		if err := within(t, func() error { return <-waiting }); err != ErrDrained {
			t.Fatal(err)
		}
		go func() { _, err := s.Read(make([]byte, 4)); waiting <- err }()
	}
	_ = s.Close()
	if err := within(t, func() error { return <-waiting }); err != os.ErrClosed {
		t.Error(err)
	}
}

func TestPeekEnd(t *testing.T) {
	s, w := peekPipe(t)
	_, _ = w.WriteString("end")
	_ = w.Close()
	buf := make([]byte, 10)
	if n, err := s.Read(buf); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for range 2 {
		if n, err := s.Read(buf); n != 0 || err != io.EOF {
			t.Errorf("%d, %v", n, err)
		}
	}
}

// If peek finds the end of the pipe, Read returns io.EOF.
func TestPeekEndWhileDraining(t *testing.T) {
	s, w := peekPipe(t)
	_ = w.Close()
	s.peek = func() (int, error) { return 0, io.EOF }
	s.Drain()
	if n, err := within2(t, func() (int, error) { return s.Read(make([]byte, 4)) }); n != 0 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
}

// piecePipe returns a pipe with a capacity of 4 KiB.
func piecePipe(t *testing.T) (s *pieceSink, r *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 4096) }); err != nil {
		t.Fatal(err)
	}
	s = &pieceSink{file: w}
	t.Cleanup(func() { _, _ = s.Close(), r.Close() })
	return s, r
}

func TestPiecesWrite(t *testing.T) {
	s, r := piecePipe(t)
	want := bytes.Repeat([]byte("0123456789"), 5000)
	read := make(chan []byte, 1)
	go func() { got, _ := io.ReadAll(r); read <- got }()
	if n, err := within2(t, func() (int, error) { return s.Write(want) }); n != len(want) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	_ = s.Close()
	if got := within(t, func() []byte { return <-read }); !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrived, want %d", len(got), len(want))
	}
	if n, err := s.Write(want); n != 0 || err != os.ErrClosed {
		t.Errorf("after Close: %d, %v", n, err)
	}
}

func TestPiecesInterrupt(t *testing.T) {
	s, _ := piecePipe(t)
	written := make(chan int, 1)
	go func() {
		n, err := s.Write(make([]byte, 3*pieceBytes)) // write 1
		if err != ErrInterrupted {
			n = -1
		}
		written <- n
	}()
	s.Interrupt(1) // before it begins, or during it
	if n := within(t, func() int { return <-written }); n < 0 || n > pieceBytes {
		t.Errorf("%d bytes written", n)
	}
	s.Interrupt(1) // too late: it has no effect
	s2, r := piecePipe(t)
	s2.Interrupt(1)
	if n, err := s2.Write([]byte("one")); n != 0 || err != ErrInterrupted {
		t.Errorf("write 1: %d, %v", n, err)
	}
	if n, err := within2(t, func() (int, error) { return s2.Write([]byte("two")) }); n != 3 || err != nil {
		t.Errorf("write 2: %d, %v", n, err)
	}
	buf := make([]byte, 10)
	if n, err := r.Read(buf); string(buf[:n]) != "two" {
		t.Errorf("%q, %v arrived", buf[:n], err)
	}
}

func TestPiecesBroken(t *testing.T) {
	s, r := piecePipe(t)
	_ = r.Close()
	if n, err := s.Write([]byte("x")); n != 0 || !errors.Is(err, unix.EPIPE) {
		t.Errorf("%d, %v", n, err)
	}
}

func within2(t *testing.T, f func() (int, error)) (int, error) {
	t.Helper()
	type result struct {
		n   int
		err error
	}
	r := within(t, func() result { n, err := f(); return result{n, err} })
	return r.n, r.err
}

func TestPlainPath(t *testing.T) {
	for path, want := range map[string]string{
		`\\?\C:\x\y`: `C:\x\y`, `\\?\UNC\host\share\y`: `\\host\share\y`, `C:\x`: `C:\x`, `/x`: `/x`,
	} {
		if got := plainPath(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
