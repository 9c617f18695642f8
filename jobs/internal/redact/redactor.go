package redact

import "slices"

// Mark replaces each removed range.
const Mark = "***"

// A Redactor removes the values of a set from one stream. It must be used by one goroutine at a time. The slices
// that its methods return are valid until the next call, and may share memory with the argument.
type Redactor struct {
	set   *Set
	state int32 // of the longest beginning of a value at the end of the input

	// Offsets count the bytes of the input.
	end  int64  // after the last byte
	sent int64  // after the last decided byte: passed on, or replaced
	star int64  // the end of the last Mark that was passed on
	held []byte // the bytes from sent to end, between calls

	covered []cover // ranges after sent to replace, in order; none overlap or touch

	// During a call:
	p    []byte // the input
	base int64  // offset of the begin of p, which is the end of held
	buf  []byte // output, followed by view
	view []byte // a part of p
}

// A cover is a range of the input to replace.
type cover struct{ from, to int64 }

// NewRedactor returns a redactor at the beginning of a stream.
func NewRedactor(s *Set) *Redactor { return &Redactor{set: s, star: -1} }

// Use replaces the set from now on. A value in both sets that has begun continues. A value only in the new set is
// recognized from a place where a value of the old set has begun.
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

// Write processes p, and returns the bytes to pass on now.
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

// Held returns how many bytes are held back, and how many of these Pause would release.
func (r *Redactor) Held() (all, pausing int) {
	return int(r.end - r.sent), int(max(r.free()-r.sent, 0))
}

// Pause returns the bytes to pass on because nothing has come for a while.
func (r *Redactor) Pause() []byte { return r.upTo(r.free()) }

// Flush returns all bytes that are held back, at the end of the stream. If more input follows, it is processed as
// if it had followed without interruption.
func (r *Redactor) Flush() []byte { return r.upTo(r.end) }

// free returns the offset up to which a pause releases bytes.
func (r *Redactor) free() int64 { return r.end - int64(r.set.keep[r.state]) }

func (r *Redactor) upTo(off int64) []byte {
	r.begin(nil)
	r.release(off)
	return r.finish()
}

// cover registers a value in the input, from one offset to another, which is the end of the processed input. The
// part that was passed on cannot be replaced.
func (r *Redactor) cover(from, to int64) {
	switch {
	case to <= r.sent: // It was replaced, or passed on before it was known to be secret.
		return
	case from <= r.star && r.star == r.sent: // It continues the last replaced range.
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

// release decides all bytes before an offset, which is within the input, and the ranges to replace that begin
// there.
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
