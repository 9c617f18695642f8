package rpc

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// The limits of the events that are queued for a client that does not read. They hold even if matches and ends of
// commands never stop: one match of each watch, and the end of one command of a shell, are always queued. More are
// queued only up to so many for one watch or shell, and so many bytes in all. The rest are counted, and the count is
// sent with the last one.
const (
	watchMatches = 64
	shellEnds    = 1000
	thinnedBytes = 4 << 20
)

// A lane sends the events of one job, in order, and its output, by cursor, to one connection.
type lane struct {
	// Immutable:
	out       *outbox
	feed      *feed
	requestID json.RawMessage // of the start; nil: another connection has started the job

	// Guarded by out.mu:
	queued  bool // in out.ready
	full    bool // there is output, and no room for it
	open    bool // started was sent, or would have been if the client had wanted it
	parked  bool // not open, but may be opened: events are queued
	queue   []laneEvent
	turn    bool               // the first event in queue has its turn
	matches map[int]int        // in queue, by watch; ofShell: ends of commands
	bytes   int                // of those in queue
	held    map[int]*laneEvent // the last one that was not queued, by the same keys

	// The same, for the subscription (subscribe.go):
	want       hearing    // the subscription as last requested
	answering  bool       // the client answers the queries of programs
	changed    bool       // want differs from the hearing that run uses
	unanswered int        // requests that changed it and were not answered: nothing is sent
	place      []cursor   // not nil: the start of the output, for run to take
	placed     bool       // output has a position from which it continues
	begin      *jobs.Info // not nil: the content of started, for run to take
	exited     *laneEvent // not nil: it has happened
	closed     *laneEvent // not nil: it has happened
	ask        *ask       // the question to the client for the job; nil: none is pending
	exitedSent bool
	closedSent bool
	sent       func() // not nil: releases the job's files, which are held while output is to be sent
	flows      []flow // of the cursors

	// Owned by the outbox's run once the lane is open:
	hearing
	startN  int64 // the number of job/started
	job     *jobs.Job
	handle  int64
	cursors []cursor
	seq     int64
	exitAt  map[jobs.Stream]int64 // nil until exited has been handled
	whole   upTo                  // of the output that was sent without queries
	shown   int64                 // the maximum offset up to which the terminal's output was sent
}

// A laneEvent is an event in the queue.
type laneEvent struct {
	jobs.Event
	n          int64 // its number among the events of the job; 0: they have none
	suppressed int64 // number of earlier events of its kind that are not sent
	ask        *ask  // not nil: the event is this question to the client
	again      bool  // it is sent again, to a client that comes back, which must miss none: their number is not limited
}

// ofShell is the key for the ends of commands. Matches have the ID of their watch, which is never 0.
const ofShell = 0

// thinned reports whether the number of such events is limited, and the key under which they are counted.
func (e *laneEvent) thinned() (id int, ok bool) {
	switch {
	case e.again:
		return 0, false
	case e.Matched != nil:
		return e.Matched.WatchID, true
	case e.Command != nil:
		return ofShell, true
	}
	return 0, false
}

