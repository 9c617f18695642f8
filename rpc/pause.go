package rpc

import "time"

// Small answers are queued at once, however many. A client that goes on asking and reads more slowly than the server
// answers must not cost more and more memory for that: if too much is queued, the server reads no more requests until
// less is. Then the client's writes wait, and so does all that it has sent behind: a kill, a cancellation, the end of
// stdin. What was read already takes effect, and is answered.
//
// But a client may write all its requests before it reads the first answer. If the server waited for such a client, both
// would wait for ever. So it reads on once the client has read nothing for stuckTime, up to controlBytes of answers.

const (
	// pauseBytes is how much is queued of what has not waited for room when reading pauses, resumeBytes when it goes on.
	pauseBytes  = controlBytes / 2
	resumeBytes = pauseBytes - 1<<20
)

// pauseReading is called before the next request is read, and returns when it should be.
func (o *outbox) pauseReading() {
	if !o.isBehind(pauseBytes) {
		return
	}
	look := time.NewTicker(stuckTime / 8)
	defer look.Stop()
	for o.isBehind(resumeBytes) {
		select {
		case <-o.eased:
		case <-look.C:
		case <-o.broken:
		}
	}
}

// isBehind reports whether the client is to read before more is asked: more is queued than so many bytes, and it has
// not stopped reading.
func (o *outbox) isBehind(bytes int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hasty > bytes && o.err == nil && !o.pace.stuck(o.progress.Load())
}

// hurriedLocked counts a message that has not waited for room. It gives up a client that has let too many of them pile
// up and has stopped reading.
func (o *outbox) hurriedLocked(bytes int) {
	if o.hasty += bytes; o.hasty > controlBytes && o.pace.stuck(o.progress.Load()) {
		o.breakLocked(errClientGone)
	}
}

// takenLocked notes that such a message is no longer queued.
func (o *outbox) takenLocked(bytes int) {
	before := o.hasty
	if o.hasty -= bytes; before > resumeBytes && o.hasty <= resumeBytes {
		select {
		case o.eased <- struct{}{}:
		default:
		}
	}
}
