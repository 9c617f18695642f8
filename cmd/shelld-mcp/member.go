package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/session"
)

// With -session, the jobs are those of a session, whose host outlives this process: this front end is one of the host's
// clients, and comes back to its jobs when it is started again.

// clientPrefix begins the id of a front end as a client of a session.
const clientPrefix = "shelld-mcp-"

// claimKind is the kind of claim that a front end has in the directory of a session. The client's id is made of it and
// the number of the claim.
//
// The number is the lowest one that no living front end of the session has. So two front ends never have the same id,
// and do not replace each other; and one that was killed and is started again alone has its old id, with no need for its
// host to keep one: hosts of MCP give their servers nothing that is the same again after a restart. If several are
// started again in another order than before, they change places.
const claimKind = "mcp"

// A member is this front end as a client of a session.
type member struct {
	// Immutable:
	front   *front
	ending  context.Context // done when the engine ends
	dir     *session.Directory
	program string // shelld, which starts the host of the session
	params  schema.InitializeParams

	// Used only by the holder of the engine's connecting:
	id     string  // of the session; "": none yet
	record *record // nil: none yet
	was    wasRecord
	streams
}

// streams are the files of a connection to a host.
type streams struct {
	in, out *os.File // opposite to the host's stdin and stdout
	link    *session.Link
}

func (s *streams) close() {
	for _, f := range []*os.File{s.in, s.out} {
		_ = f.Close() // Everything was written, or the host is gone.
	}
	_ = s.link.Close() // Nothing was written to it.
}

// A lostError says that the connection to the server is gone, or that to the host of a session cannot be made.
type lostError struct {
	text string
	err  error
}

func (e *lostError) Error() string { return e.text }

func (e *lostError) Unwrap() error { return e.err }

// lost returns the error for a call whose connection is lost. over says that this front end has ended it.
func (m *member) lost(over bool) error {
	text := fmt.Sprintf("the connection to the session %s was lost during this call, and it is not known how far it came. If the host of the session has ended, so have all jobs. "+
		"The next call connects again, or starts the session anew, and says what is left", m.front.cfg.session)
	if over {
		text = "shelld-mcp is ending; its jobs go on in the session " + m.front.cfg.session
	}
	return &lostError{text, client.ErrServerGone}
}

// joinSession makes this front end a client of the session, whose host it starts if there is none. It tries until ctx is
// done.
func joinSession(ctx context.Context, f *front, p schema.InitializeParams) (*engine, error) {
	dir, err := session.Open("")
	if err != nil {
		return nil, err
	}
	program, err := findShelld()
	if err != nil {
		return nil, err
	}
	if p.RootDirectory == nil { // Else it would be the directory in which the host was started, maybe by another client.
		if here, err := os.Getwd(); err == nil {
			p.RootDirectory = &here
		}
	}
	ending, end := context.WithCancel(context.Background())
	m := &member{front: f, ending: ending, dir: dir, program: program, params: p}
	e := &engine{member: m, notice: f.notice, over: ending.Done(), connecting: make(chan struct{}, 1)}
	l, err := m.join(ctx, e, &e.info)
	if err != nil {
		end()
		m.record.close()
		return nil, err
	}
	e.link.Store(l)
	f.news.joined(f.cfg.session, m.was)
	e.end = sync.OnceValue(func() error {
		end()
		e.connecting <- struct{}{} // A call that connects gives up now.
		defer func() { <-e.connecting }()
		m.leave(e.link.Load())
		return nil
	})
	return e, nil
}

// findShelld returns the path of shelld: beside this program, or $SHELLD, or on PATH.
func findShelld() (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), "shelld")); err == nil {
			return path, nil
		}
	}
	name := cmp.Or(os.Getenv("SHELLD"), "shelld")
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("-session needs the program shelld, which keeps the session, and %s was not found: build it with \"go build ./cmd/shelld\" and put it beside shelld-mcp or on PATH, or name it in $SHELLD", name)
	}
	return path, nil
}

