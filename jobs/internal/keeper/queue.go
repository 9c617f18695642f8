package keeper

import "sync"

// An eventQueue hands events to a consumer without ever making the producer
// wait: an answer that the consumer is waiting for may be next on the socket.
//
// It is bounded by what is asked of the keeper. The one kind of event that a job
// can make without end is thinned: of Stopped and Continued at most two in a row
// wait, and a pair more that nobody has received yet is as if it had not been.
type eventQueue struct {
	out chan Event // from push or pump -> consumer

	mu      sync.Mutex
	told    func() // nil, or called when there is something to receive, and at the end
	waiting []Event
	pumping bool
	over    bool // nothing follows; whoever empties waiting closes out
}

func newEventQueue() *eventQueue { return &eventQueue{out: make(chan Event, 4)} }

// push adds an event.
func (q *eventQueue) push(e Event) {
	q.add(e)
	q.tell()
}

// notify has f called from now on.
func (q *eventQueue) notify(f func()) {
	q.mu.Lock()
	q.told = f
	q.mu.Unlock()
	q.tell() // of what came before
}

func (q *eventQueue) tell() {
	q.mu.Lock()
	told := q.told
	q.mu.Unlock()
	if told != nil {
		told()
	}
}

func (q *eventQueue) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.pumping {
		select {
		case q.out <- e:
			return
		default:
			q.pumping = true
			go q.pump()
		}
	}
	if n := len(q.waiting); n >= 2 && isState(e) && isState(q.waiting[n-1]) && isState(q.waiting[n-2]) {
		q.waiting[n-2] = e
		q.waiting = q.waiting[:n-1]
		return
	}
	q.waiting = append(q.waiting, e)
}

func isState(e Event) bool { return e.Kind == Stopped || e.Kind == Continued }

// end closes the channel once all events were received.
func (q *eventQueue) end() {
	q.finish()
	q.tell()
}

func (q *eventQueue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	if !q.pumping {
		close(q.out)
	}
}

// pump sends what is waiting, and ends when there is nothing.
func (q *eventQueue) pump() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.pumping = false
			if q.over {
				close(q.out)
			}
			q.mu.Unlock()
			q.tell()
			return
		}
		e := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.out <- e
		q.tell()
	}
}
