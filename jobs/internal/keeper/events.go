package keeper

// Events delivers the events of a job to its consumer, for code that runs jobs without a keeper process: see
// Keeper.Events and Keeper.Notify.
type Events struct{ queue *eventQueue }

// NewEvents returns an empty queue.
func NewEvents() Events { return Events{newEventQueue()} }

// Push adds an event. It never waits for the consumer.
func (e Events) Push(ev Event) { e.queue.push(ev) }

// End closes the channel once all events were received.
func (e Events) End() { e.queue.end() }

// C returns the channel that the consumer receives from.
func (e Events) C() <-chan Event { return e.queue.out }

// Notify registers f, which is called whenever there is something to receive, and at the end.
func (e Events) Notify(f func()) { e.queue.notify(f) }
