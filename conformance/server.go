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

	"shelld/conformance/internal/process"
	"shelld/conformance/internal/wire"
)

const (
	// mostBytes bounds what one session keeps of what a server sends.
	mostBytes = 256 << 20
	// holdTime is how long a server's stdout may be open once the server has ended,
	// before something else is taken to hold it.
	holdTime = 2 * time.Second
)

// errHeld says that a server has ended and its stdout has not.
var errHeld = errors.New("the server has ended, and something that it started holds its stdout open")

// An entry is one line of a session's log.
type entry struct {
	at  time.Duration
	dir wire.Direction
	msg wire.Message
}

// A connection is a server process and what went to and fro. Five goroutines serve it:
// read, write and readStderr own one end of a pipe each, wait owns the process, and the
// session's own sends and looks. finish ends them all.
type connection struct {
	// Immutable:
	framing string
	began   time.Time
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	dir     string // the server's directory, which goes with it

	died    chan struct{} // closed when the process was reaped; its ProcessState may be read then
	readers sync.WaitGroup
	readEnd chan struct{} // closed when read has ended
	errEnd  chan struct{} // closed when readStderr has ended
	kick    chan struct{} // the session -> write: look at queue
	finis   chan struct{} // closed by finish: nobody waits for anything any more

	mu      sync.Mutex
	log     []entry
	changed chan struct{} // closed and made anew when there is news
	stalled chan struct{} // not nil: read waits until it is closed
	cost    int           // of the log
	over    error         // why nothing more comes; nil: something may
	held    bool          // stdout outlived the server
	tail    []byte        // of stderr
	queue   [][]byte      // for write
	closing bool          // write closes stdin behind the queue
}

// dial starts a server. Its directory, home and state are its own, and empty.
func dial(command []string, framing string) (*connection, error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // macOS: /var is one
		return nil, err
	}
	c := &connection{
		framing: framing, began: time.Now(), dir: dir, died: make(chan struct{}), readEnd: make(chan struct{}), errEnd: make(chan struct{}),
		changed: make(chan struct{}), kick: make(chan struct{}, 1), finis: make(chan struct{}),
	}
	program, err := process.Path(command[0])
	if err == nil {
		c.cmd = exec.Command(program, pathsFromHere(command[1:])...)
		c.cmd.Dir = dir
		c.cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"))
		process.OwnGroup(c.cmd)
		err = c.startKnown()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c.readers.Go(c.readStderr)
	c.readers.Go(c.read)
	c.readers.Go(c.write)
	c.readers.Go(c.watch)
	go c.wait()
	return c, nil
}

// dialed are the servers that run.
var dialed = struct {
	sync.Mutex
	all  map[*connection]bool
	over bool // no more are started
}{all: map[*connection]bool{}}

// startKnown starts the server, and has it among those that run before KillServers can miss it.
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

// KillServers ends every server that runs, and lets none be started any more, for a program that must
// end at once. They are in process groups of their own, which an interrupt of the terminal does not reach.
func KillServers() {
	dialed.Lock()
	defer dialed.Unlock()
	dialed.over = true
	for c := range dialed.all {
		process.KillGroup(c.cmd)
		killOrphans(c.dir)
		_ = os.RemoveAll(c.dir) // Best effort, as in stop.
	}
}

// start makes three pipes and the process. Pipes of our own, and none of os/exec's: its
// Wait would wait for whoever else holds an end.
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

// watch ends read where the server has ended and its stdout does not.
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
			_ = c.stdout.Close() // read says what there is to say
			return
		}
	}
}

// readStderr keeps the end of what the server says there.
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

// read takes what the server sends until it ends, or is no message.
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
			_, _ = io.Copy(io.Discard, r) // The server must not block on us; nothing counts any more.
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

// wake makes a change that whoever waits must see.
func (c *connection) wake(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// send queues bytes for the server's stdin. Whether they arrive is seen by what comes of
// them: a server that does not read, or has ended, does not answer.
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

// closeStdin lets what is queued go out first.
func (c *connection) closeStdin() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.nudge()
}

// snapshot is what there is to see now. The entries of a log never change.
func (c *connection) snapshot() (log []entry, changed <-chan struct{}, over error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log, c.changed, c.over
}

// finish lets the server end by itself. What it has written is read then.
func (c *connection) finish(patience time.Duration) (inTime bool) {
	c.resume()
	c.closeStdin()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-c.died:
		<-c.readEnd // at the latest when watch makes it so
		return true
	case <-t.C:
		return false
	}
}

// release ends by force what is left of the server: its process group, the orphans that
// reach us (Linux), the goroutines, the directory.
func (c *connection) release(orphans bool) {
	process.KillGroup(c.cmd)
	<-c.died
	close(c.finis)
	if orphans {
		killOrphans(c.dir)
	}
	serverGone(c.cmd)
	dialed.Lock()
	delete(dialed.all, c)
	dialed.Unlock()
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr} {
		_ = f.Close() // Frees whoever is in a call on it; it may be closed.
	}
	c.readers.Wait()
	_ = os.RemoveAll(c.dir) // Best effort: what a job still writes there is not ours.
}

// lastWords is the end of a stderr whose server has ended. Whoever else holds it open is not
// waited for.
func (c *connection) lastWords() string {
	t := time.NewTimer(holdTime)
	defer t.Stop()
	select {
	case <-c.errEnd:
	case <-t.C:
	}
	return c.stderrTail()
}

// stderrTail is the end of what the server said there.
func (c *connection) stderrTail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.tail)
}
