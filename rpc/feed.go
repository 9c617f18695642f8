package rpc

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// A feed passes the events of one job to the lanes of the connections that listen to it. It is the job's Sink. In a
// session that clients can come back to, it also numbers the events and keeps the newest.
type feed struct {
	session *Session
	demands demands // of the lanes
	owner   string  // the client to which the job belongs; guarded by the session's door
	unnamed bool    // that has no id of its own

	all atomic.Pointer[[]*lane] // replaced as a whole under mu

	mu     sync.Mutex  // held for the order of events; out.mu of a lane may be taken under it, and not the other way
	job    *jobs.Job   // nil before the start
	log    *eventLog   // nil: nobody can come back
	exited *laneEvent  // not nil: it has happened
	closed *laneEvent  // not nil: it has happened
	asked  *jobs.Event // not nil: a person has to type a password
}

// newFeed returns the feed of a job that a connection of a session starts.
func newFeed(s *Session, l *lane, owner attendee) *feed {
	f := &feed{session: s, owner: owner.name, unnamed: owner.given == ""}
	f.demands.of = map[*lane]*demand{}
	if s != nil && s.shared {
		f.log = &eventLog{}
	}
	l.feed = f
	f.all.Store(&[]*lane{l})
	return f
}

// of sets the job, before anything comes of it.
func (f *feed) of(j *jobs.Job) { f.job, f.demands.job = j, j }

func (f *feed) lanes() []*lane { return *f.all.Load() }

// Started is the first event.
func (f *feed) Started(j *jobs.Job, info jobs.Info) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(j)
	n := f.log.next()
	for _, l := range f.lanes() {
		l.start(j, info, n)
	}
}

// Output announces that there is more to send.
func (f *feed) Output() {
	for _, l := range f.lanes() {
		l.Output()
	}
}

// Flush sends the available output, and Flood makes the writers send it in large messages.
func (f *feed) Flush() {
	for _, l := range f.lanes() {
		l.Flush()
	}
}

func (f *feed) Flood() {
	for _, l := range f.lanes() {
		l.Flood()
	}
}

// Event passes an event on.
func (f *feed) Event(e jobs.Event) {
	f.mu.Lock()
	le := laneEvent{Event: e}
	switch {
	case e.Secret != nil:
		f.askLocked(e)
		f.mu.Unlock()
		return
	case f.closed != nil:
		f.mu.Unlock()
		return // A watch may still match, but job/closed was the last event.
	case e.Screen == nil:
		le.n = f.log.next()
		f.log.keep(le)
	}
	f.rememberLocked(&le)
	for _, l := range f.lanes() {
		l.event(le)
	}
	if e.Input != nil {
		f.askAgainLocked()
	}
	f.mu.Unlock()
	if e.Input != nil {
		f.job.Subscribe(jobs.Origin{}, f.settle)
	}
	if e.Closed != nil && f.session != nil {
		f.session.jobOver()
	}
}

// rememberLocked keeps events that stay true, for a client that subscribes later.
func (f *feed) rememberLocked(e *laneEvent) {
	switch {
	case e.Exited != nil:
		f.exited = e
	case e.Closed != nil:
		f.closed = e
		f.demands.end()
	}
}

// askLocked has the clients asked for a password that are to type it. The first answer counts.
func (f *feed) askLocked(e jobs.Event) {
	if e.Secret.Over {
		f.asked = nil
		for _, l := range f.lanes() {
			l.secret(e)
		}
		return
	}
	f.asked = &e
	for _, s := range f.typists() {
		f.laneLocked(s.out).secret(e)
	}
}

// askAgain is called when other clients may have to be asked for a password, since one has come or gone.
func (f *feed) askAgain() {
	f.mu.Lock()
	f.askAgainLocked()
	f.mu.Unlock()
	f.Flush()
}

func (f *feed) askAgainLocked() {
	if f.asked == nil {
		return
	}
	typists := f.typists()
	for _, l := range f.lanes() {
		if !slices.ContainsFunc(typists, func(s *Server) bool { return s.out == l.out }) {
			l.secret(jobs.Event{Secret: &jobs.SecretAsk{Over: true}})
		}
	}
	for _, s := range typists {
		f.laneLocked(s.out).secretOnce(*f.asked)
	}
}

// lane returns the lane of a connection. A new one is not open.
func (f *feed) lane(out *outbox) *lane {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.laneLocked(out)
}

