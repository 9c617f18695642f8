package jobs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/follow"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/redact"
	"shelld.dev/shelld/jobs/internal/shellmark"
	"shelld.dev/shelld/jobs/internal/spool"
)

// smallRead is the size of the buffer that a stream holds while it is quiet. A stream borrows a buffer of largeRead
// bytes only during a flood of output.
const (
	smallRead = 4 << 10
	largeRead = 64 << 10
)

var readBuffers = sync.Pool{New: func() any { b := make([]byte, largeRead); return &b }}

// A stream is one output of a job.
type stream struct {
	// Immutable:
	name  Stream
	src   source
	spool *spool.Spool
	done  chan struct{} // closed when readLoop has returned

	display *display                     // nil: a pipe
	marks   *shellmark.Reader            // owned by the readLoop; nil: no shell with integration
	marked  interface{ put(placedMark) } // gets the marks

	last atomic.Int64 // when output last came, or when held back output is due; in nanoseconds since base
	came atomic.Int64 // when output last came
	base time.Time

	waitedAt atomic.Int64 // 1 + the end of output when the job was seen to wait for input; 0: the job goes on

	holding atomic.Int32 // whether and how output is held back: holdsNothing and so on
	cleaner cleaner      // owned by the readLoop

	reader  hold          // the reader by the read cursor
	client  hold          // the client to which output is sent
	pinning sync.Mutex    // held while the spool is set to keep the output that the client was not sent
	passing atomic.Bool   // a drain was requested: the readLoop waits for neither reader nor client
	isHeld  atomic.Bool   // the readLoop waits
	room    chan struct{} // pokeReader -> awaitReader; capacity 1

	// Guarded by turns:
	ended    bool // no more output will come
	draining bool // a drain was requested and has not been answered
}

// A placedMark is a mark and its offset in the stream.
type placedMark struct {
	shellmark.Mark
	at int64
}

// A streamEnd is a message from a readLoop to the job's loop about anything other than new output.
type streamEnd struct {
	st    *stream
	ended bool // the stream has ended; else a drain found no more output
}

// note must be called in a turn.
func (e streamEnd) note() {
	e.st.draining = false
	e.st.ended = e.st.ended || e.ended
}

// An outputLog records when output was stored.
type outputLog interface {
	now() time.Duration
	output(st *stream, at time.Duration, n int)
}

// outputs holds the streams of a job and the goroutines that read them.
type outputs struct {
	j *base

	streams []*stream
	grew    chan struct{}  // readLoops -> run: output was stored; capacity 1
	ends    chan streamEnd // readLoops -> run
	loops   sync.WaitGroup // all goroutines of the job that Close waits for
	lifted  atomic.Bool    // the job does not wait for readers (lift)
	budget  budget         // the job's limit of output
	tape    outputLog      // records the output

	follower atomic.Pointer[follow.Follower] // searches the output for patterns; nil until the first pattern
	unread   map[Stream]int64                // up to where a client has been given the output; guarded by turns
}

// readLoop owns the blocking read of one stream. It stores new output and then announces it to the client's side, to
// the matcher and to the job's loop. It is the only appender of the spool. Before it stores output, no other code can
// see the output, so secret values are removed here (redaction.go). To do that it holds some output back. It stores
// held output when more has come, when none has come for a while, and at the end.
//
// readLoop does not hand its bytes to the job's loop for storing, because output must go on when that loop is busy or
// stuck.
func (o *outputs) readLoop(st *stream) {
	defer o.loops.Done()
	defer close(st.done)
	defer func() { st.cleaner = cleaner{} }() // A closed job that is only remembered keeps no secrets.
	small := make([]byte, smallRead)
	buf, large := small, (*[]byte)(nil)
	for {
		room := o.awaitReader(st)
		n, err := st.src.Read(buf[:min(int64(len(buf)), room)])
		if n > 0 {
			o.storeCome(st, buf[:n])
		}
		switch {
		case n == len(buf) && large == nil:
			large = readBuffers.Get().(*[]byte)
			buf = *large
		case n < smallRead && large != nil:
			readBuffers.Put(large)
			buf, large = small, nil
		}
		if err != nil && !o.noteNothing(st, err) {
			return
		}
	}
}

