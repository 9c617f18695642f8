package jobs

import "shelld/jobs/internal/plain"

// Truncated describes the part that [Job.Excerpt] left out.
type Truncated = plain.Truncated

// Plain returns output as a person reads it afterwards: without escape sequences and control characters, and with
// redrawn lines in their last state. It is valid UTF-8.
func Plain(b []byte) string { return plain.Text(b) }

// ValidUTF8 returns text with U+FFFD for each byte that is not UTF-8.
func ValidUTF8(text string) string { return plain.ValidUTF8(text) }

// Excerpt returns a range of a stream without the ranges in skip, which must ascend and lie in it. The text is plain or
// as it was written, and at most limit bytes long. Excerpt reads the stream, and so may block.
func (j *Job) Excerpt(name Stream, r Range, skip []Range, inPlain bool, limit int) ([]byte, *Truncated) {
	st := j.output.stream(name)
	if st == nil {
		return nil, nil
	}
	return plain.Excerpt(st.spool, r, skip, inPlain, limit)
}

// Shown widens or narrows a range of a stream to whole characters and escape sequences, so that consecutive pieces of
// plain output join without loss. closed says that no output follows.
func (j *Job) Shown(name Stream, r Range, closed bool) Range {
	st := j.output.stream(name)
	if st == nil {
		return r
	}
	return plain.VisibleRange(st.spool, r, closed)
}
