package rpc

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"shelld/jobs"
	"shelld/schema"
)

// What waits for a client to read is bounded, also where patterns match and commands end
// without end: of each watch one match always waits, and of a shell the end of one command;
// more only up to so many of one watch or shell, and so many bytes of all. What is beyond is
// counted, and told with the last one.
const (
	watchMatches = 64
	shellEnds    = 1000
	thinnedBytes = 4 << 20
)

// A lane is what one connection is sent of one job: its events in order, and its
// output by cursor. It is the job's Sink.
type lane struct {
	// Immutable:
	out       *outbox
	requestID json.RawMessage

	// Guarded by out.mu:
	queued  bool // in out.ready
	full    bool // there is output, and no room for it
	open    bool // started was told, or would have been
	parked  bool // not open, but may be: events are kept
	queue   []laneEvent
	turn    bool               // it is that of the first in queue
	matches map[int]int        // in queue, by watch; ofShell: ends of commands
	bytes   int                // of those in queue
	held    map[int]*laneEvent // the last one that was not queued, likewise

	// The same, of the subscription (subscribe.go):
	want       hearing    // what was asked for last
	changed    bool       // it is not what run goes by
	unanswered int        // requests that changed it and were not answered: nothing is sent
	place      []cursor   // not nil: from where output is to be sent, for run to take
	placed     bool       // output has a place from where it goes on
	begin      *jobs.Info // not nil: what started would tell, for run to take
	exited     *laneEvent // not nil: it has happened
	closed     *laneEvent // the same
	ask        *ask       // what the client is asked for the job; nil: nothing, or no more
	exitedSent bool
	closedSent bool
	sent       func() // not nil: lets go of the job's files, which are held for output to be sent
	flows      []flow // of the cursors

	// Owned by the outbox's run once the lane is open:
	hearing
	job     *jobs.Job
	handle  int64
	cursors []cursor
	seq     int64
	exitAt  map[jobs.Stream]int64 // nil until exited was passed
	whole   upTo                  // of what was sent without queries
	shown   int64                 // how far the terminal's output was sent at most
}

// A laneEvent waits for its turn.
type laneEvent struct {
	jobs.Event
	suppressed int64 // those of its kind before it that are not sent
	ask        *ask  // not nil: the event is that the client is asked
}

// ofShell stands for the ends of commands where matches have the number of their watch, which
// is not 0.
const ofShell = 0

// thinned says whether there may be too many of such an event, and which count together.
func (e *laneEvent) thinned() (id int, ok bool) {
	switch {
	case e.Matched != nil:
		return e.Matched.WatchID, true
	case e.Command != nil:
		return ofShell, true
	}
	return 0, false
}

// size is what an event that may be thinned takes in memory, near enough.
func (e *laneEvent) size() int {
	if e.Command != nil {
		return len(e.Command.Text) + len(e.Command.Cwd)
	}
	m := &e.Matched.Match
	n := len(m.Text) + len(m.Line)
	for _, g := range m.Groups {
		if g != nil {
			n += len(*g)
		}
	}
	return n
}

// A cursor is how far a stream's output has been sent.
type cursor struct {
	stream  jobs.Stream
	off     int64
	restart bool  // the next output says that it does not follow from what was sent
	room    int64 // how much may be sent in this step
}

func newLane(out *outbox, requestID json.RawMessage, events []schema.EventName, enc schema.Encoding) *lane {
	h := newHearing(events, enc)
	return &lane{out: out, requestID: requestID, want: h, hearing: h, matches: map[int]int{}, held: map[int]*laneEvent{}}
}

// Started opens the lane. The event goes out as a control message, so that it is
// there before the answer to the request that made the job.
func (l *lane) Started(j *jobs.Job, info jobs.Info) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	l.openLocked(j, info, nil)
}

