package rpc

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"shelld/jobs"
)

const (
	// chunkBytes is the most raw output that one notification carries.
	chunkBytes = 64 << 10
	// batchBytes is how much is gathered before it is handed to the kernel, while
	// there is more to send. What is queued meanwhile waits for all of it.
	batchBytes = 256 << 10
	// smallChunk and smallBatch take their place while something else is sent beside a
	// flood: whoever waits for that waits for the client to take what is in front of it,
	// which costs the client more than the server.
	smallChunk = 16 << 10
	smallBatch = 32 << 10
	// besideTime is how long that goes on after the last of it. Who has something sent less
	// often is a person, who does not notice some milliseconds, and a flood that has just
	// been started would go slower for its own answer.
	besideTime = 100 * time.Millisecond
	// controlBytes bounds what is owed to a client that reads nothing while it
	// goes on asking, beside answers that have waited for room. Beyond it the connection is given up (pause.go).
	controlBytes = 64 << 20
	// stuckTime is how long the last flush waits for a stdout that takes nothing.
	stuckTime = 2 * time.Second
)

var (
	errClientGone = errors.New("rpc: the client has not read the answers to its requests for too long")
	errStuck      = errors.New("rpc: stdout has taken nothing for " + stuckTime.String() + "; what was owed is given up")
)

// An outbox is the only writer of the connection. It holds messages that are ready
// to go, answers first of all, and lanes: a job's events, and cursors into its
// output. Output is read from the job when its turn comes to be written, so that a
// client which does not read costs an integer a stream, and one that reads again
// gets it in larger pieces.
//
// The order: control messages keep theirs and overtake lanes; the events of a lane
// keep theirs and come after the output that they speak of; lanes take turns.
//
// One goroutine at a time is its writer: run, which may block, or whoever has just
// queued something and calls send or flushSoon, which sends a little itself where
// that blocks nobody (direct.go). Another thread that had to wake up for it first
// would cost more than the message.
type outbox struct {
	// Immutable:
	w       io.Writer
	framing func() Framing
	wake    chan struct{} // anybody -> run; capacity 1
	done    chan struct{} // closed when run has returned
	broken  chan struct{} // closed when nothing can be written any more
	eased   chan struct{} // takenLocked -> pauseReading; capacity 1

	progress    atomic.Int64 // writes that the kernel has taken
	limit       atomic.Int64 // of a message, in bytes
	window      atomic.Int64 // of each stream, in bytes (flow.go)
	screenEvery atomic.Int64 // how often at most a change of a screen is told, in nanoseconds
	acks        atomic.Bool  // the client acknowledges output

	// Owned by the writer:
	direct   direct
	raw      []byte // output on its way through the encoder
	stripped []byte // the same, without queries
	encoded  []byte
	batch    []byte // framed, to be written
	beside   beside

	mu      sync.Mutex
	writing bool            // somebody is the writer
	handed  bool            // the writer has left batch, and being it, to run
	control []message       // answers and the like, in order
	bytes   int             // in control, or reserved for what is about to be
	hasty   int             // in control, of messages that have not waited for room
	pace    pace            // of the client, looked at while there is much of them
	waiting int             // answers that wait for room
	roomy   sync.Cond       // bytes is below answerRoom, or err is set; its lock is mu
	ready   []*lane         // with something to send, in turn
	lanes   map[int64]*lane // by the job's handle: those that are open, until their last event is sent
	asks    asks            // the server's own requests
	closing bool            // run ends when nothing is left
	err     error           // set once, when broken is closed
}

// A message is the body of one that is ready to go.
type message struct {
	body   []byte
	waited bool // for room, which was reserved for it
}

func newOutbox(w io.Writer, framing func() Framing) *outbox {
	o := &outbox{w: w, framing: framing, wake: make(chan struct{}, 1), done: make(chan struct{}), broken: make(chan struct{}),
		eased: make(chan struct{}, 1), raw: make([]byte, chunkBytes), direct: directTo(w)}
	o.roomy.L = &o.mu
	o.limit.Store(defaultMaxMessage)
	o.window.Store(defaultWindow)
	o.screenEvery.Store(int64(defaultScreenInterval))
	go o.run()
	return o
}

