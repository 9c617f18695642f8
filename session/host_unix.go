//go:build linux || darwin

package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"shelld.dev/shelld/internal/safedir"
)

// The limits of what other processes of the user can make a host do.
const (
	maxAsking = 64              // connections that have not sent their first message yet
	firstTime = 5 * time.Second // for that message, and for a front to take what is sent to it
	checkTime = time.Minute     // between two checks of the socket
)

// maxClients is how many clients may be attached at a time. Tests lower it.
var maxClients = 1000

// HostOptions describe a host.
type HostOptions struct {
	Name   string     // of the session
	Info   Info       // ID, Title, Version and Protocol
	Status func() any // the status that the host reports; encoded as JSON
}

// A Host is the side of the host.
type Host struct {
	Log *slog.Logger

	folder   *folder
	status   func() any
	lock     *os.File
	starting *os.File // closed when the host is ready
	ready    *os.File // the pipe on which the front waits
	info     Info

	keepsLog atomic.Bool // its log is worth keeping
	arrivals chan *Arrival
	end      chan struct{} // closed when the end was requested
	endOnce  sync.Once
	asking   chan struct{} // a place for each connection without its first message
	clients  chan struct{} // and for each client

	mu       sync.Mutex
	listener *net.UnixListener
	bound    fs.FileInfo // of its socket
	closed   bool
	open     map[*net.UnixConn]bool // connections without their first message
	running  sync.WaitGroup
	stop     chan struct{}
}

// Listen makes this process, which a front has started, the host of a session.
func (d *Directory) Listen(o HostOptions, level slog.Leveler) (*Host, error) {
	h := &Host{
		status: o.Status, arrivals: make(chan *Arrival), end: make(chan struct{}), asking: make(chan struct{}, maxAsking),
		clients: make(chan struct{}, maxClients), open: map[*net.UnixConn]bool{}, stop: make(chan struct{}), info: o.Info.here(),
	}
	h.info.Session = o.Name
	var err error
	if h.folder, err = d.folder(o.Name); err != nil {
		return nil, err
	}
	if err := h.inherit(); err != nil {
		h.folder.close()
		return nil, err
	}
	// Who has asked for more than warnings wants to read them; what is there is of a host that was killed.
	h.keepsLog.Store(level.Level() < slog.LevelWarn || h.folder.logged())
	h.Log = slog.New(slog.NewTextHandler(newBoundedLog(h.folder), &slog.HandlerOptions{Level: level, ReplaceAttr: h.seeError}))
	err = h.listen()
	if err == nil {
		err = h.tell()
	}
	if err != nil {
		return nil, errors.Join(err, h.Fail(err))
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1) // before a front can send it: until then it is lost
	h.running.Go(func() { h.watch(asked) })
	return h, nil
}

// seeError keeps a log with errors.
func (h *Host) seeError(_ []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && level >= slog.LevelError {
		h.keepsLog.Store(true)
	}
	return a
}

// inherit takes over the descriptors that a front has left.
func (h *Host) inherit() error {
	h.ready, h.lock, h.starting = os.NewFile(readyFD, "ready"), os.NewFile(lockFD, lockFile), os.NewFile(startingFD, startingFile)
	for _, f := range []*os.File{h.ready, h.lock, h.starting} {
		if f == nil {
			return errHidden
		}
		syscall.CloseOnExec(int(f.Fd()))
	}
	if !h.folder.holds(lockFile, h.lock) || safedir.Lock(h.lock, safedir.Exclusive) != nil {
		return errHidden
	}
	return nil
}

var errHidden = errors.New("this command is for shelld connect, which starts it; use that")

// tell writes host.json.
func (h *Host) tell() error {
	b, err := json.MarshalIndent(h.info, "", "  ")
	if err != nil {
		return err
	}
	return h.folder.replace(infoFile, append(b, '\n'))
}

// Ready reports to the front that started the host that it serves clients.
func (h *Host) Ready() { h.report(nil) }

// Fail reports to the front why the host has not started, and closes it.
func (h *Host) Fail(err error) error {
	h.report(err)
	return h.Close()
}

// report reports to the front whether the host has started.
func (h *Host) report(err error) {
	text := readyText
	if err != nil {
		text = err.Error()
	}
	_, _ = h.ready.WriteString(text) // The front may be gone, and the host lives on.
	_ = h.ready.Close()
	_ = h.starting.Close() // This lets other fronts in.
}

// Arrivals returns the clients as they come, until Stop.
func (h *Host) Arrivals() <-chan *Arrival { return h.arrivals }

// EndAsked returns a channel that is closed when End has requested the end of the session.
func (h *Host) EndAsked() <-chan struct{} { return h.end }

// listen makes the socket, unless there is one, and accepts connections.
func (h *Host) listen() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.reachable() {
		return nil
	}
	l, bound, err := h.folder.listen()
	if err != nil {
		return err
	}
	if h.listener != nil {
		_ = h.listener.Close() // No path leads to it any more.
	}
	h.listener, h.bound = l, bound
	h.running.Go(func() { h.accept(l) })
	return nil
}

// reachable reports whether the socket at its path is the one of this host.
func (h *Host) reachable() bool {
	if h.listener == nil {
		return false
	}
	now, err := h.folder.root.Lstat(socketFile)
	return err == nil && os.SameFile(now, h.bound)
}