// join connects to the host of the session and initializes the connection. It gives up when ctx is done or the engine
// ends.
func (m *member) join(ctx context.Context, e *engine, info *schema.InitializeResult) (*link, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(m.ending, stop)()
	s, err := m.connectUntil(ctx)
	if err != nil {
		return nil, err
	}
	l := e.newLink(s.out, s.in)
	// A request that is canceled still waits for its answer; only the end of the connection frees it.
	inTime := context.AfterFunc(ctx, s.close)
	if err = m.enter(l, info); err == nil {
		m.streams = s
		err = m.front.meetAll(l, m.record)
	}
	if !inTime() {
		err = ctx.Err()
	}
	if err != nil {
		s.close()
		<-l.client.Done()
		return nil, m.refused(err)
	}
	return l, nil
}

// refused returns the error of a connection that could not be initialized.
func (m *member) refused(err error) error {
	if !errors.Is(err, client.ErrServerGone) {
		return err
	}
	name := m.front.cfg.session
	return &lostError{fmt.Sprintf("the host of the session %s has closed the connection, or has ended, before it was of use; try again, and if that fails too, see its log %s", name, filepath.Join(m.dir.Path(), name, "host.log")), err}
}

// connectUntil is connect until ctx is done.
func (m *member) connectUntil(ctx context.Context) (streams, error) {
	type result struct {
		streams
		err error
	}
	got := make(chan result, 1)
	go func() {
		s, err := m.connect()
		got <- result{s, err}
	}()
	select {
	case r := <-got:
		return r.streams, r.err
	case <-ctx.Done():
		go func() { // Connect cannot be canceled, but has limits of its own.
			if r := <-got; r.err == nil {
				r.close()
			}
		}()
		return streams{}, ctx.Err()
	}
}

// connect hands pipes over to the host of the session.
func (m *member) connect() (s streams, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return s, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return s, errors.Join(err, in.Close())
	}
	defer theirOut.Close()
	name := m.front.cfg.session
	link, err := m.dir.Connect(session.Call{
		Session: name, Program: m.program,
		Host:   []string{"shelld", "host", "-session", name, "-dir", m.dir.Path()},
		Client: session.Client{PID: os.Getpid(), Name: "shelld-mcp"}, In: theirIn, Out: theirOut,
	})
	if err != nil {
		return s, errors.Join(err, in.Close(), out.Close())
	}
	return streams{in, out, link}, nil
}

// enter initializes a connection, as the client that this front end is in the session.
func (m *member) enter(l *link, info *schema.InitializeResult) error {
	if m.record == nil || !m.record.InPlace() {
		claim, err := m.dir.Claim(m.front.cfg.session, claimKind)
		if err != nil {
			return err
		}
		m.record.close()
		m.record = newRecord(claim)
	}
	keep := schema.OnDetachKeep
	l.clientID = clientPrefix + strconv.Itoa(m.record.Number)
	p := m.params
	p.Session = &schema.SessionParams{ClientID: &l.clientID, Jobs: &schema.SessionJobOptions{OnDetach: &keep}}
	if err := initialize(l.client, p, info); err != nil {
		return err
	}
	if info.Session == nil {
		return fmt.Errorf("%s is of a version without sessions; install shelld and shelld-mcp of the same version", m.program)
	}
	err := m.admit(info)
	if err != nil {
		return err
	}
	m.was, err = m.record.begin(info.Session.ID, m.policyDigest())
	m.id = info.Session.ID
	return err
}

// returned connects again after the connection was lost, and has the next answer say what is left.
func (m *member) returned(ctx context.Context, e *engine) (*link, error) {
	m.streams.close()
	before := m.id
	var info schema.InitializeResult
	m.front.jobs.clear()
	l, err := m.join(ctx, e, &info)
	switch {
	case err == nil:
		m.front.news.returned(m.front.cfg.session, m.id != before)
		return l, nil
	case e.isOver():
		return nil, m.lost(true)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &lostError{fmt.Sprintf("the session %s is gone, and cannot be started again: %v", m.front.cfg.session, err), err}
}

// leaveTime is how long a host may take to let a client go.
const leaveTime = 2 * time.Second

// leave leaves the session. The jobs go on.
func (m *member) leave(l *link) {
	if !l.isLost() {
		// A host that does not read, or does not answer, gets the end of its input instead.
		late := time.AfterFunc(leaveTime, m.streams.close)
		_ = l.client.Call(context.Background(), "session/detach", schema.SessionDetachParams{}, nil)
		late.Stop()
	}
	m.streams.close()
	<-l.client.Done()
}