// storeCome stores new output without the shell's marks, which it leaves for a turn.
func (o *outputs) storeCome(st *stream, p []byte) {
	if st.marks == nil {
		o.store(st, st.redact(o.j.redaction.set.Load(), p))
		return
	}
	out, marks := st.marks.Read(p)
	from, over, n := 0, o.budget.isOver(), 0
	if !st.cleaner.due.IsZero() {
		st.noteHeld() // The new output may release what is held: then the stream is quiet from now on.
	}
	for _, m := range marks {
		n += o.keep(st, st.redact(o.j.redaction.set.Load(), out[from:m.At]))
		n += o.keep(st, st.letGo(true)) // A secret does not continue after a mark, which only the shell writes.
		from = m.At
		st.marked.put(placedMark{m, st.spool.End()})
	}
	n += o.keep(st, st.redact(o.j.redaction.set.Load(), out[from:]))
	st.noteHeld()
	o.noteStored(st, n, over)
	if len(marks) > 0 {
		o.j.turns.attend()
	}
}

// store stores new output.
func (o *outputs) store(st *stream, p []byte) {
	over := o.budget.isOver()
	o.keep(st, p)
	o.noteStored(st, len(p), over)
}

// keep stores output and returns its length. More calls may follow before noteStored.
func (o *outputs) keep(st *stream, p []byte) int {
	// The clock first: code that sees the bytes must not take the stream for quiet.
	now := time.Since(st.base)
	st.last.Store(int64(max(now, st.cleaner.due.Sub(st.base))))
	st.came.Store(int64(now))
	at := o.tape.now()
	kept := p[:o.budget.take(len(p))]
	st.display.read(kept)
	st.spool.Append(kept)
	o.tape.output(st, at, len(kept))
	st.display.stored()
	return len(p)
}

// noteStored announces that the last output read is stored. over says whether the job had exceeded its output limit
// before.
func (o *outputs) noteStored(st *stream, n int, over bool) {
	st.src.Stored() // last: from here on it may be reported that this was all
	if !over {
		o.noteGrowth(n)
	}
}

// noteNothing handles a read without output. It reports whether to keep reading.
func (o *outputs) noteNothing(st *stream, err error) bool {
	paused := errors.Is(err, proc.ErrPaused)
	if !errors.Is(err, os.ErrClosed) { // else nothing more may be stored
		o.flushMarks(st, !paused)
		if p := st.letGo(!paused); len(p) > 0 {
			o.store(st, p)
		}
	}
	return paused || o.noteEnd(st, err)
}

// flushMarks stores output that might have become a shell's mark but did not.
func (o *outputs) flushMarks(st *stream, end bool) {
	if st.marks == nil {
		return
	}
	p := st.marks.Flush()
	if end {
		p = append(slices.Clone(p), st.marks.Close()...)
	}
	if len(p) > 0 {
		o.store(st, st.redact(o.j.redaction.set.Load(), p))
	}
	st.noteHeld()
}

func (o *outputs) noteGrowth(n int) {
	few := n <= fewBytes
	o.j.sink.Output()
	if few {
		o.j.sink.Flush() // now: the client wakes up while the rest is done
	} else {
		o.j.sink.Flood()
	}
	if f := o.follower.Load(); f != nil {
		f.OutputCame(few)
	}
	if few {
		o.j.turns.attend()
		return
	}
	select {
	case o.grew <- struct{}{}:
	default: // the loop has a notification that it has not handled yet
	}
}

// fewBytes is the largest amount of output that is not a flood. After such a read, the next read can wait until a turn
// is over.
const fewBytes = 2 << 10

// noteEnd notifies the loop that a drain is answered or that the stream has ended. It reports whether to keep reading.
func (o *outputs) noteEnd(st *stream, err error) bool {
	drained := errors.Is(err, proc.ErrDrained)
	st.passing.Store(false)
	if !drained && !errors.Is(err, io.EOF) {
		o.j.log.Debug("read ended", "job", o.j.id, "stream", st.name, "error", err)
	}
	end := streamEnd{st, !drained}
	if o.j.turns.here(end.note) {
		return drained
	}
	select {
	case o.ends <- end:
	case <-o.j.done:
		return false
	}
	return drained
}

func (o *outputs) streamList() (all []Stream) {
	for _, st := range o.streams {
		all = append(all, st.name)
	}
	return all
}

