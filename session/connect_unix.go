//go:build linux || darwin

package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/internal/safedir"
)

// Connect hands a client over to the host of a session, which it starts if there is none.
func (d *Directory) Connect(c Call) (*Link, error) {
	if err := CheckName(c.Session); err != nil {
		return nil, err
	}
	const tries = 100 // Each failed one is due to another process that has deleted the directory.
	for try := 1; ; try++ {
		l, err := d.connect(c)
		if !errors.Is(err, errSwept) || try == tries {
			return l, err
		}
	}
}

func (d *Directory) connect(c Call) (*Link, error) {
	if !c.Existing {
		var err error
		if d, err = d.make(); err != nil {
			return nil, err
		}
		if err := os.Mkdir(d.path+"/"+c.Session, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, d.cannot(err)
		}
	}
	f, err := d.folder(c.Session)
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == NotFound && !c.Existing {
		return nil, errSwept // It was there a moment ago.
	}
	if err != nil {
		return nil, err
	}
	defer f.close()
	l, err := f.attach(c, d.answer)
	if !isUnreachable(err) {
		return l, err
	}
	// One front at a time starts a host; the others then find it.
	starting, err := f.lock(startingFile, startTime)
	if errors.Is(err, safedir.ErrLocked) {
		return nil, errorf(Gone, "another shelld connect starts the host of the session %s, and is not done after %s; end it", c.Session, startTime)
	}
	if err != nil {
		return nil, err
	}
	defer starting.Close()
	return f.connectAlone(c, starting, d.answer)
}

// connectAlone attaches to the host, which it starts if there is none.
func (f *folder) connectAlone(c Call, starting *os.File, most time.Duration) (*Link, error) {
	l, err := f.attach(c, most)
	if !isUnreachable(err) {
		return l, err
	}
	lock, err := f.open(lockFile)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	err = safedir.Lock(lock, safedir.Exclusive)
	if errors.Is(err, safedir.ErrLocked) {
		l, err = f.await(c, lock, most)
	}
	if err == nil && l == nil && !f.holds(lockFile, lock) {
		err = errSwept
	}
	if l != nil || err != nil {
		return l, err
	}
	if info, ok := f.info(); ok && info.elsewhere() {
		return nil, f.elsewhere(info)
	}
	if c.Existing {
		return nil, errorf(NotFound, "the host of the session %s has ended; without -existing a new one is started", f.name)
	}
	p, err := f.start(c, lock, starting)
	if err != nil {
		if !f.logged() && !f.keepsClaim() {
			_ = f.remove() // There was no session.
		}
		return nil, err
	}
	ended := make(chan *os.ProcessState, 1)
	go func() { // Otherwise the ended host would stay in the list of processes as long as this one.
		state, _ := p.Wait() // After an error, something else has removed it.
		ended <- state
	}()
	if l, err = f.attach(c, most); l != nil {
		l.Host, l.ended = p.Pid, ended
	}
	if isUnreachable(err) {
		return nil, errSwept // Another program has ended the host at once.
	}
	return l, err
}

// An unreachable error says that no host could be reached: there is none, or it ends, or its socket is gone.
type unreachable struct{ error }

func (e unreachable) Unwrap() error { return e.error }

func isUnreachable(err error) bool {
	_, is := errors.AsType[unreachable](err)
	return is
}

// attach hands the client over to the host.
func (f *folder) attach(c Call, most time.Duration) (*Link, error) {
	conn, _, err := f.ask(request{Verb: verbAttach, V: messageVersion, Client: &c.Client}, most, c.In, c.Out)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	link, err := conn.File()
	if err != nil {
		return nil, err
	}
	return &Link{File: link}, nil
}

// ask sends a request to the host, with these files, and returns the answer. The caller closes the connection.
func (f *folder) ask(r request, most time.Duration, files ...*os.File) (*net.UnixConn, answer, error) {
	conn, err := f.dial()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, answer{}, unreachable{err}
	}
	if err != nil {
		return nil, answer{}, f.silent(err)
	}
	a, err := f.talk(conn, r, most, files)
	if err != nil {
		_ = conn.Close()
		return nil, answer{}, err
	}
	return conn, a, nil
}

// talk sends a request and reads the answer.
func (f *folder) talk(conn *net.UnixConn, r request, most time.Duration, files []*os.File) (a answer, err error) {
	if err := conn.SetDeadline(time.Now().Add(most)); err != nil {
		return a, err
	}
	rights, err := rights(files)
	if err != nil {
		return a, err
	}
	var b []byte
	if _, _, err = conn.WriteMsgUnix(line(r), rights, nil); err == nil {
		// What comes behind the answer is for the reader of the link.
		b, err = readLine(bufio.NewReaderSize(oneByte{conn}, 16), maxAnswer)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return a, f.silent(err)
	case err != nil:
		return a, unreachable{fmt.Errorf("the host of the session %s has ended: %w", f.name, err)}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return a, errorf(Version, "the answer of the host of the session %s is not understood (%w); it may be of another version", f.name, err)
	}
	if a.Kind == Ending {
		return a, unreachable{errorf(Ending, "%s", a.Message)}
	}
	if !a.OK {
		return a, errorf(a.Kind, "the host of the session %s refuses: %s", f.name, a.Message)
	}
	return a, conn.SetDeadline(time.Time{})
}

// oneByte reads one byte at a time.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1)]) }

// silent returns the error for a host that does not answer.
func (f *folder) silent(err error) error {
	who := "the host of the session " + f.name
	if info, ok := f.info(); ok {
		who += fmt.Sprintf(" (process %d)", info.PID)
	}
	return errorf(Gone, "%s does not answer (%w); if it is stopped, continue it (kill -CONT); to end the session and its jobs: kill -KILL", who, err)
}

// rights returns the control data that passes the files on.
func rights(files []*os.File) ([]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var fds []int
	for _, f := range files {
		raw, err := f.SyscallConn() // Fd would change the blocking mode.
		if err == nil {
			err = raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
		}
		if err != nil {
			return nil, err
		}
	}
	return unix.UnixRights(fds...), nil
}

// endTimes is how many times as long as for an answer a front waits for the end of a host.
const endTimes = 3

// await is for a host that is alive and cannot be reached. Either it is about to end: then await returns with the lock
// held and no link. Or its socket is gone: then await asks it to make a new one, and attaches. The end of the jobs may
// take longer than an answer.
func (f *folder) await(c Call, lock *os.File, most time.Duration) (*Link, error) {
	changed := f.changes()
	defer changed.close()
	if info, ok := f.info(); ok && info.process() {
		_ = unix.Kill(info.PID, unix.SIGUSR1) // It may have ended just now.
	}
	ended := make(chan error, 1)
	go func() { ended <- safedir.Lock(lock, safedir.Exclusive|safedir.Wait) }()
	late := time.NewTimer(endTimes * most)
	defer late.Stop()
	for {
		l, err := f.attach(c, most)
		if !isUnreachable(err) {
			return l, err
		}
		select {
		case err := <-ended:
			return nil, err
		case <-changed.events:
		case <-late.C:
			return nil, errorf(Gone, "the host of the session %s lives, but cannot be reached (%w); it makes a new socket within a minute unless it is stopped or about to end", f.name, err)
		}
	}
}
