package rpc

import (
	"encoding/json"
	"math"
	"slices"

	"shelld/jobs"
	"shelld/schema"
)

// laneMatches bounds the pattern matches that wait for a client to read; beyond it
// they are counted and told with the next one.
const laneMatches = 1024

// A lane is what one connection is sent of one job: its events in order, and its
// output by cursor. It is the job's Sink.
type lane struct {
	// Immutable:
	out       *outbox
	requestID json.RawMessage
	encoding  schema.Encoding

	// Guarded by out.mu:
	queued     bool // in out.ready
	open       bool // started was told, or would have been
	parked     bool // not open, but may be: events are kept
	events     map[schema.EventName]bool
	queue      []jobs.Event
	matches    int           // in queue
	suppressed map[int]int64 // by watch

	// Owned by the outbox's run once the lane is open:
	job     *jobs.Job
	handle  int64
	cursors []cursor
	seq     int64
	exitAt  map[jobs.Stream]int64 // nil until exited was passed
}

// A cursor is how far a stream's output has been sent.
type cursor struct {
	stream jobs.Stream
	off    int64
}

func newLane(out *outbox, requestID json.RawMessage, events []schema.EventName, enc schema.Encoding) *lane {
	l := &lane{out: out, requestID: requestID, encoding: enc, events: map[schema.EventName]bool{}, suppressed: map[int]int64{}}
	for _, e := range events {
		l.events[e] = true
	}
	return l
}

// Started opens the lane. The event goes out as a control message, so that it is
// there before the answer to the request that made the job.
func (l *lane) Started(j *jobs.Job, info jobs.Info) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	l.openLocked(j, info, nil)
}

// openFrom opens the lane of a job that ran unheard so far, with its output from
// where an answer has left off.
func (l *lane) openFrom(j *jobs.Job, info jobs.Info, events []schema.EventName, from map[jobs.Stream]jobs.Range) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	for _, e := range events {
		l.events[e] = true
	}
	l.openLocked(j, info, from)
	// What the answer covers was told by it.
	l.queue = slices.DeleteFunc(l.queue, func(e jobs.Event) bool {
		told := e.Matched != nil && e.Matched.Match.End <= from[e.Matched.Stream].To
		if told {
			l.matches--
		}
		return told
	})
	clear(l.suppressed)
	l.out.enqueueLocked(l)
}

func (l *lane) openLocked(j *jobs.Job, info jobs.Info, from map[jobs.Stream]jobs.Range) {
	l.job, l.handle = j, int64(info.Handle)
	if len(l.events) == 0 {
		return // nobody listens: the job's output and events stay where they are
	}
	for _, s := range info.Streams {
		l.cursors = append(l.cursors, cursor{s.Name, from[s.Name].To})
	}
	l.open, l.parked = true, false
	if l.events[schema.EventNameStarted] {
		l.seq++
		l.out.sendLocked(notification("job/started", schema.JobStartedParams{
			Handle: l.handle, Seq: l.seq, RequestID: l.requestID, Job: jobInfo(info),
		}))
	}
}

// Output says that there may be more to send.
func (l *lane) Output() {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if l.open {
		l.out.enqueueLocked(l)
	}
}

// Event queues an event behind those before it.
func (l *lane) Event(e jobs.Event) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if !l.open && !l.parked {
		return
	}
	if e.Matched != nil {
		if l.matches >= laneMatches {
			l.suppressed[e.Matched.WatchID]++
			return
		}
		l.matches++
	}
	l.queue = append(l.queue, e)
	if l.open {
		l.out.enqueueLocked(l)
	}
}

// step writes the lane's next message: output, up to what the next event waits for,
// or that event. The lane takes its turn again while there is more.
func (l *lane) step(batch []byte, framing Framing) []byte {
	l.out.mu.Lock()
	var event *jobs.Event
	if len(l.queue) > 0 {
		e := l.queue[0]
		event = &e
	}
	l.out.mu.Unlock()
	batch, sent := l.stepOutput(batch, framing, event)
	if !sent && event != nil {
		batch = l.stepEvent(batch, framing, event)
		sent = true
	}
	if sent {
		l.out.mu.Lock()
		l.out.enqueueLocked(l)
		l.out.mu.Unlock()
	}
	return batch
}

// stepOutput writes a chunk of the first stream that has one. Streams take turns as
// lanes do. While an event waits, only what it waits for is sent.
func (l *lane) stepOutput(batch []byte, framing Framing, event *jobs.Event) ([]byte, bool) {
	for i, c := range l.cursors {
		limit := noLimit
		if event != nil {
			limit = event.After[c.stream] // 0 where it speaks of another stream
		}
		e, ok := l.chunk(c, limit)
		if !ok {
			continue
		}
		c.off = e.Offset + int64(len(e.Data))
		l.cursors = append(slices.Delete(l.cursors, i, i+1), c)
		l.seq++
		e.Seq = l.seq
		l.out.encoded = appendOutput(l.out.encoded[:0], &e)
		return frame(batch, framing, l.out.encoded), true
	}
	return batch, false
}

// noLimit stands for output that no event waits for.
const noLimit = int64(math.MaxInt64)

// chunk is the output at a cursor and below limit, if there is any to be sent. Bytes
// that may be the beginning of a character are held back until the rest is there, or
// an event waits for them.
func (l *lane) chunk(c cursor, limit int64) (outputEvent, bool) {
	e := outputEvent{Handle: l.handle, Stream: string(c.stream), Base64: l.encoding == schema.EncodingBase64}
	if c.off >= limit || !l.events[schema.EventNameOutput] {
		return e, false
	}
	n, at := l.job.ReadRaw(c.stream, l.out.raw, c.off)
	if n == 0 {
		return e, false
	}
	e.Offset = min(at, limit)
	if e.Offset > c.off {
		e.GapFrom, e.GapTo = c.off, e.Offset
	}
	e.Data = l.out.raw[:min(int64(n), limit-e.Offset)]
	e.Late = l.exitAt != nil && e.Offset >= l.exitAt[c.stream]
	if hold := incompleteTail(e.Data); hold > 0 && !e.Base64 {
		last := e.Offset+int64(len(e.Data)) == l.job.End(c.stream)
		switch {
		case hold < len(e.Data):
			e.Data = e.Data[:len(e.Data)-hold]
		case last && limit == noLimit:
			return e, false
		}
	}
	return e, true
}

// stepEvent takes the first event, whose output has been sent, and writes it if it
// was asked for.
func (l *lane) stepEvent(batch []byte, framing Framing, e *jobs.Event) []byte {
	l.out.mu.Lock()
	l.queue[0] = jobs.Event{}
	l.queue = l.queue[1:]
	var suppressed int64
	if e.Matched != nil {
		l.matches--
		suppressed = l.suppressed[e.Matched.WatchID]
		delete(l.suppressed, e.Matched.WatchID)
	}
	l.out.mu.Unlock()
	if e.Exited != nil {
		l.exitAt = e.After
	}
	name, method, params := eventParams(e, l.handle, l.seq+1, suppressed)
	if !l.events[name] {
		return batch
	}
	l.seq++
	return frame(batch, framing, notification(method, params))
}
