package rpc

import (
	"runtime"
	"sync"
	"time"
)

// Large answers wait for room, so that a client that reads more slowly than the server answers uses a bounded amount of
// memory, and its connection is not given up. Two things are bounded:
//
//   - the bytes that are queued in the outbox: a large answer is queued only if less than answerRoom is;
//   - the number of answers that are being made and may be large, or are made and wait to be queued: each has a place.
//     Its request takes the place before it reads the output, the screen or the list that it quotes, and returns it
//     with the answer. Since JSON may take six bytes for one, output counts six times until it is read.
//
// The goroutine of a request waits for both, and nothing else does: neither the goroutine that reads requests nor a
// job's turn. So a kill and any other small answer overtake those that wait. A request first takes its place in the
// job's order, and then waits for room. Meanwhile it costs some 10 kB, goroutines included, and maxInFlight limits
// that.
//
// Small answers do not wait. If too much of them is queued, no more requests are read (pause.go).

const (
	// smallAnswer is the maximum size of an answer, in bytes of JSON, that does not wait. controlBytes has room for as
	// many of them as there may be requests in flight.
	smallAnswer = controlBytes / maxInFlight
	// answerRoom is the number of queued bytes from which on a large answer waits.
	answerRoom = 8 << 20
	// mostPlaces is the maximum number of large answers that are being made or wait for room.
	mostPlaces = 4
	// answerMembers is roughly the size of an answer without the texts in it.
	answerMembers = 512
)

// places is a semaphore: it has an element for each large answer that is being made or waits for room.
type places chan struct{}

func newPlaces() places { return make(places, mostPlaces) }

// newSearchPlaces returns the places of searches, which may take long: as many as may run at a time.
func newSearchPlaces() places { return make(places, max(runtime.GOMAXPROCS(0)/2, 1)) }

// An answerPlace is the place that a request has taken.
type answerPlace struct {
	mu     sync.Mutex
	of     places // nil: it has none
	closed bool   // the request needs none any more
}

// takePlace waits until the request may make an answer of up to about so many bytes of JSON. It returns false if the
// request is cancelled (with heedCancel), or nothing can be sent any more. Only one goroutine at a time may call it for
// a request.
func (r *request) takePlace(bytes int64, heedCancel bool) bool {
	if bytes+int64(len(r.id)) <= smallAnswer {
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
		return r.keyed != nil // The answer is kept for the client's next connection.
	}
	r.place.mu.Lock()
	defer r.place.mu.Unlock()
	if r.place.closed {
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

// takePlaceNow takes a place if one is free.
func (r *request) takePlaceNow() bool {
	select {
	case r.server.places <- struct{}{}:
		r.place.of = r.server.places // Nothing else has access to the request yet.
		return true
	default:
		return false
	}
}

// leavePlace returns the place. Calls that wait for a place of this request return false.
func (r *request) leavePlace() {
	r.cancel()
	r.place.mu.Lock()
	defer r.place.mu.Unlock()
	if r.place.of != nil {
		<-r.place.of
	}
	r.place.of, r.place.closed = nil, true
}

// roomFor is takePlace for the engine, which calls it before it reads so many bytes of output that the answer will
// quote.
func (r *request) roomFor(bytes int64) bool {
	return r.takePlace(answerMembers+escapedBytes*bytes, true)
}

// roomForScreen is the same for a screen. With its title, and up to six bytes per cell, any screen may be long.
func (r *request) roomForScreen() bool { return r.takePlaceOf(r.server.places, true) }

// reserve waits until the outbox has room for an answer, and reserves it. It returns false without reserving anything
// if the answer is small or nothing can be sent any more.
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

// unreserve releases reserved room that is not needed.
func (o *outbox) unreserve(bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.freeLocked(bytes)
}

// freeLocked records that so many bytes are no longer queued or reserved.
func (o *outbox) freeLocked(bytes int) {
	if o.bytes -= bytes; o.bytes < answerRoom {
		o.roomy.Broadcast()
	}
}

// A pace is how far the client has read, and when that last changed.
type pace struct {
	progress int64
	at       time.Time
}

// stuck reports whether the client has read nothing for stuckTime, given how far it has read now.
func (p *pace) stuck(progress int64) bool {
	if progress != p.progress || p.at.IsZero() {
		p.progress, p.at = progress, time.Now()
	}
	return time.Since(p.at) >= stuckTime
}

// delivers reports whether large answers wait for a client that goes on reading. If they wait for one that has stopped,
// the connection is given up.
func (s *Server) delivers(p *pace) bool {
	stuck := p.stuck(s.out.progress.Load())
	s.out.mu.Lock()
	waiting := s.out.waiting > 0
	s.out.mu.Unlock()
	if !waiting {
		return len(s.places)+len(s.searchPlaces) > 0 && !stuck
	}
	if !stuck {
		return true
	}
	s.out.breakWith(errStuck)
	return false
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