// size returns roughly the memory, in bytes, of the texts of an event that others have chosen.
func (e *laneEvent) size() int {
	switch {
	case e.Command != nil:
		return len(e.Command.Text) + len(e.Command.Cwd)
	case e.Matched == nil:
		return 0
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

// A cursor is the position up to which a stream's output was sent.
type cursor struct {
	stream  jobs.Stream
	off     int64
	restart bool  // the next output is marked as not continuing what was sent
	room    int64 // how much may be sent in this step
}

func newLane(out *outbox, requestID json.RawMessage, events []schema.EventName, enc schema.Encoding) *lane {
	h := newHearing(events, enc)
	return &lane{out: out, requestID: requestID, want: h, hearing: h, matches: map[int]int{}, held: map[int]*laneEvent{}}
}

// start opens the lane of a job that has started. The event is sent as a control message, so that it arrives before the
// answer to the request that started the job. n is its number.
func (l *lane) start(j *jobs.Job, info jobs.Info, n int64) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	l.startN = n
	l.openLocked(j, info, nil)
}

// openFromLocked opens the lane of a job that has run without a listener. Its output starts where an answer has ended.
// It must be called together with that answer: once all answers are sent, the server may end, and later events would be
// lost.
func (l *lane) openFromLocked(j *jobs.Job, info jobs.Info, events []schema.EventName, from map[jobs.Stream]jobs.Range) {
	if !l.parked {
		return // The client has subscribed or unsubscribed itself.
	}
	l.want = newHearing(events, l.encoding)
	l.openLocked(j, info, from)
	// Matches in the output that the answer covers are dropped.
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
	if l.out.gone {
		l.parked = false
		return
	}
	if len(l.events) == 0 {
		return // There is no listener: the job keeps its output and events.
	}
	for _, s := range info.Streams {
		l.cursors = append(l.cursors, cursor{stream: s.Name, off: from[s.Name].To})
	}
	l.flows = flowsOf(l.cursors)
	l.open, l.parked, l.placed = true, false, l.events[schema.EventNameOutput]
	l.out.openedLocked(l)
	l.holdLocked()
	if l.whenSlow == schema.WhenSlowBlock {
		l.holdProgramLocked(info) // No output of it was read yet.
	}
	l.answering = l.answers(info)
	l.tellsLocked()
	if l.events[schema.EventNameStarted] && l.requestID != nil {
		l.seq++
		l.out.sendLocked(l.started(info))
	}
}

// started returns the event job/started with the number l.seq.
func (l *lane) started(info jobs.Info) []byte {
	return l.out.bounded("job/started", schema.JobStartedParams{
		Handle: l.handle, Seq: l.seq, N: optional(l.startN), RequestID: l.requestID, Job: jobInfo(info),
	})
}

// Output announces that there is more to send.
func (l *lane) Output() {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if l.open {
		l.out.enqueueLocked(l)
	}
}

// Flood makes run send the available output in large messages.
func (l *lane) Flood() { l.out.poke() }

// Flush sends the available output.
func (l *lane) Flush() { l.out.flushSoon() }

// secret asks the client for a password, or withdraws the question.
func (l *lane) secret(e jobs.Event) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	l.secretLocked(e)
}

// secretOnce asks the client, unless it was asked already.
func (l *lane) secretOnce(e jobs.Event) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if l.ask == nil {
		l.secretLocked(e)
	}
}

// event queues an event after the ones before it.
func (l *lane) event(le laneEvent) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	l.remember(&le)
	if l.open || l.parked {
		l.queueLocked(le)
	}
}

func (l *lane) queueLocked(le laneEvent) {
	switch e := le.Event; {
	case l.merged(le):
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
			l.release(id) // Nothing of the job comes after these.
		}
	}
	l.queue = append(l.queue, le)
	if l.open {
		l.out.enqueueLocked(l)
	}
}

