package conformance

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"shelld.dev/shelld/conformance/internal/process"
	"shelld.dev/shelld/conformance/internal/wire"
)

const (
	// mostBytes is the maximum memory that one session uses for a server's messages.
	mostBytes = 256 << 20
	// holdTime is how long a server's stdout may stay open after the server has ended. Then another process is
	// assumed to hold it.
	holdTime = 2 * time.Second
)

// errHeld means that a server has ended and its stdout has not.
var errHeld = errors.New("the server has ended, and something that it started holds its stdout open")

// An entry is one line of a session's log.
type entry struct {
	at  time.Duration
	dir wire.Direction
	msg wire.Message
}

// A connection is a server process and the log of the messages in both directions. Five goroutines serve it:
// read, write and readStderr own one end of a pipe each, wait reaps the process, and watch closes a stdout that
// outlives the server. The session's goroutine sends and takes snapshots. finish and release end them all.
type connection struct {
	// Immutable:
	framing string
	began   time.Time
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	home    *home
	number  int // of the connection, among those of the session

	died    chan struct{} // closed after the process is reaped; its ProcessState may be read then
	readers sync.WaitGroup
	readEnd chan struct{} // closed when read has ended
	errEnd  chan struct{} // closed when readStderr has ended
	kick    chan struct{} // the session -> write: the queue has changed
	finis   chan struct{} // closed by release: write stops waiting

	mu      sync.Mutex
	log     []entry
	changed chan struct{} // closed and replaced at every change
	stalled chan struct{} // not nil: read waits until it is closed
	cost    int           // of the log
	over    error         // why no more messages come; nil: more may come
	held    bool          // stdout outlived the server
	tail    []byte        // of stderr
	queue   [][]byte      // for write
	closing bool          // write closes stdin after the queue
}

// dial starts a server.
func dial(command []string, framing string, h *home) (*connection, error) {
	h.dialed++
	c := &connection{
		framing: framing, began: h.began, home: h, number: h.dialed, died: make(chan struct{}), readEnd: make(chan struct{}), errEnd: make(chan struct{}),
		changed: make(chan struct{}), kick: make(chan struct{}, 1), finis: make(chan struct{}),
	}
	program, err := process.Path(command[0])
	if err == nil {
		c.cmd = exec.Command(program, pathsFromHere(command[1:])...)
		c.cmd.Dir = h.dir
		c.cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME="+h.state())
		process.OwnGroup(c.cmd)
		err = c.startKnown()
	}
	if err != nil {
		return nil, err
	}
	c.readers.Go(c.readStderr)
	c.readers.Go(c.read)
	c.readers.Go(c.write)
	c.readers.Go(c.watch)
	go c.wait()
	return c, nil
}

// dialed has the running servers, and the directories of the sessions that are played.
var dialed = struct {
	sync.Mutex
	all   map[*connection]bool
	homes map[*home]bool
	over  bool // no more servers are started
}{all: map[*connection]bool{}, homes: map[*home]bool{}}

// startKnown starts the server and registers it under the lock, so that KillServers cannot miss it.
func (c *connection) startKnown() error {
	dialed.Lock()
	defer dialed.Unlock()
	if dialed.over {
		return errors.New("no server is started any more")
	}
	err := c.start()
	if err == nil {
		dialed.all[c] = true
	}
	return err
}

// KillServers kills every running server and prevents new starts, for a program that must end at once. The
// servers are in process groups of their own, which an interrupt from the terminal does not reach.
func KillServers() {
	dialed.Lock()
	defer dialed.Unlock()
	dialed.over = true
	for c := range dialed.all {
		process.KillGroup(c.cmd)
	}
	for h := range dialed.homes {
		killOrphans(h.dir)
		_ = os.RemoveAll(h.dir) // Best effort, as in release.
	}
}

