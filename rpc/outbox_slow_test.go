package rpc

import (
	"bytes"
	"io"
	"testing"
)

// A slowPipe accepts the bytes that fit and makes the writer wait for the rest, as the kernel does. The test is the
// reader.
type slowPipe struct {
	capacity int
	queued   chan int      // number of bytes in it; the goroutine that changes it holds the value
	full     chan struct{} // a blocking write waits for room
	room     chan struct{} // something was read
}

func newSlowPipe(capacity int) *slowPipe {
	p := &slowPipe{capacity: capacity, queued: make(chan int, 1), full: make(chan struct{}), room: make(chan struct{})}
	p.queued <- 0
	return p
}

func (s *slowPipe) take(p []byte) int {
	queued := <-s.queued
	n := min(len(p), s.capacity-queued)
	s.queued <- queued + n
	return n
}

func (s *slowPipe) Write(p []byte) (n int, err error) {
	for {
		if n += s.take(p[n:]); n == len(p) {
			return n, nil
		}
		s.full <- struct{}{}
		<-s.room
	}
}

// read takes n bytes out while a write waits, and returns when one waits again.
func (s *slowPipe) read(n int) {
	s.queued <- <-s.queued - n
	s.room <- struct{}{}
	<-s.full
}

// A slowDirectPipe can also write without blocking.
type slowDirectPipe struct{ *slowPipe }

func (s slowDirectPipe) WriteNow(p []byte) (n int, err error) { return s.take(p), nil }

// TestSlowReaderIsProgress: a reading client is noticed after each 4 KiB, however much is written at once when it reads
// fast: it may take all of stuckTime for 4 KiB.
func TestSlowReaderIsProgress(t *testing.T) {
	const (
		capacity = 64 << 10
		sip      = 1 << 10
	)
	for _, direct := range []bool{false, true} {
		s := newSlowPipe(capacity)
		var w io.Writer = s
		if direct {
			w = slowDirectPipe{s}
		}
		o := newOutbox(w, lineFraming)
		o.send(bytes.Repeat([]byte("x"), 5*capacity))
		<-s.full
		for read := 0; read < 3*capacity; {
			before := o.progress.Load()
			for range pieceBytes / sip {
				s.read(sip)
				read += sip
			}
			if o.progress.Load() == before {
				t.Fatalf("direct %v: the client has read %d bytes, and the last %d of them do not count", direct, read, pieceBytes)
			}
		}
		go func() { // The client reads all the rest.
			for waits := true; waits; _, waits = <-s.full {
				<-s.queued
				s.queued <- 0
				s.room <- struct{}{}
			}
		}()
		if err := o.flush(); err != nil {
			t.Error(err)
		}
		close(s.full)
	}
}

// BenchmarkOwnPipe sends long messages to a client in the same process.
func BenchmarkOwnPipe(b *testing.B) {
	r, w := io.Pipe()
	go func() { _, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 64<<10)) }()
	o := newOutbox(w, lineFraming)
	body := bytes.Repeat([]byte("x"), 1<<20)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := o.write(body); err != nil {
			b.Fatal(err)
		}
	}
	if err := o.flush(); err != nil {
		b.Error(err)
	}
	_ = w.Close() // The reader ends.
}
