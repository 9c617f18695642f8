package proc

import (
	"errors"
	"os"
	"testing"
	"time"
)

// A pausing has the methods of both kinds of source.
type pausing interface {
	Read([]byte) (int, error)
	Wake(time.Time)
	Drain()
	Close() error
}

func pausings(t *testing.T, test func(t *testing.T, s pausing, w *os.File)) {
	sources(t, func(t *testing.T, s *Source, w *os.File) { test(t, s, w) })
	t.Run("peek", func(t *testing.T) {
		s, w := peekPipe(t)
		test(t, s, w)
	})
}

// Wake wakes a Read once. Afterwards Read waits as before.
func TestReadPauses(t *testing.T) {
	pausings(t, func(t *testing.T, s pausing, w *os.File) {
		buf := make([]byte, 10)
		next := func(want string, wantErr error) {
			t.Helper()
			n, err := within2(t, func() (int, error) { return s.Read(buf) })
			if string(buf[:n]) != want || !errors.Is(err, wantErr) {
				t.Fatalf("read %q, %v; want %q, %v", buf[:n], err, want, wantErr)
			}
		}
		for _, after := range []time.Duration{-time.Hour, 0, time.Millisecond} {
			s.Wake(time.Now().Add(after))
			next("", ErrPaused)
		}
		_, _ = w.WriteString("a") // If it fails, the read below fails.
		next("a", nil)
		s.Wake(time.Now().Add(time.Millisecond))
		s.Wake(time.Time{}) // cancels the Wake
		go func() { _, _ = w.WriteString("b") }()
		next("b", nil)

		s.Wake(time.Now().Add(time.Hour))
		_, _ = w.WriteString("c")
		next("c", nil)
		s.Wake(time.Time{})
		s.Drain()
		next("", ErrDrained)
		s.Wake(time.Now().Add(time.Hour))
		go s.Drain()
		next("", ErrDrained)
		s.Wake(time.Now().Add(-time.Hour))
		s.Drain() // takes precedence over a pause
		next("", ErrDrained)
		s.Wake(time.Now().Add(time.Hour))
		go func() { _ = s.Close() }()
		next("", os.ErrClosed)
	})
}

// Drain and Close take effect even if the reader often wakes up because of Wake.
func TestPausesLoseNothing(t *testing.T) {
	pausings(t, func(t *testing.T, s pausing, w *os.File) {
		buf := make([]byte, 10)
		await := func(want error) {
			t.Helper()
			for {
				s.Wake(time.Now().Add(10 * time.Microsecond))
				switch _, err := within2(t, func() (int, error) { return s.Read(buf) }); {
				case errors.Is(err, want):
					return
				case !errors.Is(err, ErrPaused):
					t.Fatal(err)
				}
				s.Wake(time.Time{})
			}
		}
		for range 300 {
			go s.Drain()
			await(ErrDrained)
		}
		go func() { _ = s.Close() }()
		await(os.ErrClosed)
	})
}