// watch makes the socket and host.json anew if they are gone, at once if a front asks for it.
func (h *Host) watch(asked chan os.Signal) {
	defer signal.Stop(asked)
	tick := time.NewTicker(checkTime)
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-asked:
		case <-tick.C:
		}
		if err := h.listen(); err != nil {
			h.Log.Error("the socket of the session cannot be made anew", "error", err)
		}
		if now, ok := h.folder.info(); !ok || now.PID != h.info.PID {
			if err := h.tell(); err != nil {
				h.Log.Error("host.json cannot be written", "error", err)
			}
		}
	}
}

// accept accepts connections until the listener is closed.
func (h *Host) accept(l *net.UnixListener) {
	for {
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // For example, no descriptor is left.
			h.Log.Warn("a connection cannot be accepted", "error", err)
			if !h.pause() {
				return
			}
			continue
		}
		select {
		case h.asking <- struct{}{}:
			h.running.Go(func() { h.serve(c) })
		default:
			_ = c.Close() // Others hold all places.
		}
	}
}

// pause waits a while. It returns false if the host is closed.
func (h *Host) pause() bool {
	select {
	case <-time.After(100 * time.Millisecond):
		return true
	case <-h.stop:
		return false
	}
}

// enter registers a connection that has not sent its first message. It returns false if the host is closed.
func (h *Host) enter(c *net.UnixConn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.open[c] = true
	}
	return !h.closed
}

// leave undoes enter.
func (h *Host) leave(c *net.UnixConn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, c)
	<-h.asking
}

// serve reads the first message of a connection and does what it asks for.
func (h *Host) serve(c *net.UnixConn) {
	keep := false
	defer func() {
		if !keep {
			_ = c.Close()
		}
	}()
	r, err := h.first(c)
	switch {
	case err != nil:
		e, ok := errors.AsType[*Error](err)
		if ok && e.Kind == Refused {
			h.Log.Warn("a client cannot be attached", "error", err)
		} else {
			h.Log.Debug("a connection without a valid request", "error", err)
		}
		if ok {
			_, _ = c.Write(line(answer{Kind: e.Kind, Message: e.Text})) // The peer may be gone.
		}
	case r.Verb == verbStatus:
		status, err := json.Marshal(h.status())
		if err != nil {
			h.Log.Error("the status cannot be encoded", "error", err)
		}
		_, _ = c.Write(line(answer{OK: true, Status: status})) // The peer may be gone.
	case r.Verb == verbEnd:
		h.endOnce.Do(func() { close(h.end) })
		_, _ = c.Write(line(answer{OK: true})) // The peer may be gone.
	default:
		_ = c.SetDeadline(time.Time{}) // The link lives as long as its ends.
		keep = h.attach(c, r)
	}
}

// first reads the first message of a connection.
func (h *Host) first(c *net.UnixConn) (received, error) {
	if !h.enter(c) {
		<-h.asking
		return received{}, net.ErrClosed
	}
	defer h.leave(c)
	if uid, err := peer(c); err != nil || uid != os.Geteuid() {
		return received{}, errorf(NotOurs, "the session belongs to another user")
	}
	if err := c.SetDeadline(time.Now().Add(firstTime)); err != nil {
		return received{}, err
	}
	return receive(c)
}

// attach passes a client on. It returns false if that was not possible.
func (h *Host) attach(c *net.UnixConn, r received) bool {
	var a *Arrival
	var err error
	select {
	case h.clients <- struct{}{}:
		if a, err = arrive(c, r, func() { <-h.clients }); err != nil {
			<-h.clients
		}
	default:
		closeAll(r.fds)
		err = fmt.Errorf("%d clients are attached, and there is no room for more; detach one", cap(h.clients))
	}
	if err != nil {
		h.Log.Warn("a client cannot be attached", "error", err)
		_, _ = c.Write(line(answer{Kind: Refused, Message: err.Error()})) // The peer may be gone.
		return false
	}
	select {
	case h.arrivals <- a:
	case <-h.stop:
		a.Refuse(Ending, "the session is about to end")
	}
	return true
}

// Stop stops listening. Clients that come now are refused, and their fronts wait for the end of the host.
func (h *Host) Stop() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	close(h.stop)
	var err error
	if h.listener != nil {
		err = h.listener.Close()
		if h.reachable() {
			err = errors.Join(err, h.folder.root.Remove(socketFile))
		}
	}
	for c := range h.open {
		_ = c.Close()
	}
	h.mu.Unlock()
	h.running.Wait()
	return err
}

// held keeps the locks of closed hosts from the garbage collector.
var held []*os.File

// Close releases the session, except its lock. The end of the process releases the lock, so a program that waits for it
// waits for that. Close deletes the session's directory, unless there is a log that is worth keeping, or a claim.
func (h *Host) Close() error {
	err := h.Stop()
	if starting := h.unused(); starting != nil {
		// A front that has come meanwhile starts the next host in the same directory.
		if removeErr := h.folder.remove(); !errors.Is(removeErr, syscall.ENOTEMPTY) {
			err = errors.Join(err, removeErr)
		}
		_ = starting.Close() // This lets other fronts in, which find the directory gone.
	}
	held = append(held, h.lock)
	h.folder.close()
	return err
}

// unused returns the locked file of the fronts that start hosts, if the directory can be deleted: no log and no claim is worth
// keeping, and no front is about to start another host. Otherwise it returns nil.
func (h *Host) unused() *os.File {
	if h.keepsLog.Load() && h.folder.logged() || h.folder.keepsClaim() {
		return nil
	}
	f, err := h.folder.open(startingFile)
	if err != nil {
		return nil
	}
	if safedir.Lock(f, safedir.Exclusive) != nil {
		_ = f.Close() // Nothing was written to it.
		return nil
	}
	return f
}