func (o *outputs) streamNames() string { return streamNames(o.streamList()) }

// unreadable returns the error for stored output that cannot be read at an offset, with advice.
func (o *outputs) unreadable(off int64, err error, advice string) *Error {
	if isResource(err) {
		return resourceError("a read of stored output", err)
	}
	e := storeError(err, o.j.folder.Path())
	e.Message = fmt.Sprintf("stored output of job %d at offset %d cannot be read (%s: %s); %s", o.j.id, off, e.Path, e.Errno, advice)
	return e
}

// A budget is a job's limit of output. The job's readLoops take from it.
type budget struct {
	max  int64 // 0: no limit
	used atomic.Int64
}

// take returns how many of n bytes may be kept. Those are the first of them.
func (b *budget) take(n int) int {
	if b.max == 0 {
		return n
	}
	over := b.used.Add(int64(n)) - b.max
	return n - int(min(max(over, 0), int64(n)))
}

func (b *budget) isOver() bool { return b.max > 0 && b.used.Load() > b.max }

func (o *outputs) stream(name Stream) *stream {
	for _, st := range o.streams {
		if st.name == name {
			return st
		}
	}
	return nil
}

// streamInfo returns, for each stream, the ranges that kept returns for its spool.
func (o *outputs) streamInfo(kept func(*spool.Spool) []Range) (all []StreamInfo) {
	for _, st := range o.streams {
		all = append(all, StreamInfo{Name: st.name, NextOffset: st.spool.End(), Kept: kept(st.spool)})
	}
	return all
}

// noStream returns the error for a stream that the job does not have.
func (o *outputs) noStream(pointer string, name Stream) *Error {
	file := map[Stream]string{Stdout: o.j.spec.StdoutFile, Stderr: o.j.spec.StderrFile}[name]
	if file == "" {
		return Invalid(pointer, "this job has no stream %q; it has %s", name, o.streamNames())
	}
	return Invalid(pointer, "this job has no stream %q: it goes to the file %s, read that; it has %s", name, file, o.streamNames())
}

// The program's writes can be made to wait for a consumer of its output, as writes do on a pipe without a reader: no
// more than a window of a stream is read from the kernel ahead of the consumer, and nothing of the stream is ever
// dropped. Two consumers may ask for this: a reader by the read cursor (Spec.Window, for the whole life of a job), and
// a client to which output is sent (HoldTo). A drain may pass the hold: even a stuck reader must get the reports that
// the leader has ended and that the job is over, and a drain reads no more than what the kernel held. Every operation
// that ends the job lifts the hold, since a kill must not depend on a reader. A kill that has left processes alive
// restores the hold.

// A hold is a consumer that the program waits for.
type hold struct {
	window atomic.Int64 // how far output may be ahead of the consumer; 0 = do not wait for it
	taken  atomic.Int64 // the offset up to which the consumer has the output
}

// room returns how many more bytes may be read. It returns noHold if there is no limit.
func (h *hold) room(end int64) int64 {
	w := h.window.Load()
	if w == 0 {
		return noHold
	}
	return max(h.taken.Load()+w-end, 0)
}

const noHold = int64(1) << 62

// awaitReader returns how many bytes of a stream may be read next. It blocks the readLoop, which owns nothing that
// other goroutines wait for.
func (o *outputs) awaitReader(st *stream) (room int64) {
	for {
		end := st.spool.End()
		room = min(st.reader.room(end), st.client.room(end))
		if room > 0 || st.passing.Load() || o.lifted.Load() {
			break
		}
		st.isHeld.Store(true)
		select {
		case <-st.room:
		case <-o.j.done:
			return noHold
		}
	}
	st.isHeld.Store(false)
	if room == 0 {
		return noHold
	}
	return room
}

// take records the offset up to which a stream was read by the cursor.
func (s *stream) take(off int64) {
	s.reader.taken.Store(off)
	s.pokeReader()
}

// pin makes the spool keep the output that the client has not been sent, as of now.
func (o *outputs) pin(st *stream) {
	st.pinning.Lock() // the last caller sees the changes of the others
	defer st.pinning.Unlock()
	if st.client.window.Load() > 0 && !o.lifted.Load() {
		st.spool.Pin(st.client.taken.Load())
	} else {
		st.spool.Unpin()
	}
}

