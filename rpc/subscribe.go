package rpc

import (
	"errors"
	"fmt"
	"slices"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// A hearing is the set of a job's events that a client wants, and how it wants them. Its map is never changed, but
// replaced as a whole.
type hearing struct {
	events   map[schema.EventName]bool
	encoding schema.Encoding
	whenSlow schema.WhenSlow
	queries  schema.Queries // "" is keep

	// If the client answers the terminal queries of programs: the queries in the output before this offset were
	// answered, or sent before, and are left out.
	settled int64
}

func newHearing(events []schema.EventName, enc schema.Encoding) hearing {
	h := hearing{events: map[schema.EventName]bool{}, encoding: enc, whenSlow: schema.WhenSlowSpool}
	for _, e := range events {
		h.events[e] = true
	}
	return h
}

// A change is the change of a hearing by a request. From the moment when it takes effect until its request is answered,
// the lane sends nothing. So everything before the answer follows the old subscription, and everything after it the new
// one.
type change struct {
	ends     bool               // job/unsubscribe
	events   []schema.EventName // nil: unchanged
	encoding *schema.Encoding   // nil: unchanged
	whenSlow *schema.WhenSlow   // nil: unchanged
	queries  *schema.Queries    // nil: unchanged
	stays    *bool              // nil: unchanged; whether the program goes on waiting while the client is away
	after    *int64             // not nil: the events behind this number are sent again
	last     int64              // set by the change: the number of the last event before it
	unheard  hearing            // the defaults, if there was no subscription

	// Guarded by out.mu:
	lane     *lane // sends nothing until this is answered
	answered bool
}

func (s *Server) jobSubscribe(r *request) error {
	var p schema.JobSubscribeParams
	if err := r.decode(&p); err != nil {
		return err
	}
	c, pending, err := s.subscribe(&p)
	if err != nil {
		return err
	}
	r.whenAnswered(c.answer)
	respondNow(r, pending, func(s jobs.State) schema.JobSubscribeResult {
		state := jobState(s)
		return schema.JobSubscribeResult{Job: &state, N: c.number()}
	})
	return nil
}

// subscribe changes a subscription as a request wants it. The change's answer must be called when the request is answered.
func (s *Server) subscribe(p *schema.JobSubscribeParams) (*change, jobs.Pending[jobs.State], error) {
	var none jobs.Pending[jobs.State]
	from, err := origin(p.From, "/from")
	if err != nil {
		return nil, none, err
	}
	c := &change{events: p.Events, encoding: p.Encoding, whenSlow: p.WhenSlow, queries: p.Queries, after: p.After, unheard: newHearing(s.settings.events, s.settings.encoding)}
	if len(s.settings.events) == 0 {
		c.unheard = newHearing(s.attendee.defaultEvents(), s.settings.encoding) // A subscription to nothing is never meant.
	}
	if p.WhenDetached != nil {
		stays := *p.WhenDetached == schema.WhenDetachedHold
		c.stays = &stays
	}
	for what, given := range map[string]bool{"after": p.After != nil, "whenDetached": p.WhenDetached != nil} {
		if !given {
			continue
		}
		if err := s.notShared(what); err != nil {
			return nil, none, err
		}
	}
	if s.attendee.role == schema.SessionRoleViewer && c.whenSlow != nil && *c.whenSlow == schema.WhenSlowBlock {
		c.whenSlow = new(schema.WhenSlowSpool) // An onlooker holds up no program.
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return nil, none, err
	}
	_, pending := s.change(j, from, c)
	return c, pending, nil
}

func (s *Server) jobUnsubscribe(r *request) error {
	var p schema.JobUnsubscribeParams
	if err := r.decode(&p); err != nil {
		return err
	}
	ref, err := jobRef(p.Handle)
	if err != nil {
		return err
	}
	j, unknown := s.mgr.Lookup(ref)
	if unknown != nil {
		l := s.out.laneOf(int64(ref.Handle))
		if l == nil {
			return unknown
		}
		l.silence() // the rest of the output and events of a forgotten job
		r.reply(schema.JobUnsubscribeResult{})
		return nil
	}
	c := &change{ends: true}
	l, pending := s.change(j, jobs.Origin{}, c)
	r.whenAnswered(c.answer)
	r.await(func() (any, error) {
		_, err := wait(r, pending)
		if e, ok := errors.AsType[*jobs.Error](err); ok && e.Code == jobs.CodeJobNotFound {
			l.silence() // The job was forgotten meanwhile.
			err = nil
		}
		return schema.JobUnsubscribeResult{}, err
	})
	return nil
}

// change changes the subscription, in a turn of the job.
func (s *Server) change(j *jobs.Job, from jobs.Origin, c *change) (*lane, jobs.Pending[jobs.State]) {
	f := j.Sink().(*feed)
	l := f.lane(s.out)
	return l, j.Subscribe(from, func(info jobs.Info, at map[jobs.Stream]int64) (bool, error) {
		back, last, err := f.since(c.after)
		if err != nil {
			return f.demands.answered(), err
		}
		c.last = last
		answers, err := l.change(c, info, at, back)
		f.demands.returned(s.attendee.given) // Only now: if the program still has to wait, it does not go on in between.
		return answers, err
	})
}

// number returns the number of the last event before the change; nil: events have none.
func (c *change) number() *int64 {
	return optional(c.last)
}

// answer lets the lane go on. The caller must hold out.mu, and have queued the answer.
func (c *change) answer() {
	c.answered = true
	if l := c.lane; l != nil {
		if l.unanswered--; l.unanswered == 0 && l.open {
			l.out.enqueueLocked(l)
		}
	}
}

// change changes the client's subscription. It is called by the job's loop, like the methods of the Sink. It returns
// whether a client answers the queries of programs from now on. back are the events that are to be sent again.
func (l *lane) change(c *change, info jobs.Info, from map[jobs.Stream]int64, back []laneEvent) (answers bool, err error) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if l.out.gone {
		return l.feed.demands.answered(), wireErrorf(schema.KindShuttingDown, "the client has left the session")
	}
	if l.closedSent && !c.ends && c.after == nil {
		return l.feed.demands.answered(), nothingMore(info)
	}
	if !l.open {
		l.silenceLocked() // Events that were queued for a job/run are dropped.
		l.want = c.unheard
	}
	if c.events != nil {
		l.want.events = newHearing(c.events, "").events
	}
	if c.encoding != nil {
		l.want.encoding = *c.encoding
	}
	if c.whenSlow != nil {
		l.want.whenSlow = *c.whenSlow
	}
	if c.queries != nil {
		l.want.queries = *c.queries
	}
	if c.ends || len(l.want.events) == 0 {
		l.silenceLocked()
	} else {
		if c.after != nil {
			l.sendAgainLocked(back)
		}
		l.hearLocked(info, from)
	}
	if c.stays != nil {
		l.feed.demands.stay(l, *c.stays)
	}
	l.holdProgramLocked(info)
	l.settleLocked(info)
	answers = l.tellsLocked()
	if !c.answered {
		c.lane = l
		l.unanswered++
	}
	return answers, nil
}

