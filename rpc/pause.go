package rpc

import "time"

// Small answers are queued at once, however many there are. A client that goes on sending requests and reads more
// slowly than the server answers must not use more and more memory: if too much is queued, the server reads no more
// requests until the queue is shorter. Meanwhile the client's writes wait, and with them all that it has sent later: a
// kill, a cancellation, the end of stdin. Requests that were read already take effect and are answered.
//
// But a client may write all its requests before it reads the first answer. If the server waited for such a client,
// both would wait for ever. So the server goes on reading if the client has read nothing for stuckTime, up to
// controlBytes of answers.

const (
	// pauseBytes is the size of the queue, without messages that waited for room, at which reading pauses, resumeBytes
	// the size at which it goes on.
	pauseBytes  = controlBytes / 2
	resumeBytes = pauseBytes - 1<<20
)

// pauseReading is called before the next request is read, and returns when the request may be read.
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

// isBehind reports whether the client should read before more requests are read: more than so many bytes are queued,
// and the client has not stopped reading.
func (o *outbox) isBehind(bytes int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hasty > bytes && o.err == nil && !o.pace.stuck(o.progress.Load())
}

// hurriedLocked counts a message that has not waited for room. It gives up the connection if the client has let too
// many of them pile up and has stopped reading.
func (o *outbox) hurriedLocked(bytes int) {
	if o.hasty += bytes; o.hasty > controlBytes && o.pace.stuck(o.progress.Load()) {
		o.breakLocked(errClientGone)
	}
}

// takenLocked records that such a message is no longer queued.
func (o *outbox) takenLocked(bytes int) {
	before := o.hasty
	if o.hasty -= bytes; before > resumeBytes && o.hasty <= resumeBytes {
		select {
		case o.eased <- struct{}{}:
		default:
		}
	}
}