// pass lets a drain read the output that the kernel holds. The drain's answer ends this.
func (s *stream) pass() {
	s.passing.Store(true)
	s.pokeReader()
}

func (s *stream) pokeReader() {
	select {
	case s.room <- struct{}{}:
	default: // it was poked and has not handled that yet
	}
}

// lift lets the job write without a reader. It is called in a turn, like holdAgain.
func (o *outputs) lift() {
	if o.lifted.Swap(true) {
		return
	}
	for _, st := range o.streams {
		o.pin(st)
		st.pokeReader()
	}
}

// holdAgain restores the hold after a kill that the job has survived.
func (o *outputs) holdAgain() {
	if o.j.closing || !o.lifted.Swap(false) {
		return
	}
	for _, st := range o.streams {
		o.pin(st)
	}
}

// pauseTime is how long a few bytes that may be the beginning of a secret are held back (protocol section 8).
const pauseTime = 50 * time.Millisecond

// loadTime is how long the echo of a command we injected is held back. That ends as soon as the command runs: loadTime
// only bounds it for a command that never does.
const loadTime = 2 * time.Second

// A cleaner removes secret values from a stream. It is owned by the readLoop.
type cleaner struct {
	redactor *redact.Redactor // nil: no value was secret yet
	due      time.Time        // when held output that a pause releases is passed on; zero: there is none
}

// The values of stream.holding: which output of the stream is held back.
const (
	holdsNothing int32 = iota
	holdsSecret        // output that may be a secret, until that is decided
	holdsShortly       // output that will be passed on soon, and perhaps also a secret
	holdsLine          // the echo of a command we injected, until the command runs
)

// redact takes output and returns the output that may be stored now.
func (st *stream) redact(secrets *redact.Set, p []byte) []byte {
	c := &st.cleaner
	switch {
	case c.redactor != nil && secrets != nil:
		c.redactor.Use(secrets)
	case c.redactor != nil: // all secrets are forgotten
		c.redactor.Use(noSecrets)
	case secrets == nil:
		return p
	default:
		c.redactor = redact.NewRedactor(secrets)
	}
	return st.held(c.redactor.Write(p))
}

var noSecrets = redact.New(nil)

// held notes whether output is held back, and for how long, and returns passed. It schedules the readLoop's wakeup.
func (st *stream) held(passed []byte) []byte {
	c := &st.cleaner
	all, shortly := c.redactor.Held()
	is := holdsNothing
	switch {
	case shortly > 0:
		is = holdsShortly
	case all > 0:
		is = holdsSecret
	}
	st.holding.Store(is)
	pause := time.Duration(0)
	if shortly > 0 {
		pause = pauseTime
	}
	st.wakeIn(pause)
	return passed
}

// holdsShortly reports whether the redactor holds back output that will be passed on soon.
func (c *cleaner) holdsShortly() bool {
	if c.redactor == nil {
		return false
	}
	_, shortly := c.redactor.Held()
	return shortly > 0
}

// wakeIn schedules a wakeup of the readLoop after a pause that releases held output. 0 means that there is no such
// output, and cancels the wakeup.
func (st *stream) wakeIn(pause time.Duration) {
	c := &st.cleaner
	due := time.Time{}
	if pause > 0 {
		due = time.Now().Add(pause)
	}
	if due != c.due {
		c.due = due
		st.src.Wake(due)
	}
}

// noteHeld notes the possible beginning of a shell's mark, which is held back like the possible beginning of a secret.
func (st *stream) noteHeld() {
	if st.marks.Held() > 0 {
		is, pause := holdsShortly, pauseTime
		if st.marks.Loading() {
			pause = loadTime
			if !st.cleaner.holdsShortly() {
				is = holdsLine
			}
		}
		st.holding.Store(is)
		st.wakeIn(pause)
	} else if st.cleaner.redactor == nil && st.holding.Load() != holdsNothing {
		st.holding.Store(holdsNothing)
		st.wakeIn(0)
	}
}

// letGo returns output that was held back: the part that a pause releases, or all of it at an end.
func (st *stream) letGo(end bool) []byte {
	c := &st.cleaner
	switch {
	case c.redactor == nil || st.holding.Load() == holdsNothing:
		return nil
	case end:
		return st.held(c.redactor.Flush())
	}
	return st.held(c.redactor.Pause())
}
