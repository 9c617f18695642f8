package jobs

import "sync/atomic"

// The program's writes can be made to wait for a consumer of its output, as writes do on a pipe without a reader: no
// more than a window of a stream is read from the kernel ahead of the consumer, and nothing of the stream is ever
// dropped. Two consumers may ask for this: a reader by the read cursor (Spec.Window, for the whole life of a job), and
// a client to which output is sent (HoldTo). A drain may pass the hold: even a stuck reader must get the reports that
// the leader has ended and that the job is over, and a drain reads no more than what the kernel held. Every operation
// that ends the job lifts the hold, since a kill must not depend on a reader. A kill that has left processes alive
// restores the hold.

// A hold is a consumer that the program waits for.
type hold struct {
	window atomic.Int64 // how far output may be ahead of the consumer; 0 = do not wait for it
	taken  atomic.Int64 // the offset up to which the consumer has the output
}

// room returns how many more bytes may be read. It returns noHold if there is no limit.
func (h *hold) room(end int64) int64 {
	w := h.window.Load()
	if w == 0 {
		return noHold
	}
	return max(h.taken.Load()+w-end, 0)
}

const noHold = int64(1) << 62

// awaitReader returns how many bytes of a stream may be read next. It blocks the readLoop, which owns nothing that
// other goroutines wait for.
func (o *outputs) awaitReader(st *stream) (room int64) {
	for {
		end := st.spool.End()
		room = min(st.reader.room(end), st.client.room(end))
		if room > 0 || st.passing.Load() || o.lifted.Load() {
			break
		}
		st.isHeld.Store(true)
		select {
		case <-st.room:
		case <-o.j.done:
			return noHold
		}
	}
	st.isHeld.Store(false)
	if room == 0 {
		return noHold
	}
	return room
}

// take records the offset up to which a stream was read by the cursor.
func (s *stream) take(off int64) {
	s.reader.taken.Store(off)
	s.pokeReader()
}

// pin makes the spool keep the output that the client has not been sent, as of now.
func (o *outputs) pin(st *stream) {
	st.pinning.Lock() // the last caller sees the changes of the others
	defer st.pinning.Unlock()
	if st.client.window.Load() > 0 && !o.lifted.Load() {
		st.spool.Pin(st.client.taken.Load())
	} else {
		st.spool.Unpin()
	}
}

// pass lets a drain read the output that the kernel holds. The drain's answer ends this.
func (s *stream) pass() {
	s.passing.Store(true)
	s.pokeReader()
}

func (s *stream) pokeReader() {
	select {
	case s.room <- struct{}{}:
	default: // it was poked and has not handled that yet
	}
}

// lift lets the job write without a reader. It is called in a turn, like holdAgain.
func (o *outputs) lift() {
	if o.lifted.Swap(true) {
		return
	}
	for _, st := range o.streams {
		o.pin(st)
		st.pokeReader()
	}
}

// holdAgain restores the hold after a kill that the job has survived.
func (o *outputs) holdAgain() {
	if o.j.closing || !o.lifted.Swap(false) {
		return
	}
	for _, st := range o.streams {
		o.pin(st)
	}
}