// openFromLocked opens the lane of a job that ran unheard so far, with its output from
// where an answer has left off. It is to be done with that answer: once nothing is owed
// any more, the server may end, and what is heard then never comes.
func (l *lane) openFromLocked(j *jobs.Job, info jobs.Info, events []schema.EventName, from map[jobs.Stream]jobs.Range) {
	if !l.parked {
		return // the client has said itself what it wants to hear
	}
	l.want = newHearing(events, l.encoding)
	l.openLocked(j, info, from)
	// What the answer covers was told by it.
	told := func(e *laneEvent) bool {
		return e.Matched != nil && e.Matched.Match.End <= from[e.Matched.Stream].To
	}
	l.queue = slices.DeleteFunc(l.queue, func(e laneEvent) bool {
		if told(&e) {
			l.dequeued(&e)
			return true
		}
		return false
	})
	maps.DeleteFunc(l.held, func(_ int, e *laneEvent) bool { return told(e) })
	l.out.enqueueLocked(l)
}

func (l *lane) openLocked(j *jobs.Job, info jobs.Info, from map[jobs.Stream]jobs.Range) {
	l.job, l.handle, l.hearing = j, int64(info.Handle), l.want
	if len(l.events) == 0 {
		return // nobody listens: the job's output and events stay where they are
	}
	for _, s := range info.Streams {
		l.cursors = append(l.cursors, cursor{stream: s.Name, off: from[s.Name].To})
	}
	l.flows = flowsOf(l.cursors)
	l.open, l.parked, l.placed = true, false, l.events[schema.EventNameOutput]
	l.out.openedLocked(l)
	l.holdLocked()
	if l.whenSlow == schema.WhenSlowBlock {
		l.holdProgramLocked(info) // of which nothing was read yet
	}
	l.tellsLocked()
	if l.events[schema.EventNameStarted] {
		l.seq++
		l.out.sendLocked(l.started(info))
	}
}

// started is the event with the number that l.seq has come to.
func (l *lane) started(info jobs.Info) []byte {
	return l.out.bounded("job/started", schema.JobStartedParams{
		Handle: l.handle, Seq: l.seq, RequestID: l.requestID, Job: jobInfo(info),
	})
}

// Output says that there is more to send.
func (l *lane) Output() {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if l.open {
		l.out.enqueueLocked(l)
	}
}

// Flood has run make large messages of what has come.
func (l *lane) Flood() { l.out.poke() }

// Flush sends what has come.
func (l *lane) Flush() { l.out.flushSoon() }

// Event queues an event behind those before it.
func (l *lane) Event(e jobs.Event) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if e.Secret != nil {
		l.secretLocked(e)
		return
	}
	if l.closed != nil {
		return // a watch may still match, and nobody can be told any more
	}
	le := laneEvent{Event: e}
	l.remember(&le)
	if !l.open && !l.parked {
		return
	}
	switch {
	case l.merged(e):
		return
	case e.Command != nil:
		le.Command = briefly(e.Command)
		if !l.admits(&le) {
			return
		}
	case e.Matched != nil:
		if !l.admits(&le) {
			return
		}
	case e.Exited != nil, e.Closed != nil:
		for _, id := range slices.Sorted(maps.Keys(l.held)) {
			l.release(id) // nothing of the job comes after these
		}
	}
	l.queue = append(l.queue, le)
	if l.open {
		l.out.enqueueLocked(l)
	}
}

// admits says whether an event that may be thinned is to be queued, and counts it in any case.
func (l *lane) admits(e *laneEvent) bool {
	id, _ := e.thinned()
	before, most := l.held[id], shellEnds
	if e.Matched != nil {
		e.suppressed, most = e.Matched.Suppressed, watchMatches
	}
	if before != nil {
		e.suppressed += before.suppressed + 1
	}
	if n := l.matches[id]; n >= most || n > 0 && l.bytes >= thinnedBytes {
		l.held[id] = e
		return false
	}
	delete(l.held, id)
	l.matches[id]++
	l.bytes += e.size()
	return true
}

// release queues what was held of a watch, or of the shell.
func (l *lane) release(id int) {
	e := l.held[id]
	delete(l.held, id)
	l.matches[id]++
	l.bytes += e.size()
	l.queue = append(l.queue, *e)
}

