package jobs

import "sync/atomic"

// The program's writes can be made to wait for who takes its output, as they do on a pipe
// that nobody reads: of a stream no more than a window is taken from the kernel ahead of
// him, and nothing of it is ever dropped. Two may ask for it: a reader by the read cursor
// (Spec.Window, for all of a job's life), and a client that has output sent to it
// (HoldTo). A drain may pass: that the leader has ended, and that the job is over, must be
// told to a reader that is stuck as well, and a drain takes no more than what the kernel
// held. Whatever ends the job lifts the hold, since a kill must not depend on a reader; one
// that has left somebody alive gives it back.

// A hold is one who is waited for.
type hold struct {
	window atomic.Int64 // how far output may be ahead of him; 0 = he is not waited for
	taken  atomic.Int64 // how far he has it
}

// room is how much more may be read; noHold where that is any amount.
func (h *hold) room(end int64) int64 {
	w := h.window.Load()
	if w == 0 {
		return noHold
	}
	return max(h.taken.Load()+w-end, 0)
}

const noHold = int64(1) << 62

// awaitReader returns how much of a stream may be read next. It blocks the readLoop,
// which owns nothing that anybody else waits for.
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

// take is told how far a stream was read by the cursor.
func (s *stream) take(off int64) {
	s.reader.taken.Store(off)
	s.pokeReader()
}

// pin keeps for the client what it has not been sent, as of now.
func (o *outputs) pin(st *stream) {
	st.pinning.Lock() // whoever comes last has seen what the others have changed
	defer st.pinning.Unlock()
	if st.client.window.Load() > 0 && !o.lifted.Load() {
		st.spool.Pin(st.client.taken.Load())
	} else {
		st.spool.Unpin()
	}
}

// pass lets a drain read what the kernel holds; its answer ends that.
func (s *stream) pass() {
	s.passing.Store(true)
	s.pokeReader()
}

func (s *stream) pokeReader() {
	select {
	case s.room <- struct{}{}:
	default: // it was poked and has not looked yet
	}
}

// lift lets the job write without a reader. The loop calls it, and holdAgain.
func (o *outputs) lift() {
	if o.lifted.Swap(true) {
		return
	}
	for _, st := range o.streams {
		o.pin(st)
		st.pokeReader()
	}
}

// holdAgain takes that back: who was to be ended lives on.
func (o *outputs) holdAgain() {
	if o.j.ending.closing || !o.lifted.Swap(false) {
		return
	}
	for _, st := range o.streams {
		o.pin(st)
	}
}