// start makes three pipes and the process. It does not use the pipes of os/exec, whose Wait would block while any
// other process holds an end.
func (c *connection) start() (err error) {
	var theirs []*os.File
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err != nil {
			return nil, nil
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	theirs = []*os.File{inR, outW, errW}
	c.stdin, c.stdout, c.stderr = inW, outR, errR
	if err == nil {
		c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = inR, outW, errW
		err = startServer(c.cmd)
	}
	if err != nil {
		theirs = append(theirs, inW, outR, errR)
	}
	for _, f := range theirs {
		if f != nil {
			_ = f.Close() // Nothing was written to it.
		}
	}
	return err
}

// wait reaps the process.
func (c *connection) wait() {
	_ = c.cmd.Wait() // The status is in ProcessState, and there is nothing to copy.
	close(c.died)
	c.wake(func() {})
}

// watch ends read if the server has ended and its stdout stays open.
func (c *connection) watch() {
	select {
	case <-c.died:
	case <-c.readEnd:
		return
	}
	for {
		t := time.NewTimer(holdTime)
		select {
		case <-c.readEnd:
			t.Stop()
			return
		case <-t.C:
		}
		c.mu.Lock()
		waiting := c.stalled != nil
		c.held = !waiting
		c.mu.Unlock()
		if !waiting {
			_ = c.stdout.Close() // read reports the error
			return
		}
	}
}

// readStderr keeps the end of the server's stderr.
func (c *connection) readStderr() {
	defer close(c.errEnd)
	const most = 16 << 10
	buf := make([]byte, 4096)
	for {
		n, err := c.stderr.Read(buf)
		c.mu.Lock()
		c.tail = append(c.tail, buf[:n]...)
		if more := len(c.tail) - most; more > 0 {
			c.tail = append([]byte{}, c.tail[more:]...)
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// read receives messages until the server's stdout ends or sends something that is no message.
func (c *connection) read() {
	defer close(c.readEnd)
	r := bufio.NewReaderSize(c.stdout, 64<<10)
	for {
		c.mu.Lock()
		stalled := c.stalled
		c.mu.Unlock()
		if stalled != nil {
			<-stalled // finish resumes
			continue
		}
		raw, err := wire.ReadFrame(r, c.framing)
		var m wire.Message
		if err == nil {
			m, err = wire.Classify(raw)
		}
		if err == nil && !c.append(entry{dir: wire.FromServer, msg: m}) {
			err = wire.Garbage("more than %d MiB came in one session", mostBytes>>20)
		}
		if err != nil {
			c.end(err)
			_, _ = io.Copy(io.Discard, r) // The server must not block on a full pipe; its output is ignored from now on.
			return
		}
	}
}

func (c *connection) append(e entry) (fits bool) {
	c.wake(func() {
		e.at = time.Since(c.began)
		if c.cost += len(e.msg.Raw) + wire.MessageCost; c.cost <= mostBytes {
			c.log, fits = append(c.log, e), true
		}
	})
	return fits
}

func (c *connection) end(err error) {
	c.wake(func() {
		c.over = err
		if c.held && errors.Is(err, os.ErrClosed) {
			c.over = errHeld
		}
	})
}

// wake makes a change and wakes the goroutines that wait for one.
func (c *connection) wake(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// send queues bytes for the server's stdin. It reports no errors: a server that does not read, or has ended, does
// not answer.
func (c *connection) send(data []byte) {
	c.mu.Lock()
	if !c.closing {
		c.queue = append(c.queue, data)
	}
	c.mu.Unlock()
	c.nudge()
}

func (c *connection) nudge() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// write owns the server's stdin.
func (c *connection) write() {
	defer c.stdin.Close()
	for {
		c.mu.Lock()
		queue, closing := c.queue, c.closing
		c.queue = nil
		c.mu.Unlock()
		for _, data := range queue {
			if _, err := c.stdin.Write(data); err != nil {
				return
			}
		}
		if closing && len(queue) == 0 {
			return
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-c.kick:
		case <-c.finis:
			return
		}
	}
}

// stall stops reading from the server, from the next message on.
func (c *connection) stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stalled == nil {
		c.stalled = make(chan struct{})
	}
}

func (c *connection) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stalled != nil {
		close(c.stalled)
		c.stalled = nil
	}
}

// closeStdin closes stdin after the queued bytes.
func (c *connection) closeStdin() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.nudge()
}

// snapshot returns the present log. Its entries never change.
func (c *connection) snapshot() (log []entry, changed <-chan struct{}, over error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log, c.changed, c.over
}

// finish lets the server end by itself, and waits until all its output was read.
func (c *connection) finish(patience time.Duration) (inTime bool) {
	c.resume()
	c.closeStdin()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-c.died:
		<-c.readEnd // watch ensures that it is closed
		return true
	case <-t.C:
		return false
	}
}

// cut ends the connection without a word: the process is killed, as a network or a machine ends one.
func (c *connection) cut() {
	c.resume()
	process.KillGroup(c.cmd)
	<-c.died
	<-c.readEnd // watch ensures that it is closed
}

// release kills the rest of the server's process group, and ends the goroutines.
func (c *connection) release() {
	process.KillGroup(c.cmd)
	<-c.died
	close(c.finis)
	serverGone(c.cmd)
	dialed.Lock()
	delete(dialed.all, c)
	dialed.Unlock()
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr} {
		_ = f.Close() // This unblocks a pending call on it; it may be closed already.
	}
	c.readers.Wait()
}

// lastWords returns the end of the stderr of a server that has ended. It waits at most holdTime if another
// process holds stderr open.
func (c *connection) lastWords() string {
	t := time.NewTimer(holdTime)
	defer t.Stop()
	select {
	case <-c.errEnd:
	case <-t.C:
	}
	return c.stderrTail()
}

// stderrTail returns the end of the server's stderr.
func (c *connection) stderrTail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.tail)
}
