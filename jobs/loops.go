package jobs

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/shellmark"
	"shelld/jobs/internal/spool"
)

// smallRead is the buffer that a stream holds while nothing comes; only a flood
// borrows a largeRead one.
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

	display *display          // nil: a pipe
	marks   *shellmark.Reader // owned by the readLoop; nil: no shell with integration

	last atomic.Int64 // when output last came, or is to come that is held back; in nanoseconds since base
	came atomic.Int64 // when output last came
	base time.Time

	waitedAt atomic.Int64 // one more than where output ended when the job was seen to wait; 0: it goes on

	holding atomic.Int32 // whether output is held back, and how: holdsNothing and so on
	cleaner cleaner      // owned by the readLoop

	reader  hold          // who reads by the cursor
	client  hold          // who is sent the output
	pinning sync.Mutex    // held to have the spool keep what the client was not sent
	passing atomic.Bool   // a drain was asked for: the readLoop waits for neither
	isHeld  atomic.Bool   // the readLoop waits
	room    chan struct{} // pokeReader -> awaitReader; capacity 1

	// Owned by the job's loop:
	ended    bool // nothing will ever come
	draining bool // a drain was asked for and has not been answered
}

// A streamEnd is what a readLoop tells the job's loop beside growth.
type streamEnd struct {
	st    *stream
	ended bool // for good; else a drain found nothing more
}

// outputs has the streams of a job, and what reads them.
type outputs struct {
	j *Job

	streams []*stream
	grew    chan struct{}  // readLoops -> run: output was stored; capacity 1
	ends    chan streamEnd // readLoops -> run
	loops   sync.WaitGroup // readLoops and writeLoop
	lifted  atomic.Bool    // the job waits for no reader (hold.go)
}

// readLoop owns the blocking read of one stream. It stores what comes and then
// says so: to the client's side, to the matcher, to the job's loop. It is the
// spool's one appender, and the place before which output is not yet anybody's:
// what must not be seen (secret values) is taken out here (redaction.go). What is held
// back for that is stored when more has come, when none has for a while, and when there
// is no more.
//
// It does not hand its bytes to the job's loop, which would store them: output
// must go on when that loop is busy or stuck.
func (o *outputs) readLoop(st *stream) {
	defer o.loops.Done()
	defer close(st.done)
	defer func() { st.cleaner = cleaner{} }() // A job that is only remembered knows no secrets.
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

// storeCome stores what came, without the marks of a shell, which are left for a turn.
func (o *outputs) storeCome(st *stream, p []byte) {
	if st.marks == nil {
		o.store(st, st.redact(o.j.redaction.set.Load(), p))
		return
	}
	out, marks := st.marks.Read(p)
	from, over, n := 0, o.j.limits.budget.isOver(), 0
	if !st.cleaner.due.IsZero() {
		st.noteHeld() // What has come may have set it free: then the stream is quiet from now on.
	}
	for _, m := range marks {
		n += o.keep(st, st.redact(o.j.redaction.set.Load(), out[from:m.At]))
		n += o.keep(st, st.letGo(true)) // A secret does not go on behind what only the shell writes.
		from = m.At
		o.j.shell.watch.put(placedMark{m, st.spool.End()})
	}
	n += o.keep(st, st.redact(o.j.redaction.set.Load(), out[from:]))
	st.noteHeld()
	o.noteStored(st, n, over)
	if len(marks) > 0 {
		o.j.actor.attend()
	}
}

// store stores output that came.
func (o *outputs) store(st *stream, p []byte) {
	over := o.j.limits.budget.isOver()
	o.keep(st, p)
	o.noteStored(st, len(p), over)
}

// keep puts output where it is kept, and returns its length. More may follow before noteStored.
func (o *outputs) keep(st *stream, p []byte) int {
	// The clock first: whoever sees the bytes must not take the stream for quiet.
	now := time.Since(st.base)
	st.last.Store(int64(max(now, st.cleaner.due.Sub(st.base))))
	st.came.Store(int64(now))
	at := o.j.files.recording.now()
	kept := p[:o.j.limits.budget.take(len(p))]
	st.display.read(kept)
	st.spool.Append(kept)
	o.j.files.recording.output(st, at, len(kept))
	st.display.stored()
	return len(p)
}

// noteStored tells that what was read last is kept. over says whether the job had written too
// much before.
func (o *outputs) noteStored(st *stream, n int, over bool) {
	st.src.Stored() // last: from here on it may be told that this was all
	if !over {
		o.noteGrowth(n)
	}
}

// noteNothing takes it that a read has brought no output, and says whether reading goes on.
func (o *outputs) noteNothing(st *stream, err error) bool {
	paused := errors.Is(err, proc.ErrPaused)
	if !errors.Is(err, os.ErrClosed) { // else nothing may be stored any more
		o.flushMarks(st, !paused)
		if p := st.letGo(!paused); len(p) > 0 {
			o.store(st, p)
		}
	}
	return paused || o.noteEnd(st, err)
}

// flushMarks stores what might have become a shell's mark, and has not.
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
	if f := o.j.waits.follower.Load(); f != nil {
		f.OutputCame(few)
	}
	if few {
		o.j.actor.attend()
		return
	}
	select {
	case o.grew <- struct{}{}:
	default: // the loop has been told and has not looked yet
	}
}

// fewBytes is what is no flood: reading more can wait until a turn is over.
const fewBytes = 2 << 10

// noteEnd tells the loop of a drain answered or of the stream's end, and reports
// whether reading goes on.
func (o *outputs) noteEnd(st *stream, err error) bool {
	drained := errors.Is(err, proc.ErrDrained)
	st.passing.Store(false)
	if !drained && !errors.Is(err, io.EOF) {
		o.j.log.Debug("read ended", "job", o.j.id, "stream", st.name, "error", err)
	}
	end := streamEnd{st, !drained}
	if o.j.actor.here(func() { o.j.ending.onStreamEnd(end) }) {
		return drained
	}
	select {
	case o.ends <- end:
	case <-o.j.done:
		return false
	}
	return drained
}