func (f *feed) laneLocked(out *outbox) *lane {
	if l := f.laneOf(out); l != nil {
		return l
	}
	l := newLane(out, nil, nil, schema.EncodingText)
	l.feed, l.job, l.exited, l.closed = f, f.job, f.exited, f.closed
	if f.job != nil {
		l.handle = int64(f.job.ID())
	}
	if out.left() {
		return l // leave drops no more lanes of it.
	}
	all := append(slices.Clone(f.lanes()), l)
	f.all.Store(&all)
	return l
}

// laneOf returns the lane of a connection; nil: it has none.
func (f *feed) laneOf(out *outbox) *lane {
	for _, l := range f.lanes() {
		if l.out == out {
			return l
		}
	}
	return nil
}

// leave drops the lane of a connection that is gone, for a job that may be starting. What is left of a closed job is
// still sent: a client that has left properly goes on reading.
func (f *feed) leave(j *jobs.Job, out *outbox) {
	f.mu.Lock()
	l := f.laneOf(out)
	if l == nil {
		f.mu.Unlock()
		return
	}
	all := slices.DeleteFunc(slices.Clone(f.lanes()), func(one *lane) bool { return one == l })
	f.all.Store(&all)
	if f.closed == nil {
		f.demands.leave(l, f.absenceOf(j, out.client, l.silence()))
	} else {
		f.demands.drop(l)
	}
	f.mu.Unlock()
	// In a turn of the job: if this client has answered the queries of programs, the server answers them from now on.
	j.Subscribe(jobs.Origin{}, f.settle)
}

// absenceOf returns what the job does for a client that is gone. It waits as long for one to which it does not belong as it
// would live without its own. The caller must hold the door.
func (f *feed) absenceOf(j *jobs.Job, m *attendee, sent map[jobs.Stream]int64) absence {
	if m.role == schema.SessionRoleViewer {
		return absence{}
	}
	a := absence{client: m.given, sent: sent, holds: j.Lease().Grace}
	if m.owns(f) {
		a.holds = -1
	}
	return a
}

// since returns the kept events after a number, for a client that comes back, and the number of the last one. It must
// be called in a turn of the job: then no event comes before what the caller does next.
func (f *feed) since(after *int64) (back []laneEvent, last int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.log == nil {
		return nil, 0, nil
	}
	if after == nil {
		return nil, f.log.last, nil
	}
	back, oldest, ok := f.log.since(*after)
	if !ok {
		return nil, 0, &wireError{schema.KindResumeGap,
			fmt.Sprintf("the events of job %d after number %d are no longer all kept; ask for those after %d, and job/get for what it is now", f.job.ID(), *after, oldest),
			schema.ResumeGapData{Kind: string(schema.KindResumeGap), Handle: int64(f.job.ID()), After: *after, Oldest: oldest}}
	}
	return back, f.log.last, nil
}

// The events of a job that are kept for clients that come back: so many, and so many bytes.
const (
	keptEvents     = 1000
	keptEventBytes = 4 << 20
)

// An eventLog numbers the events of a job, and keeps the newest. Its methods do nothing if it is nil.
type eventLog struct {
	last   int64
	events []laneEvent
	bytes  int
}

// next returns the number of the next event; 0: events have no numbers.
func (g *eventLog) next() int64 {
	if g == nil {
		return 0
	}
	g.last++
	return g.last
}

func (g *eventLog) keep(e laneEvent) {
	if g == nil {
		return
	}
	if e.Command != nil {
		e.Command = briefly(e.Command)
	}
	g.events = append(g.events, e)
	g.bytes += e.size()
	for len(g.events) > keptEvents || g.bytes > keptEventBytes && len(g.events) > 1 {
		g.bytes -= g.events[0].size()
		g.events[0] = laneEvent{}
		g.events = g.events[1:]
	}
}

// since returns the events after a number. If they are not all kept, oldest is the smallest number after which they
// are.
func (g *eventLog) since(after int64) (back []laneEvent, oldest int64, ok bool) {
	oldest = g.last
	if len(g.events) > 0 {
		oldest = g.events[0].n - 1
	}
	if after < oldest && !(after == 0 && oldest == 1) { // Number 1 is the start, which only the client that started it gets.
		return nil, oldest, false
	}
	i, _ := slices.BinarySearchFunc(g.events, after+1, func(e laneEvent, n int64) int { return int(e.n - n) })
	return slices.Clone(g.events[i:]), oldest, true
}
