package rpc

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs"
)

const (
	// chunkBytes is the maximum of raw output in one notification.
	chunkBytes = 64 << 10
	// batchBytes is how much is collected for one write to the kernel, while there is more to send. Messages queued
	// meanwhile wait for all of it.
	batchBytes = 256 << 10
	// smallChunk and smallBatch replace them while something else is sent beside a flood: that has to wait until the
	// client has taken the data before it, and taking it costs the client more than the server.
	smallChunk = 16 << 10
	smallBatch = 32 << 10
	// besideTime is how long this lasts after the last such message. If they come less often, they are for a person,
	// who does not notice some milliseconds; and a flood that has just been started must not be slowed down by the
	// answer to its own start.
	besideTime = 100 * time.Millisecond
	// controlBytes limits the answers for a client that reads nothing while it goes on sending requests, without those
	// that have waited for room. Beyond it the connection is given up (pause.go).
	controlBytes = 64 << 20
	// stuckTime is how long the last flush waits for a stdout that takes nothing.
	stuckTime = 2 * time.Second
)

var (
	errClientGone = errors.New("rpc: the client has not read the answers to its requests for too long")
	errStuck      = errors.New("rpc: stdout has accepted no data for " + stuckTime.String() + "; unsent messages are discarded")
)

// An outbox is the only writer of the connection. It holds messages that are ready to be sent, above all answers, and
// lanes: the events of a job, and cursors into its output. Output is read from the job when its turn to be written
// comes. So a client that does not read costs one integer per stream, and later gets the output in larger pieces.
//
// The order: control messages keep their order and overtake lanes; the events of a lane keep their order and come after
// the output to which they refer; lanes take turns.
//
// One goroutine at a time is its writer: run, which may block, or a goroutine that has just queued something and calls
// send or flushSoon, which sends a little itself if that does not block (direct.go). Waking up another thread first
// would cost more than the message.
type outbox struct {
	// Immutable:
	w       io.Writer
	framing func() Framing
	wake    chan struct{} // any goroutine -> run; capacity 1
	done    chan struct{} // closed when run has returned
	broken  chan struct{} // closed when nothing can be written any more
	eased   chan struct{} // takenLocked -> pauseReading; capacity 1

	progress    atomic.Int64 // writes that the kernel has taken
	limit       atomic.Int64 // of a message, in bytes
	window      atomic.Int64 // of each stream, in bytes (flow.go)
	screenEvery atomic.Int64 // minimum time between notifications of screen changes, in nanoseconds
	acks        atomic.Bool  // the client acknowledges output

	// Owned by the writer:
	direct   direct
	raw      []byte // output that is being encoded
	stripped []byte // the same, without queries
	encoded  []byte
	batch    []byte // framed, to be written
	beside   beside

	mu      sync.Mutex
	unmet   bool            // initialize is not answered yet, and what others have the server send waits for that
	early   [][]byte        // what waits
	writing bool            // there is a writer
	handed  bool            // the writer has left batch and its role to run
	control []message       // answers and the like, in order
	bytes   int             // in control, or reserved for messages that are about to be
	hasty   int             // in control, of messages that have not waited for room
	pace    pace            // of the client's reading, checked while hasty is large
	waiting int             // answers that wait for room
	roomy   sync.Cond       // bytes is below answerRoom, or err is set; its lock is mu
	ready   []*lane         // with something to send, in order of their turns
	lanes   map[int64]*lane // open lanes by the job's handle, until their last event is sent
	asks    asks            // the server's own requests
	client  *attendee       // immutable; nil in tests
	gone    bool            // the client has left its session: no lane opens any more
	sealed  bool            // the last message is queued
	closing bool            // run ends when everything is sent
	err     error           // set once, when broken is closed
}

// A message is the body of a message that is ready to be sent.
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

// send queues a message that is ready, and calls flushSoon. It never blocks.
func (o *outbox) send(body []byte) {
	o.queueThen(message{body: body}, nil)
	o.flushSoon()
}

// queueThen queues a message, and calls then before anything else is queued. The caller must call flushSoon afterwards.
func (o *outbox) queueThen(m message, then func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queueLocked(m)
	if then != nil {
		then()
	}
}

// sendOwnLocked queues a message that the client has not asked for: it waits for the answer to initialize.
func (o *outbox) sendOwnLocked(body []byte) {
	if o.unmet {
		o.early = append(o.early, body)
		return
	}
	o.sendLocked(body)
}

// sendOwn is sendOwnLocked with flushSoon.
func (o *outbox) sendOwn(body []byte) {
	o.mu.Lock()
	o.sendOwnLocked(body)
	o.mu.Unlock()
	o.flushSoon()
}