// sendAgainLocked queues events that the client may have been sent already.
func (l *lane) sendAgainLocked(back []laneEvent) {
	l.dropQueueLocked()
	l.exitedSent, l.closedSent = l.exited != nil, l.closed != nil
	for _, e := range back {
		l.exitedSent, l.closedSent = l.exitedSent && e.Exited == nil, l.closedSent && e.Closed == nil
		e.again = true
		l.queueLocked(e)
	}
}

// nothingMore returns the error for a subscription after the last event.
func nothingMore(info jobs.Info) error {
	return &jobs.Error{
		Code: jobs.CodeJobExited, Handle: info.Handle, Exit: info.Exit,
		Message: fmt.Sprintf("job %d is closed and has sent job/closed, its last event; read its output with job/read", info.Handle),
	}
}

// silence ends the subscription, and returns how far each stream was sent; nil: output was not.
func (l *lane) silence() (sent map[jobs.Stream]int64) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if l.open && l.want.events[schema.EventNameOutput] {
		sent = map[jobs.Stream]int64{}
		for _, f := range l.flows {
			sent[f.stream] = f.sent
		}
		for _, c := range l.place { // not yet taken by run
			sent[c.stream] = c.off
		}
	}
	l.silenceLocked()
	return sent
}

// silenceLocked ends the subscription: the queue is dropped, and the position in the output is forgotten.
func (l *lane) silenceLocked() {
	l.open, l.parked, l.full = false, false, false
	l.letGoLocked()
	delete(l.out.lanes, l.handle)
	l.place, l.placed, l.begin = nil, false, nil
	l.dropQueueLocked()
}

