package jobs

import "shelld/jobs/internal/plain"

// Truncated says what [Job.Excerpt] left out.
type Truncated = plain.Truncated

// Plain returns output as a person reads it afterwards: without escape sequences and controls, lines that were redrawn
// in their last state. It is valid UTF-8.
func Plain(b []byte) string { return plain.Text(b) }

// ValidUTF8 returns text with U+FFFD for each byte that is not UTF-8.
func ValidUTF8(text string) string { return plain.ValidUTF8(text) }

// Excerpt returns a range of a stream as it is shown, without the ranges to skip, which ascend and lie in it: plain or
// as it was written, and at most limit bytes of it. It reads the stream, and so may block.
func (j *Job) Excerpt(name Stream, r Range, skip []Range, inPlain bool, limit int) ([]byte, *Truncated) {
	st := j.output.stream(name)
	if st == nil {
		return nil, nil
	}
	return plain.Excerpt(st.spool, r, skip, inPlain, limit)
}

// Shown widens or narrows a range of a stream to whole characters and escape sequences, so that consecutive pieces of
// plain output join without loss. closed says that nothing follows.
func (j *Job) Shown(name Stream, r Range, closed bool) Range {
	st := j.output.stream(name)
	if st == nil {
		return r
	}
	return plain.VisibleRange(st.spool, r, closed)
}
