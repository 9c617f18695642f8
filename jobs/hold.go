package jobs

// A job with a Spec.Window is held to whoever reads its output by the read cursor: of
// a stream no more than the window is taken from the kernel ahead of the cursor. Then
// the program's writes block, as they do on a pipe that nobody reads, and nothing of
// its output is ever dropped. The leader's end does not lift that, since what it has
// left in the pipe has to be read as well; whatever ends the job does, since a kill
// must not depend on a reader.

// awaitReader returns when the next piece of a stream may be read. It blocks the
// readLoop, which owns nothing that anybody else waits for.
func (j *Job) awaitReader(st *stream) {
	window := j.spec.Window
	for window > 0 && st.spool.End()-st.taken.Load() >= window {
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
	select {
	case s.room <- struct{}{}:
	default: // nobody waits, or nobody's window was set
	}
}

// lift lets the job write without a reader. The loop calls it.
func (j *Job) lift() {
	select {
	case <-j.lifted:
	default:
		close(j.lifted)
	}
}