// admits reports whether an event whose number is limited is to be queued. It counts the event in any case.
func (l *lane) admits(e *laneEvent) bool {
	most := shellEnds
	if e.Matched != nil {
		e.suppressed, most = e.Matched.Suppressed, watchMatches
	}
	id, ok := e.thinned()
	if !ok {
		return true
	}
	before := l.held[id]
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

// release queues the held event of a watch, or of the shell.
func (l *lane) release(id int) {
	e := l.held[id]
	delete(l.held, id)
	l.matches[id]++
	l.bytes += e.size()
	l.queue = append(l.queue, *e)
}

// dequeued subtracts a removed event from the counts.
func (l *lane) dequeued(e *laneEvent) {
	if id, ok := e.thinned(); ok {
		l.matches[id]--
		l.bytes -= e.size()
	}
}

// unpark drops the queue of a job whose lane will not be opened.
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

// step writes the lane's next message: output, up to the offset that the next event waits for, or that event. The lane
// takes another turn while there is more.
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
			more = true // run will send it.
		case s == sendNothing && event != nil:
			batch = l.stepEvent(batch, framing, event)
			more = true
		default:
			more = s == sendOutput // If the client has to acknowledge first, the acknowledgement brings the next turn.
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

// sending says whether there is output to send.
type sending int

const (
	sendNothing sending = iota
	sendOutput
	sendLater // there is some, and no room for it
)

// stepOutput writes a chunk of the first stream that has one. Streams take turns, as lanes do. While an event waits,
// only the output before it is sent.
func (l *lane) stepOutput(batch []byte, framing Framing, event *laneEvent) ([]byte, piece, sending) {
	result := sendNothing
	for i, c := range l.cursors {
		limit := noLimit
		if event != nil {
			limit = event.After[c.stream] // 0 if the event is about another stream
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

// noLimit means that no event waits for the output.
const noLimit = int64(math.MaxInt64)

// chunk returns the output at a cursor and below limit, if any can be sent. Bytes that may be the start of a character
// are held back until the rest is there, or an event waits for them.
func (l *lane) chunk(c cursor, limit int64) (outputEvent, sending) {
	e := outputEvent{Handle: l.handle, Stream: string(c.stream), Base64: l.encoding == schema.EncodingBase64, Restart: c.restart}
	end := l.job.End(c.stream) // read before the output, so that bytes that arrive in between are not missed
	if c.off >= limit || !l.events[schema.EventNameOutput] {
		return e, sendNothing
	}
	if c.room == 0 {
		if c.off < end {
			return e, sendLater
		}
		return e, sendNothing // Output that arrives now belongs to another turn.
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
		return e, sendLater // Otherwise a client that takes a byte at a time would get a gap with each.
	}
	data := l.out.raw[:n]
	if from > c.off {
		skip := lineStart(data)
		data, at = data[skip:], at+int64(skip)
	}
	if exit := l.exitAt[c.stream]; at < exit {
		limit = min(limit, exit) // It is sent a second time: late output is marked as late again.
	}
	strips := c.stream == jobs.PTY && l.strips(at)
	if strips && l.queries == schema.QueriesClient {
		limit = min(limit, l.settled)
	}
	e.Offset = min(at, limit)
	if e.Offset > c.off {
		e.GapFrom, e.GapTo = c.off, e.Offset
	}
	may := min(limit-e.Offset, c.room) // 0 if the message only reports a gap
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
			return e, sendLater // A character is not split at the end of the window.
		}
	}
	if strips {
		return l.stripped(e, c, limit, end)
	}
	return e, sendOutput
}

// read reads as much output as the writer may read now, at most most bytes. If it may not read the available output, it
// records that in the outbox and returns false.
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

// passLocked drops events from the front of the queue while the client does not want them: output is not cut for them.
// It keeps the ends of the leader and of the job, which need more work.
func (l *lane) passLocked() {
	for len(l.queue) > 0 && l.queue[0].ask == nil && !l.events[eventName(&l.queue[0].Event)] && l.queue[0].Exited == nil && l.queue[0].Closed == nil {
		l.shiftLocked()
	}
}

// shiftLocked removes the first event from the queue.
func (l *lane) shiftLocked() {
	e := l.queue[0]
	l.queue[0] = laneEvent{}
	l.queue, l.turn = l.queue[1:], false
	l.dequeued(&e)
	if id, ok := e.thinned(); ok && l.matches[id] == 0 && l.held[id] != nil {
		l.release(id) // The client reads again: this was the last one so far.
	}
}

// stepEvent removes the first event, whose output has been sent, from the queue, and writes it if the client wants it.
func (l *lane) stepEvent(batch []byte, framing Framing, e *laneEvent) []byte {
	l.out.mu.Lock()
	if l.changed {
		l.out.mu.Unlock()
		return batch // The client has just changed its subscription.
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
		return batch // It was withdrawn.
	}
	if e.Exited != nil {
		l.exitAt = e.After
	}
	name, method, params := eventParams(e, l.handle, l.seq+1)
	if !l.events[name] {
		return batch
	}
	l.seq++
	return frame(batch, framing, l.out.bounded(method, params))
}
