package redact

// begin starts a call. The output usually is a part of the input p, and then shares its memory. It is copied only
// if bytes are inserted or removed.

func (r *Redactor) begin(p []byte) {
	r.p, r.base = p, r.end
	r.buf, r.view = r.buf[:0], nil
}

// pass passes on the input between two offsets, which are within held and p.
func (r *Redactor) pass(from, to int64) {
	if from < r.base && from < to {
		first := r.base - int64(len(r.held))
		r.copied(r.held[from-first : min(to, r.base)-first])
		from = r.base
	}
	if from >= to {
		return
	}
	piece := r.p[from-r.base : to-r.base]
	switch {
	case len(r.view) == 0:
		r.view = piece
	case r.follows(piece):
		r.view = r.view[:len(r.view)+len(piece)]
	default:
		r.copied(nil)
		r.view = piece
	}
}

// follows reports whether a part of p comes directly after view, which is also a part of p.
func (r *Redactor) follows(piece []byte) bool {
	rest := r.view[len(r.view):cap(r.view)]
	return len(rest) > 0 && &rest[:1][0] == &piece[0]
}

func (r *Redactor) mark() { r.copied([]byte(Mark)) }

// copied passes on bytes that are not a part of p.
func (r *Redactor) copied(b []byte) {
	r.buf = append(append(r.buf, r.view...), b...)
	r.view = nil
}

// finish stores the held bytes, and returns the output.
func (r *Redactor) finish() []byte {
	if first := r.base - int64(len(r.held)); r.sent < r.base {
		n := copy(r.held, r.held[r.sent-first:])
		r.held = append(r.held[:n], r.p...)
	} else {
		r.held = append(r.held[:0], r.p[r.sent-r.base:]...)
	}
	p := r.view
	if len(r.buf) > 0 {
		r.copied(nil)
		p = r.buf
	}
	r.p, r.view = nil, nil
	return p
}