// send queues a message that is ready to go. It never blocks.
func (o *outbox) send(body []byte) {
	o.queueThen(message{body: body}, nil)
	o.flushSoon()
}

// queueThen queues a message, and does what has to be done before anything else is
// queued. flushSoon is to follow.
func (o *outbox) queueThen(m message, then func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queueLocked(m)
	if then != nil {
		then()
	}
}

// sendLocked queues a message that waits for no room; flushSoon is to follow.
func (o *outbox) sendLocked(body []byte) { o.queueLocked(message{body: body}) }

func (o *outbox) queueLocked(m message) {
	if o.err != nil {
		return
	}
	o.control = append(o.control, m)
	if m.waited {
		return // its bytes were counted when they were reserved
	}
	o.bytes += len(m.body)
	o.hurriedLocked(len(m.body))
}

// backlog is how many lanes have something to send, those included that may not.
func (o *outbox) backlog() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lanes {
		if l.queued || l.full {
			n++
		}
	}
	return n
}

// openedLocked notes a lane that is open from now on.
func (o *outbox) openedLocked(l *lane) {
	if o.lanes == nil {
		o.lanes = map[int64]*lane{}
	}
	o.lanes[l.handle] = l
}

// laneOf finds the lane of a job, which may be forgotten meanwhile; nil: there is none.
func (o *outbox) laneOf(handle int64) *lane {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lanes[handle]
}

// othersThan are the jobs with open lanes that are not among these.
func (o *outbox) othersThan(these []jobs.JobStats) (others []*jobs.Job) {
	among := map[int64]bool{}
	for _, j := range these {
		among[int64(j.Job.ID())] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for handle, l := range o.lanes {
		if !among[handle] {
			others = append(others, l.job)
		}
	}
	return others
}

// enqueueLocked gives a lane its turn; flushSoon is to follow.
func (o *outbox) enqueueLocked(l *lane) {
	if !l.queued && o.err == nil {
		l.queued = true
		o.ready = append(o.ready, l)
	}
}

func (o *outbox) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// breakLocked gives the connection up.
func (o *outbox) breakLocked(err error) {
	if o.err == nil {
		o.err = err
		o.control, o.ready = nil, nil
		close(o.broken)
		o.roomy.Broadcast()
		o.poke()
	}
}

// run is the writer that may block.
func (o *outbox) run() {
	defer close(o.done)
	for {
		if !o.begin() {
			if o.over() {
				return
			}
			<-o.wake
			continue
		}
		o.direct.on, o.direct.beyond = false, false
		for len(o.batch) > 0 || o.refill() {
			if err := o.write(o.batch); err != nil {
				o.breakWith(err)
				return
			}
			if o.batch = o.batch[:0]; cap(o.batch) > 2*batchBytes {
				o.batch = nil
			}
		}
	}
}

// begin makes run the writer, if there is something to write and nobody else is it.
func (o *outbox) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.handed {
		o.handed = false
		return true
	}
	return o.beginLocked()
}

func (o *outbox) beginLocked() bool {
	if o.writing || !o.pendingLocked() {
		return false
	}
	o.writing = true
	return true
}

// pendingLocked says whether there is anything to send. As long as nobody has spoken,
// there is no way to.
func (o *outbox) pendingLocked() bool {
	return (len(o.control) > 0 || len(o.ready) > 0) && o.framing() != FramingUnknown
}

// refill frames what is next. Where there is nothing it returns false, and its caller
// is not the writer any more: what comes from here on finds nobody there.
func (o *outbox) refill() bool {
	for {
		if o.batch = o.gather(o.batch[:0]); len(o.batch) > 0 || o.direct.beyond {
			return true
		}
		o.mu.Lock()
		if !o.pendingLocked() {
			o.writing = false
			if o.closing {
				o.poke()
			}
			o.mu.Unlock()
			return false
		}
		o.mu.Unlock()
	}
}

func (o *outbox) breakWith(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.breakLocked(err)
}