// metLocked is called when the answer to initialize is queued.
func (o *outbox) metLocked() {
	o.unmet = false
	for _, body := range o.early {
		o.sendLocked(body)
	}
	o.early = nil
}

// sendLocked queues a message that does not wait for room. The caller must call flushSoon afterwards.
func (o *outbox) sendLocked(body []byte) { o.queueLocked(message{body: body}) }

func (o *outbox) queueLocked(m message) {
	if o.err != nil || o.sealed {
		return
	}
	o.control = append(o.control, m)
	if m.waited {
		return // Its bytes were counted when they were reserved.
	}
	o.bytes += len(m.body)
	o.hurriedLocked(len(m.body))
}

// backlog returns the number of lanes that have something to send, including those that may not send.
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

// openedLocked records an open lane.
func (o *outbox) openedLocked(l *lane) {
	if o.lanes == nil {
		o.lanes = map[int64]*lane{}
	}
	o.lanes[l.handle] = l
}

// laneOf returns the lane of a job, which may be forgotten by now; nil: there is none.
func (o *outbox) laneOf(handle int64) *lane {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lanes[handle]
}

// othersThan returns the jobs with open lanes that are not among these.
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

// enqueueLocked gives a lane a turn. The caller must call flushSoon afterwards.
func (o *outbox) enqueueLocked(l *lane) {
	if !l.queued && o.err == nil && !o.sealed {
		l.queued = true
		o.ready = append(o.ready, l)
	}
}

// leave keeps lanes from being made and opened for a client that has left.
func (o *outbox) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone = true
}

// left reports whether the client has left its session.
func (o *outbox) left() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gone
}

// sendLast queues a message after which nothing is sent.
func (o *outbox) sendLast(body []byte) {
	o.mu.Lock()
	o.queueLocked(message{body: body})
	o.sealed, o.ready = true, nil
	o.mu.Unlock()
	o.flushSoon()
}

// abandon releases all that waits for the client, after the last flush.
func (o *outbox) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lanes {
		l.silenceLocked()
	}
	o.breakLocked(errClientGone)
}

func (o *outbox) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// breakLocked gives up the connection.
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

// begin makes run the writer, if there is something to write and there is no other writer.
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

// pendingLocked reports whether there is anything to send. Until the client has sent its first byte nothing can be
// sent.
func (o *outbox) pendingLocked() bool {
	return (len(o.control) > 0 || len(o.ready) > 0) && o.framing() != FramingUnknown
}

// refill frames the next messages. If there are none, it returns false, and the caller is no longer the writer:
// messages that are queued from then on need a new one.
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
	// pieceBytes is the size of one write if the client does not take more at once. So a client that reads slowly is
	// seen to read: each piece counts as progress.
	pieceBytes = 4 << 10
	// ownPieceBytes is the same for a pipe in this process: each write costs a switch of goroutines, and the reader is
	// a client that takes all there is.
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

// writeSome writes as much as the client takes at once, or waits until it has taken a piece.
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

// gather frames the next messages: none, or about enough bytes.
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

// enough returns how many bytes to collect.
func (o *outbox) enough() int {
	switch {
	case o.direct.on:
		return directBytes
	case o.beside.isSmall():
		return smallBatch
	}
	return batchBytes
}

// chunk returns the maximum of raw output in the next notification.
func (o *outbox) chunk() int {
	if o.beside.isSmall() {
		return smallChunk
	}
	return chunkBytes
}

// beside distinguishes floods from messages that are sent beside them. A flood fills each chunk; a job that is alone
// may send as much as it likes.
type beside struct {
	filled bool      // there was as much of the job's output as could be sent
	job    int64     // the job that has sent something last
	last   time.Time // when something else was sent
}

func (b *beside) answered() { b.last = time.Now() }

// sent records a message of n bytes of a job.
func (b *beside) sent(job int64, n int) {
	if n == 0 {
		return // There was nothing to send after all.
	}
	if job != b.job && !b.filled {
		b.last = time.Now()
	}
	b.job = job
}

func (b *beside) isSmall() bool { return time.Since(b.last) < besideTime }

// next removes and returns the next control message, or, if there is none, the next lane.
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

// flush writes everything that is queued, and ends run. It gives up if the client has taken nothing for stuckTime. A
// write that is stuck then remains so until the process ends.
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
			return o.brokenBy() // A write that is stuck may never end.
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

// brokenBy returns the reason why nothing can be written any more; nil: the connection works.
func (o *outbox) brokenBy() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
