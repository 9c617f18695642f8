package jobs

import (
	"errors"
	"fmt"
	"time"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/proc"
)

// An inquiry is a program that the server runs to be told something: a shell's version, the
// environment that the login shell makes. It has no input, is contained as a job is, and what
// it leaves behind is ended with it.
type inquiry struct {
	path  string
	argv  []string
	env   []string
	dir   string        // "" = the root of all
	merge bool          // stderr is read as well; else nobody reads it
	limit time.Duration // how long it may take
	most  int           // how many bytes it may write
}

// Why an inquiry was not answered.
var (
	errInquiryLate    = errors.New("it did not end in time")
	errInquiryTooLong = errors.New("it wrote too much")
	errInquiryLost    = errors.New("somebody else ended it")
	errInquiryEnding  = errors.New("the server is ending")
)

// inquire runs an inquiry in a goroutine of its own, which ends when nothing of the program is
// left. told is called once, there, with what the program wrote until it ended, or why nobody
// knows: it waits neither for what the program leaves behind nor for that to end.
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

// inquiriesOver is closed when no inquiry has anything left.
func (m *Manager) inquiriesOver() <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		m.end.inquiries.Wait()
	}()
	return over
}

// endInquiries waits until inquiries, which Shutdown has told to end, have left nothing, but
// no longer than that.
func (m *Manager) endInquiries(limit time.Duration) {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-m.inquiriesOver():
	case <-late.C:
		m.log.Warn("a program that the server has run for itself does not end")
	}
}

// An asked is an inquiry that goes on.
type asked struct {
	inquiry
	proc   process
	src    source
	late   *time.Timer
	output []byte        // owned by read until it has ended
	full   chan struct{} // closed by read where there is more than may be
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

// read owns the blocking read. It ends with the output, with a drain, or when the source is
// closed.
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

// await returns what the program itself has written, at the latest when its time is over.
func (a *asked) await(ending <-chan struct{}) ([]byte, error) {
	defer a.late.Stop()
	var ended <-chan struct{} // read has ended, which counts from the program's end on
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

// whole is all that was written, unless that was too much.
func (a *asked) whole() ([]byte, error) {
	if isClosed(a.full) {
		return nil, errInquiryTooLong
	}
	return a.output, nil
}

// end ends what is left, and returns when nothing is.
func (a *asked) end() {
	_ = a.proc.Kill(keeper.KillOptions{}) // It fails where nothing is left.
	_ = a.src.Close()                     // As above.
	<-a.ended
	for range a.proc.Events() {
		// Whoever has started a process hears of it to its end.
	}
}
