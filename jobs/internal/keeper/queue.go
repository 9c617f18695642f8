package keeper

import "sync"

// An eventQueue delivers events to a consumer and never blocks the producer: the next message on the socket may be an
// answer that the consumer is waiting for.
//
// It is bounded by the requests to the keeper. Stopped and Continued, the only events that a job can cause without end,
// are thinned: at most two in a row wait; when a third follows, the unreceived two are dropped.
type eventQueue struct {
	out chan Event // from push or pump -> consumer

	mu      sync.Mutex
	told    func() // nil, or called when there is something to receive, and at the end
	waiting []Event
	pumping bool
	over    bool // nothing follows; the goroutine that empties waiting closes out
}

func newEventQueue() *eventQueue { return &eventQueue{out: make(chan Event, 4)} }

// push adds an event.
func (q *eventQueue) push(e Event) {
	q.add(e)
	q.tell()
}

// notify registers f for all later calls.
func (q *eventQueue) notify(f func()) {
	q.mu.Lock()
	q.told = f
	q.mu.Unlock()
	q.tell() // for earlier events
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

// pump sends the waiting events, and ends when there are none.
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