// dequeued counts an event out of the queue.
func (l *lane) dequeued(e *laneEvent) {
	if id, ok := e.thinned(); ok {
		l.matches[id]--
		l.bytes -= e.size()
	}
}

// unpark lets go of what was kept for a job that will not be heard.
func (l *lane) unpark() {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if !l.parked {
		return
	}
	l.parked, l.queue, l.bytes = false, nil, 0
	clear(l.matches)
	clear(l.held)
}

// step writes the lane's next message: output, up to what the next event waits for,
// or that event. The lane takes its turn again while there is more.
func (l *lane) step(batch []byte, framing Framing) []byte {
	l.out.mu.Lock()
	if !l.open || l.unanswered > 0 {
		l.out.mu.Unlock()
		return batch
	}
	begin := l.takeLocked()
	l.passLocked()
	var event *laneEvent
	if len(l.queue) > 0 {
		e := l.queue[0]
		event, l.turn = &e, true
	}
	l.out.mu.Unlock()
	more, out, s := begin != nil, piece{}, sendNothing
	if more {
		batch = l.stepStarted(batch, framing, begin)
	} else {
		batch, out, s = l.stepOutput(batch, framing, event)
		switch {
		case l.out.direct.beyond:
			more = true // later
		case s == sendNothing && event != nil:
			batch = l.stepEvent(batch, framing, event)
			more = true
		default:
			more = s == sendOutput // where the client has to acknowledge first, its word brings the next turn
		}
	}
	if more || s == sendLater {
		l.out.mu.Lock()
		l.movedLocked(out)
		if l.full = s == sendLater && l.open; more {
			l.out.enqueueLocked(l)
		}
		l.out.mu.Unlock()
	}
	return batch
}

// sending is what there is to be sent of output.
type sending int

const (
	sendNothing sending = iota
	sendOutput
	sendLater // there is some, and no room for it
)

// stepOutput writes a chunk of the first stream that has one. Streams take turns as
// lanes do. While an event waits, only what it waits for is sent.
func (l *lane) stepOutput(batch []byte, framing Framing, event *laneEvent) ([]byte, piece, sending) {
	result := sendNothing
	for i, c := range l.cursors {
		limit := noLimit
		if event != nil {
			limit = event.After[c.stream] // 0 where it speaks of another stream
		}
		e, s := l.chunk(c, limit)
		if s != sendOutput {
			result = max(result, s)
			continue
		}
		c.off, c.restart = e.Offset+e.bytes(), false
		if c.stream == jobs.PTY {
			l.shown = max(l.shown, c.off)
		}
		l.cursors = append(slices.Delete(l.cursors, i, i+1), c)
		l.seq++
		e.Seq = l.seq
		l.out.encoded = appendOutput(l.out.encoded[:0], &e)
		return frame(batch, framing, l.out.encoded), piece{c.stream, jobs.Range{From: e.GapFrom, To: e.GapTo}, c.off}, sendOutput
	}
	return batch, piece{}, result
}

// noLimit stands for output that no event waits for.
const noLimit = int64(math.MaxInt64)

