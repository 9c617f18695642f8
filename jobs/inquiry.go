package jobs

import (
	"errors"
	"fmt"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

// An inquiry is a helper program that the server runs to find something out, such as a shell's version or the
// environment that the login shell makes. It has no input. It is contained like a job, and the processes that it leaves
// behind are ended with it.
type inquiry struct {
	path  string
	argv  []string
	env   []string
	dir   string        // "" = the root directory
	merge bool          // stderr is read as well; else it is discarded
	limit time.Duration // its time limit
	most  int           // the maximum number of bytes that it may write
}

// The errors of an inquiry without an answer.
var (
	errInquiryLate    = errors.New("it did not end in time")
	errInquiryTooLong = errors.New("it printed too much")
	errInquiryLost    = errors.New("another process ended it")
	errInquiryEnding  = errors.New("the server is ending")
)

// inquire runs an inquiry in a goroutine of its own, which ends when nothing of the program is left. It calls told
// once, in that goroutine, with the output that the program wrote until it ended, or with an error. It calls told
// without waiting for processes that the program leaves behind, nor for their end.
func (m *Manager) inquire(q inquiry, told func(output []byte, err error)) {
	m.registry.mu.Lock()
	closing := isClosed(m.end.begun)
	if !closing {
		m.end.inquiries.Add(1)
	}
	m.registry.mu.Unlock()
	if closing {
		told(nil, errInquiryEnding)
		return
	}
	go func() {
		defer m.end.inquiries.Done()
		a, err := m.beginInquiry(q)
		if err != nil {
			told(nil, fmt.Errorf("it could not be started: %w", err))
			return
		}
		told(a.await(m.end.begun))
		a.end()
	}()
}

// inquiriesOver returns a channel that is closed when nothing is left of any inquiry.
func (m *Manager) inquiriesOver() <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		m.end.inquiries.Wait()
	}()
	return over
}

// endInquiries waits until nothing is left of the inquiries, which Shutdown has ended, but no longer than limit.
func (m *Manager) endInquiries(limit time.Duration) {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-m.inquiriesOver():
	case <-late.C:
		m.log.Warn("a helper program of the server does not end")
	}
}

// An asked is a running inquiry.
type asked struct {
	inquiry
	proc   process
	src    source
	late   *time.Timer
	output []byte        // owned by read until it has ended
	full   chan struct{} // closed by read if the output is too long
	ended  chan struct{} // closed when read has returned
}

func (m *Manager) beginInquiry(q inquiry) (*asked, error) {
	src, theirs, err := proc.OutputPipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := keeper.Command{Path: q.path, Argv: q.argv, Env: q.env, Dir: q.dir, Stdout: theirs}
	if q.merge {
		cmd.Stderr = theirs
	}
	p, err := m.system.keepers.Start(cmd)
	if err != nil {
		_ = src.Close() // Nothing has used it.
		return nil, err
	}
	a := &asked{inquiry: q, proc: p, src: src, late: time.NewTimer(q.limit), full: make(chan struct{}), ended: make(chan struct{})}
	go a.read()
	return a, nil
}

// read owns the blocking read. It ends with the output, with a drain, or when the source is closed.
func (a *asked) read() {
	defer close(a.ended)
	buf := make([]byte, smallRead)
	for {
		n, err := a.src.Read(buf)
		if err != nil {
			return
		}
		if len(a.output)+n > a.most {
			close(a.full)
			return
		}
		a.output = append(a.output, buf[:n]...)
	}
}

// await returns the output of the program itself, or an error when the time limit passes.
func (a *asked) await(ending <-chan struct{}) ([]byte, error) {
	defer a.late.Stop()
	var ended <-chan struct{} // closed when read has ended; used only from the program's end on
	for {
		select {
		case e, ok := <-a.proc.Events():
			switch {
			case !ok && ended == nil, e.Kind == keeper.Lost && ended == nil:
				return nil, errInquiryLost
			case !ok:
				<-ended
				return a.whole()
			case e.Kind == keeper.Exited:
				a.src.Drain()
				ended = a.ended
			}
		case <-ended:
			return a.whole()
		case <-a.full:
			return nil, errInquiryTooLong
		case <-a.late.C:
			return nil, errInquiryLate
		case <-ending:
			return nil, errInquiryEnding
		}
	}
}

// whole returns the complete output, or an error if it was too long.
func (a *asked) whole() ([]byte, error) {
	if isClosed(a.full) {
		return nil, errInquiryTooLong
	}
	return a.output, nil
}

// end ends the processes that are left, and returns when none is left.
func (a *asked) end() {
	_ = a.proc.Kill(keeper.KillOptions{}) // It fails if nothing is left.
	_ = a.src.Close()                     // As above.
	<-a.ended
	for range a.proc.Events() {
		// The events of a process must be read to the end by the code that started it.
	}
}
