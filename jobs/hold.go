package jobs

// A job with a Spec.Window is held to whoever reads its output by the read cursor: of
// a stream no more than the window is taken from the kernel ahead of the cursor. Then
// the program's writes block, as they do on a pipe that nobody reads, and nothing of
// its output is ever dropped. A drain may pass: that the leader has ended, and that
// the job is over, must be told to a reader that is stuck as well, and a drain takes
// no more than what the kernel held. Whatever ends the job lifts the hold for good,
// since a kill must not depend on a reader.

// awaitReader returns when the next piece of a stream may be read. It blocks the
// readLoop, which owns nothing that anybody else waits for.
func (j *Job) awaitReader(st *stream) {
	window := j.spec.Window
	for window > 0 && st.spool.End()-st.taken.Load() >= window && !st.passing.Load() {
		select {
		case <-st.room:
		case <-j.lifted:
			return
		case <-j.done:
			return
		}
	}
}

// take is told how far a stream was read by the cursor.
func (s *stream) take(off int64) {
	s.taken.Store(off)
	s.pokeReader()
}

// pass lets a drain read what the kernel holds; its answer ends that.
func (s *stream) pass() {
	s.passing.Store(true)
	s.pokeReader()
}

func (s *stream) pokeReader() {
	select {
	case s.room <- struct{}{}:
	default: // it was poked and has not looked yet, or the job waits for no reader
	}
}

// lift lets the job write without a reader. The loop calls it.
func (j *Job) lift() {
	if !isClosed(j.lifted) {
		close(j.lifted)
	}
}