// chunk is the output at a cursor and below limit, if there is any to be sent. Bytes
// that may be the beginning of a character are held back until the rest is there, or
// an event waits for them.
func (l *lane) chunk(c cursor, limit int64) (outputEvent, sending) {
	e := outputEvent{Handle: l.handle, Stream: string(c.stream), Base64: l.encoding == schema.EncodingBase64, Restart: c.restart}
	end := l.job.End(c.stream) // before the read: what comes between the two is not missed
	if c.off >= limit || !l.events[schema.EventNameOutput] {
		return e, sendNothing
	}
	if c.room == 0 {
		if c.off < end {
			return e, sendLater
		}
		return e, sendNothing // what comes now is another turn's
	}
	from := l.newest(c, end)
	most := l.out.chunk()
	if from > c.off {
		most = chunkBytes // all of the newest, or the next piece would be behind again
	}
	n, at, ok := l.read(c.stream, from, most)
	if !ok || n == 0 && at <= c.off {
		return e, sendNothing
	}
	if at > c.off && at < limit && c.room < min(chunkBytes, l.out.window.Load()/2) {
		return e, sendLater // or a client that takes a byte at a time gets a gap with each
	}
	data := l.out.raw[:n]
	if from > c.off {
		skip := lineStart(data)
		data, at = data[skip:], at+int64(skip)
	}
	if exit := l.exitAt[c.stream]; at < exit {
		limit = min(limit, exit) // sent once more: what was late is late again
	}
	strips := c.stream == jobs.PTY && l.strips(at)
	if strips && l.queries == schema.QueriesClient {
		limit = min(limit, l.settled)
	}
	e.Offset = min(at, limit)
	if e.Offset > c.off {
		e.GapFrom, e.GapTo = c.off, e.Offset
	}
	may := min(limit-e.Offset, c.room) // none where it only tells a gap
	e.Data = data[:min(int64(len(data)), may)]
	e.Late = l.exitAt != nil && e.Offset >= l.exitAt[c.stream]
	if hold := incompleteTail(e.Data); hold > 0 && !e.Base64 {
		last := e.Offset+int64(len(e.Data)) >= end
		switch {
		case hold < len(e.Data):
			e.Data = e.Data[:len(e.Data)-hold]
		case last && limit == noLimit:
			return e, sendNothing
		case int64(len(e.Data)) == c.room:
			return e, sendLater // a character is not split where the window ends
		}
	}
	if strips {
		return l.stripped(e, c, limit, end)
	}
	return e, sendOutput
}

// read reads what the writer may read, most bytes or what there is. Where it may not read
// what there is, it says so to the outbox, and returns false.
func (l *lane) read(name jobs.Stream, off int64, most int) (n int, at int64, ok bool) {
	o := l.out
	if !o.direct.on {
		n, at = l.job.ReadRaw(name, o.raw[:most], off)
		o.beside.filled = n == most
		return n, at, true
	}
	n, at, ok = l.job.ReadNow(name, o.raw[:directBytes], off)
	o.direct.beyond = o.direct.beyond || !ok
	return n, at, ok
}

// passLocked drops the first events while they are none that the client hears: output is
// not cut for them. With the ends of the leader and of the job there is more to do.
func (l *lane) passLocked() {
	for len(l.queue) > 0 && l.queue[0].ask == nil && !l.events[eventName(&l.queue[0].Event)] && l.queue[0].Exited == nil && l.queue[0].Closed == nil {
		l.shiftLocked()
	}
}

// shiftLocked takes the first event out of the queue.
func (l *lane) shiftLocked() {
	e := l.queue[0]
	l.queue[0] = laneEvent{}
	l.queue, l.turn = l.queue[1:], false
	l.dequeued(&e)
	if id, ok := e.thinned(); ok && l.matches[id] == 0 && l.held[id] != nil {
		l.release(id) // the client reads again: this was the last one so far
	}
}

// stepEvent takes the first event, whose output has been sent, and writes it if it
// was asked for.
func (l *lane) stepEvent(batch []byte, framing Framing, e *laneEvent) []byte {
	l.out.mu.Lock()
	if l.changed {
		l.out.mu.Unlock()
		return batch // the client has just asked for something else
	}
	l.exitedSent = l.exitedSent || e.Exited != nil && l.events[schema.EventNameExited]
	l.closedSent = l.closedSent || e.Closed != nil && l.events[schema.EventNameClosed]
	if e.Closed != nil {
		l.letGoLocked()
		delete(l.out.lanes, l.handle)
	}
	var body []byte
	if e.ask != nil {
		body = l.out.askLocked(e.ask)
	}
	l.shiftLocked()
	l.out.mu.Unlock()
	if body != nil {
		return frame(batch, framing, body)
	}
	if e.ask != nil {
		return batch // it was taken back
	}
	if e.Exited != nil {
		l.exitAt = e.After
	}
	name, method, params := eventParams(&e.Event, l.handle, l.seq+1, e.suppressed)
	if !l.events[name] {
		return batch
	}
	l.seq++
	return frame(batch, framing, l.out.bounded(method, params))
}
