package conformance

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// mostBytes bounds what a server may send in one session.
const mostBytes = 256 << 20

// A direction is who sent a message.
type direction bool

const (
	toServer   direction = false
	fromServer direction = true
)

// An entry is one line of a session's log.
type entry struct {
	at   time.Duration
	dir  direction
	msg  message
	note string // what else happened, in place of a message
}

// A connection is a server process and what went to and fro. The log is appended to
// by its two goroutines: read, which owns the server's stdout and ends with it, and
// the session's own.
type connection struct {
	// Immutable:
	framing string
	began   time.Time
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	dir     string // the server's directory, which goes with it
	ended   chan struct{}

	writes chan []byte   // the session -> write
	broken chan struct{} // closed when write has ended

	mu      sync.Mutex
	log     []entry
	changed chan struct{} // closed and made anew when the log grows
	stalled chan struct{} // not nil: read waits until it is closed
	bytes   int
	over    error  // why nothing more comes; nil: something may
	stderr  []byte // its end
	status  error  // of the process, once ended is closed
}

// dial starts a server. Its directory, home and state are its own, and empty.
func dial(command []string, framing string) (*connection, error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	c := &connection{
		framing: framing, began: time.Now(), dir: dir, ended: make(chan struct{}), changed: make(chan struct{}),
		writes: make(chan []byte, 1024), broken: make(chan struct{}),
	}
	c.cmd = exec.Command(command[0], command[1:]...)
	c.cmd.Dir = dir
	c.cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	ownGroup(c.cmd)
	stdin, stdout, err := c.start()
	if err != nil {
		_ = os.RemoveAll(dir) // It is empty.
		return nil, err
	}
	c.stdin = stdin
	var reading sync.WaitGroup
	reading.Go(func() { c.read(stdout) })
	go c.write()
	go func() {
		reading.Wait()
		c.status = c.cmd.Wait()
		close(c.ended)
		c.wake()
	}()
	return c, nil
}

func (c *connection) start() (io.WriteCloser, io.Reader, error) {
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	c.cmd.Stderr = (*stderrTail)(c)
	// A process of a job that holds stderr open must not hold up the verdict.
	c.cmd.WaitDelay = time.Second
	return stdin, stdout, c.cmd.Start()
}

// A stderrTail keeps the end of what the server says on stderr.
type stderrTail connection

func (t *stderrTail) Write(p []byte) (int, error) {
	const most = 16 << 10
	c := (*connection)(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stderr = append(c.stderr, p...)
	if n := len(c.stderr) - most; n > 0 {
		c.stderr = append([]byte{}, c.stderr[n:]...)
	}
	return len(p), nil
}

// read takes what the server sends until it ends, or is no message.
func (c *connection) read(stdout io.Reader) {
	r := bufio.NewReaderSize(stdout, 64<<10)
	for {
		c.mu.Lock()
		stalled := c.stalled
		c.mu.Unlock()
		if stalled != nil {
			<-stalled
			continue
		}
		raw, err := readFrame(r, c.framing)
		var m message
		if err == nil {
			m, err = classify(raw)
		}
		if err != nil {
			c.end(err)
			if !errors.Is(err, io.EOF) {
				_, _ = io.Copy(io.Discard, r) // The server must not block on us; nothing counts any more.
			}
			return
		}
		if !c.append(entry{dir: fromServer, msg: m}) {
			c.end(garbage("more than %d bytes came in one session", mostBytes))
			_, _ = io.Copy(io.Discard, r) // As above.
			return
		}
	}
}

func (c *connection) append(e entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.at = time.Since(c.began)
	if c.bytes += len(e.msg.raw); c.bytes > mostBytes {
		return false
	}
	c.log = append(c.log, e)
	c.wakeLocked()
	return true
}

func (c *connection) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = err
	c.wakeLocked()
}

func (c *connection) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wakeLocked()
}

func (c *connection) wakeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// send queues bytes for the server's stdin. It waits only where very much is queued.
func (c *connection) send(data []byte) error {
	t := time.NewTimer(defaultWithin)
	defer t.Stop()
	select {
	case c.writes <- data:
		return nil
	case <-c.broken:
		return errors.New("the server has closed its stdin")
	case <-t.C:
		return errors.New("the server does not read its stdin")
	}
}

// write owns the server's stdin. A nil closes it.
func (c *connection) write() {
	defer close(c.broken)
	defer c.stdin.Close()
	for data := range c.writes {
		if data == nil {
			return
		}
		if _, err := c.stdin.Write(data); err != nil {
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

// closeStdin lets what is queued go out first.
func (c *connection) closeStdin() {
	select {
	case c.writes <- nil:
	case <-c.broken:
	default: // much is queued: finish closes it by force
	}
}

// finish ends the server, by force where it must, and takes its directory away. What
// the server has started and not ended is the operating system's to tell; on Linux it
// is ended too.
func (c *connection) finish(patience time.Duration) (inTime bool) {
	c.resume()
	c.closeStdin()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-c.ended:
		inTime = true
	case <-t.C:
	}
	killGroup(c.cmd)
	if !inTime {
		_ = c.stdin.Close() // write may be stuck in it.
		<-c.ended
	}
	_ = os.RemoveAll(c.dir) // Best effort: what a job still writes there is not ours.
	return inTime
}
