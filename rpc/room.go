package rpc

import (
	"runtime"
	"sync"
	"time"

	"shelld/jobs"
)

// Answers wait for room, so that a client that reads more slowly than the server answers costs a bounded amount of
// memory and is not given up for it. Two things are bounded:
//
//   - the bytes that are queued in the outbox: a large answer is queued only when less than answerRoom is;
//   - the number of large answers that are being made, or are made and wait for that: each has a place, which its
//     request takes before the output, the screen or the list that it quotes is read, and gives back with the answer.
//
// The goroutine of a request waits for both, and nothing else does: neither the goroutine that reads requests nor a
// job's turn. So a kill and any other small answer pass those that wait. A request takes its place in the job's order
// first, and waits for room then.

const (
	// smallAnswer is the longest answer, in bytes, that does not wait. As many as may be in flight have room in
	// controlBytes.
	smallAnswer = controlBytes / maxInFlight
	// answerRoom is how many bytes may be queued before a large answer waits.
	answerRoom = 8 << 20
	// mostPlaces is how many large answers are made at a time, and wait for room.
	mostPlaces = 4
)

// places is a number of large answers.
type places chan struct{}

func newPlaces() places { return make(places, mostPlaces) }

// newSearchPlaces are those of searches, which may take long: as many as run at a time.
func newSearchPlaces() places { return make(places, max(runtime.GOMAXPROCS(0)/2, 1)) }

// An answerPlace is what a request has of places.
type answerPlace struct {
	mu   sync.Mutex
	of   places // nil: it has none
	over bool   // the request needs none any more
}

// takePlace waits until the request may make an answer of about so many bytes. It returns false if the request is
// cancelled (with heedCancel), or nothing can be sent any more. Only one goroutine at a time may call it for a request.
func (r *request) takePlace(bytes int64, heedCancel bool) bool {
	if bytes <= smallAnswer {
		return true
	}
	return r.takePlaceOf(r.server.places, heedCancel)
}

func (r *request) takePlaceOf(all places, heedCancel bool) bool {
	if r.hasPlace() {
		return true
	}
	var canceled <-chan struct{}
	if heedCancel {
		canceled = r.canceled
	}
	select {
	case all <- struct{}{}:
	case <-canceled:
		return false
	case <-r.server.out.broken:
		return false
	}
	r.place.mu.Lock()
	defer r.place.mu.Unlock()
	if r.place.over {
		<-all
		return false
	}
	r.place.of = all
	return true
}

func (r *request) hasPlace() bool {
	r.place.mu.Lock()
	defer r.place.mu.Unlock()
	return r.place.of != nil
}

// takePlaceNow takes a place if there is one.
func (r *request) takePlaceNow() bool {
	select {
	case r.server.places <- struct{}{}:
		r.place.of = r.server.places // nothing else knows the request yet
		return true
	default:
		return false
	}
}

// leavePlace gives the place back. Whatever waits for one on behalf of the request ends.
func (r *request) leavePlace() {
	r.cancel()
	r.place.mu.Lock()
	defer r.place.mu.Unlock()
	if r.place.of != nil {
		<-r.place.of
	}
	r.place.of, r.place.over = nil, true
}

// roomFor is takePlace as the engine calls it, before it reads what the answer will quote.
func (r *request) roomFor(bytes int64) bool { return r.takePlace(bytes, true) }

// reserve waits until the outbox has room for an answer, and reserves it. Nothing is reserved for a small answer,
// nor when nothing can be sent any more: then it returns false.
func (o *outbox) reserve(bytes int) bool {
	if bytes <= smallAnswer {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting++
	for o.err == nil && o.bytes >= answerRoom {
		o.roomy.Wait()
	}
	o.waiting--
	if o.err != nil {
		return false
	}
	o.bytes += bytes
	return true
}

// unreserve gives room back that is not needed.
func (o *outbox) unreserve(bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.freeLocked(bytes)
}

// freeLocked notes that so many bytes are queued, or reserved, no more.
func (o *outbox) freeLocked(bytes int) {
	if o.bytes -= bytes; o.bytes < answerRoom {
		o.roomy.Broadcast()
	}
}

// A pace is how far the client has read, and when that was last seen to change.
type pace struct {
	progress int64
	at       time.Time
}

// delivers reports whether large answers wait for a client that goes on reading. If they wait for one that has
// stopped, the connection is given up.
func (s *Server) delivers(p *pace) bool {
	if now := s.out.progress.Load(); now != p.progress || p.at.IsZero() {
		p.progress, p.at = now, time.Now()
	}
	s.out.mu.Lock()
	waiting := s.out.waiting > 0
	s.out.mu.Unlock()
	if !waiting {
		return len(s.places)+len(s.searchPlaces) > 0 && time.Since(p.at) < stuckTime
	}
	if time.Since(p.at) < stuckTime {
		return true
	}
	s.out.breakWith(errStuck)
	return false
}

// sizeOf is about how many bytes an answer will have that is made of a result of the engine's: the texts in it, and
// those of the output that it quotes.
func sizeOf(result any) (n int64) {
	switch r := result.(type) {
	case jobs.StartResult:
		return infoSize(&r.Info) + outcomeSize(r.Outcome)
	case jobs.Info:
		return infoSize(&r)
	case jobs.Outcome:
		return outcomeSize(&r)
	case jobs.ExecResult:
		o := r.Outcome
		return outcomeSize(&o) + quotedSize(map[jobs.Stream]jobs.Range{jobs.PTY: r.Output}, o.Spec)
	case jobs.WriteResult:
		return outcomeSize(r.Outcome)
	case jobs.KillResult:
		for i := range r.Killed {
			n += int64(len(r.Killed[i].Command)) + listedSize
		}
		for i := range r.Survivors {
			n += int64(len(r.Survivors[i].Command)) + listedSize
		}
	case []jobs.Variable:
		for i := range r {
			n += int64(len(r[i].Name)+len(r[i].Value)) + listedSize
		}
	case []jobs.ShellCommand:
		for i := range r {
			n += int64(listedBytes(&r[i])) + listedSize
		}
	case *jobs.Error:
		return outcomeSize(r.Outcome)
	}
	return n
}

// listedSize is about what the members of an item take beside its texts.
const listedSize = 64

func infoSize(i *jobs.Info) int64 {
	n := 1024 + len(or(i.Command, "")) + len(i.Cwd) + len(i.Description) + len(i.Title)
	for _, a := range i.Argv {
		n += len(a) + 3
	}
	for _, w := range i.Watches {
		n += len(w.Pattern) + listedSize
	}
	for _, p := range i.Background {
		n += len(p.Command) + listedSize
	}
	return int64(n)
}

func outcomeSize(o *jobs.Outcome) int64 {
	if o == nil {
		return 0
	}
	n := quotedSize(o.Output, o.Spec)
	if o.Match != nil {
		n += int64(len(o.Match.Text) + len(o.Match.Line))
	}
	if o.Spec != nil && o.Spec.Screen {
		n += smallAnswer + 1
	}
	return n
}

func quotedSize(output map[jobs.Stream]jobs.Range, spec *jobs.WaitSpec) (n int64) {
	for _, r := range output {
		length := r.To - r.From
		if spec != nil {
			length = min(length, int64(spec.MaxBytes))
		}
		n += length
	}
	return n
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
