package jobs

import (
	"bytes"
	"time"

	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/redact"
)

// What is typed is recorded when the kernel has taken it, but for what nobody is to see: what
// was said to be secret, and what is typed while the terminal shows nothing of it, as where
// a password is asked for. Nothing stands in its place, so that not even its length is told.
// Secret values are taken out of the rest, however they are cut into writes: what may be the
// begin of one is recorded when that is decided.

// seen says whether an input may be in the recording as the terminal is now, and whether that is
// because of a program that reads the keyboard raw.
func (p *filesPart) seen(q *queued) (seen, raw bool) {
	switch {
	case p.recording == nil || q.secret || q.answer || q.trigger:
		return false, false
	case p.j.term == nil:
		return true, false
	}
	attrs, err := p.j.term.Attrs()
	return err == nil && shows(attrs), !attrs.Echo
}

// shows says whether what is typed is shown, or read by a program that has taken all of the
// keyboard over, as editors and the shells' own lines do, and shows it itself. One that asks for
// a password by single keys, and prints stars, leaves Enter to the terminal.
func shows(a proc.Attrs) bool { return a.Echo || !a.Canonical && !a.CRToNL }

// writeNow is WriteNow of the input. What echoes it is recorded behind it. The terminal is asked
// before and after: echo may end in between. Where the program read raw it asked for no password
// before, and what it does after may well be what this input tells it to.
func (p *inputPart) writeNow(data []byte) (n int, err error) {
	q, r := p.queue.items[0], p.j.files.recording
	seen, raw := p.j.files.seen(q)
	if !seen {
		return p.to.WriteNow(data)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	n, err = p.to.WriteNow(data)
	if n > 0 && !raw {
		seen, _ = p.j.files.seen(q)
	}
	if n > 0 && seen {
		r.typed(at, data[:n])
	}
	return n, err
}

// onWritten takes what came of a write by the writeLoop, which may have taken long.
func (p *inputPart) onWritten(w writeDone) {
	if q := p.queue.items[0]; w.n > 0 && q.recorded {
		if seen, _ := p.j.files.seen(q); seen {
			p.recordTyped(q.data[q.written:][:w.n])
		}
	}
	p.onWrote(w)
}

func (p *inputPart) recordTyped(data []byte) {
	r := p.j.files.recording
	r.mu.Lock()
	defer r.mu.Unlock()
	r.typed(r.now(), data)
}

// typed notes input. The caller holds mu.
func (r *recording) typed(at time.Duration, p []byte) {
	if r.over || r.ended {
		return
	}
	secrets := r.job.redaction.set.Load()
	if secrets == nil {
		secrets = noSecrets
	}
	switch {
	case r.input != nil:
		r.input.Use(secrets)
	case secrets != noSecrets:
		r.input = redact.NewRedactor(secrets)
	}
	if r.input != nil {
		p = r.input.Write(p)
	}
	r.noteTyped(at, p)
}

func (r *recording) noteTyped(at time.Duration, p []byte) {
	switch {
	case len(p) == 0:
	case len(r.moments) >= mostMoments || r.typing > 0 && r.typing+len(p) > mostTyping:
		r.note(moment{kind: noteLost, at: at, end: int64(len(p))})
	default:
		r.typing += len(p)
		r.note(moment{kind: noteInput, at: at, text: string(p)})
	}
}

// noteHeld notes what of the input is held back, at the end. What may well have become a secret
// value is not told.
func (r *recording) noteHeld() {
	if r.input == nil {
		return
	}
	p := bytes.Clone(r.input.Pause())
	if all, _ := r.input.Held(); all > 0 {
		p = append(p, redact.Mark...)
	}
	r.noteTyped(r.now(), p)
}