const (
	// pieceBytes is what is written at once if the client does not take more at once, so that a client that reads
	// slowly is seen to read: each piece is progress.
	pieceBytes = 4 << 10
	// ownPieceBytes is the same for a pipe in this process, where each write costs a switch of goroutines, and the
	// reader is a client that takes what there is.
	ownPieceBytes = 32 << 10
)

func (o *outbox) write(batch []byte) error {
	for len(batch) > 0 {
		n, err := o.writeSome(batch)
		if err != nil {
			return err
		}
		o.progress.Add(1)
		batch = batch[n:]
	}
	return nil
}

// writeSome writes what the client takes at once, or waits until it has taken a piece.
func (o *outbox) writeSome(batch []byte) (n int, err error) {
	if o.direct.to != nil {
		if n, err = o.direct.to.WriteNow(batch); n > 0 || err != nil {
			return n, err
		}
	}
	piece := pieceBytes
	if _, own := o.w.(*io.PipeWriter); own {
		piece = ownPieceBytes
	}
	return o.w.Write(batch[:min(len(batch), piece)])
}

func (o *outbox) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil || o.closing && !o.writing && len(o.control) == 0 && len(o.ready) == 0
}

// gather frames what is to be sent next: nothing, or about enough bytes.
func (o *outbox) gather(batch []byte) []byte {
	framing := o.framing()
	for len(batch) < o.enough() && !o.direct.beyond {
		body, l := o.next()
		switch {
		case body != nil:
			batch = frame(batch, framing, body)
			o.beside.answered()
		case l != nil:
			before := len(batch)
			o.beside.filled = false
			batch = l.step(batch, framing)
			o.beside.sent(l.handle, len(batch)-before)
		default:
			return batch
		}
	}
	return batch
}

// enough is how much to gather.
func (o *outbox) enough() int {
	switch {
	case o.direct.on:
		return directBytes
	case o.beside.isSmall():
		return smallBatch
	}
	return batchBytes
}

// chunk is the most raw output that the next notification carries.
func (o *outbox) chunk() int {
	if o.beside.isSmall() {
		return smallChunk
	}
	return chunkBytes
}

// beside tells floods from what is sent beside them. A flood fills what it is given; a job
// that is alone may send what it likes.
type beside struct {
	filled bool      // there was as much of the job's output as might be sent
	job    int64     // that has sent something last
	last   time.Time // when something else was sent
}

func (b *beside) answered() { b.last = time.Now() }

// sent takes a message of n bytes of a job.
func (b *beside) sent(job int64, n int) {
	if n == 0 {
		return // it was not what it seemed
	}
	if job != b.job && !b.filled {
		b.last = time.Now()
	}
	b.job = job
}

func (b *beside) isSmall() bool { return time.Since(b.last) < besideTime }

// next takes the next control message, or else the next lane.
func (o *outbox) next() ([]byte, *lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.control) > 0 {
		m := o.control[0]
		o.control[0] = message{}
		o.control = o.control[1:]
		if !m.waited {
			o.takenLocked(len(m.body))
		}
		o.freeLocked(len(m.body))
		return m.body, nil
	}
	if len(o.ready) > 0 {
		l := o.ready[0]
		o.ready[0] = nil
		o.ready = o.ready[1:]
		l.queued = false
		return nil, l
	}
	return nil, nil
}

// flush writes what is owed and ends run. It gives up once the client has taken
// nothing for stuckTime; a write that is stuck then stays so until the process ends.
func (o *outbox) flush() error {
	o.mu.Lock()
	o.closing = true
	o.poke()
	o.mu.Unlock()
	t := time.NewTimer(stuckTime)
	defer t.Stop()
	seen := o.progress.Load()
	for {
		select {
		case <-o.done:
			return o.brokenBy()
		case <-o.broken:
			return o.brokenBy() // a write that is stuck may never end
		case <-t.C:
			now := o.progress.Load()
			if now == seen {
				o.breakWith(errStuck)
				return errStuck
			}
			seen = now
			t.Reset(stuckTime)
		}
	}
}

// brokenBy is why nothing can be written any more; nil: it can.
func (o *outbox) brokenBy() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