func (l *lane) dropQueueLocked() {
	l.askNowLocked()
	l.queue, l.bytes, l.turn = nil, 0, false
	clear(l.matches)
	clear(l.held)
}

// hearLocked begins a subscription, or continues it.
func (l *lane) hearLocked(info jobs.Info, from map[jobs.Stream]int64) {
	l.open, l.begin = true, &info
	l.out.openedLocked(l)
	l.holdLocked()
	if from != nil || l.want.events[schema.EventNameOutput] && !l.placed {
		l.place, l.placed = nil, true
		for _, s := range info.Streams {
			c := cursor{stream: s.Name, off: s.NextOffset, restart: true}
			if from != nil {
				c.off = from[s.Name]
			}
			l.place = append(l.place, c)
		}
	}
	// Events that have happened and were not sent are sent now, whatever the client wanted when they happened. Exited
	// comes before everything in the queue: it was at the front when it was skipped.
	if e := l.exited; e != nil && !l.exitedSent && !slices.ContainsFunc(l.queue, func(q laneEvent) bool { return q.Exited != nil }) {
		l.queue = slices.Insert(l.queue, 0, *e)
	}
	if e := l.closed; e != nil && !l.closedSent && !slices.ContainsFunc(l.queue, func(q laneEvent) bool { return q.Closed != nil }) {
		l.queue = append(l.queue, *e)
	}
}

// remember keeps events that stay true, for a client that subscribes later. The caller must hold out.mu.
func (l *lane) remember(e *laneEvent) {
	switch {
	case e.Exited != nil:
		l.exited = e
	case e.Closed != nil:
		l.closed = e
	}
}

// takeLocked updates run's fields to the client's last request, and returns the job if job/started may have to be sent.
func (l *lane) takeLocked() *jobs.Info {
	changed := l.changed
	l.hearing, l.changed = l.want, false
	if l.place != nil {
		l.want.settled = max(l.want.settled, l.shown)
		l.settled = l.want.settled
		l.cursors, l.flows, l.place = l.place, flowsOf(l.place), nil
	}
	if changed && l.whenSlow == schema.WhenSlowBlock {
		l.sentTo(l.cursors)
	}
	l.full = false
	for i := range l.cursors {
		l.cursors[i].room = l.roomLocked(l.cursors[i].stream)
	}
	begin := l.begin
	l.begin = nil
	if changed && l.exitedSent {
		l.exitAt = l.exited.After
	}
	if l.seq > 0 || l.requestID == nil || !l.events[schema.EventNameStarted] {
		return nil // It can only be the first event, if it is wanted at all.
	}
	return begin
}

// stepStarted writes job/started for a job of which nothing was sent so far.
func (l *lane) stepStarted(batch []byte, framing Framing, info *jobs.Info) []byte {
	l.seq++
	return frame(batch, framing, l.started(*info))
}

// holdLocked keeps the job's files from being deleted for their age while their output is to be sent.
func (l *lane) holdLocked() {
	if l.sent == nil && l.job != nil {
		l.sent = l.job.HoldUnsent()
	}
}

func (l *lane) letGoLocked() {
	if l.sent != nil {
		l.sent()
		l.sent = nil
	}
}
