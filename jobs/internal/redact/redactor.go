package redact

import "slices"

// Mark is what stands in place of what was taken out.
const Mark = "***"

// A Redactor takes the values of a set out of one stream. It is for one goroutine. What its
// methods return is valid until the next call, and may be a part of what was given.
type Redactor struct {
	set   *Set
	state int32 // the longest beginning of a value that the input ends with

	// Offsets count the bytes that were given.
	end  int64  // behind the last
	sent int64  // behind the last that is decided: passed on, or replaced
	star int64  // where the last Mark that was passed on ends
	held []byte // those from sent to end, between calls

	covered []cover // what is to be replaced behind sent, in order; none overlap or touch

	// During a call:
	p    []byte // the input
	base int64  // the offset at which it begins, where held ends
	buf  []byte // what is passed on, and then view
	view []byte // a part of p
}

// A cover is a part of the input of which nothing may be seen.
type cover struct{ from, to int64 }

// NewRedactor returns a redactor at the begin of a stream.
func NewRedactor(s *Set) *Redactor { return &Redactor{set: s, star: -1} }

// Use takes out the values of another set from now on. Values of both that have begun go on,
// and those that only the new one has begin where one of the old ones has.
func (r *Redactor) Use(s *Set) {
	if s == r.set {
		return
	}
	begun := r.set.prefix(r.state)
	r.set, r.state = s, 0
	at := r.end - int64(len(begun))
	for i := range len(begun) {
		r.state = s.next(r.state, begun[i])
		if n := s.whole[r.state]; n != 0 {
			to := at + int64(i) + 1
			r.cover(to-int64(n), to)
		}
	}
}

// Write takes p, and returns what may be passed on now.
func (r *Redactor) Write(p []byte) []byte {
	r.begin(p)
	s, state := r.set, r.state
	for i := 0; i < len(p); {
		if state == 0 {
			i = s.filter.skip(p, i)
		}
		for i < len(p) {
			state = s.next(state, p[i])
			i++
			if n := s.whole[state]; n != 0 {
				at := r.base + int64(i)
				r.cover(at-int64(n), at)
				r.release(at - int64(s.depth[state]))
			}
			if state == 0 {
				break
			}
		}
	}
	r.state, r.end = state, r.base+int64(len(p))
	r.release(r.end - int64(s.depth[state]))
	return r.finish()
}

// Held returns how many bytes are held back, and how many of these Pause would decide.
func (r *Redactor) Held() (all, pausing int) {
	return int(r.end - r.sent), int(max(r.free()-r.sent, 0))
}

// Pause returns what may be passed on because nothing came for a while.
func (r *Redactor) Pause() []byte { return r.upTo(r.free()) }

// Flush returns all that is held back. It is for the end of the stream; where more comes all
// the same, it is read as if nothing had happened in between.
func (r *Redactor) Flush() []byte { return r.upTo(r.end) }

// free is up to where a pause sets free what is held back.
func (r *Redactor) free() int64 { return r.end - int64(r.set.keep[r.state]) }

func (r *Redactor) upTo(off int64) []byte {
	r.begin(nil)
	r.release(off)
	return r.finish()
}

// cover notes that the input has a value from one offset to another, which is as far as it
// was looked at. What of it was passed on is gone.
func (r *Redactor) cover(from, to int64) {
	switch {
	case to <= r.sent: // It was replaced, or passed on while nobody knew that it is secret.
		return
	case from <= r.star && r.star == r.sent: // It goes on where the last one was replaced.
		r.sent, r.star, r.covered = to, to, r.covered[:0]
		return
	}
	from = max(from, r.sent)
	for n := len(r.covered); n > 0 && r.covered[n-1].to >= from; n = len(r.covered) {
		from = min(from, r.covered[n-1].from)
		r.covered = r.covered[:n-1]
	}
	r.covered = append(r.covered, cover{from, to})
}

// release decides what stands before an offset, which is in the input, and what is to be
// replaced from there on.
func (r *Redactor) release(off int64) {
	n := 0
	for ; n < len(r.covered) && r.covered[n].from <= max(off, r.sent); n++ {
		c := r.covered[n]
		r.pass(r.sent, c.from)
		r.mark()
		r.sent, r.star = c.to, c.to
	}
	r.covered = slices.Delete(r.covered, 0, n)
	if off > r.sent {
		r.pass(r.sent, off)
		r.sent = off
	}
}
