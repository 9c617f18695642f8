package jobs

import (
	"bytes"
	"time"

	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/redact"
)

// Input is recorded when the kernel has taken it, except for input that should stay hidden: input that the client
// declared secret, and input that is typed while the terminal does not show it, as for a password. No placeholder is
// recorded for hidden input, so not even its length is revealed. Secret values are removed from the rest, however they
// are divided into writes: text that may be the begin of a secret value is recorded when that is decided.

// seen reports whether an input may be in the recording in the terminal's current state, and whether a program reads
// the keyboard raw.
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

// shows reports whether the terminal shows input, or whether a program that has taken over the whole keyboard reads it
// and shows it itself. Editors and the line editors of shells do so. A program that reads a password by single keys
// and prints stars leaves the Enter key to the terminal.
func shows(a proc.Attrs) bool { return a.Echo || !a.Canonical && !a.CRToNL }

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

// noteHeld notes the held-back part of the input, at the end. A part that may be the begin of a secret value is
// replaced with a mark.
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

// writeNow calls WriteNow of the input and records the input. The echo of the input is recorded behind it. The
// terminal is queried before and after the write: echo may be turned off in between. If a program read raw before the
// write, it did not ask for a password then, and its later change of the terminal may be the effect of this input.
func (p *filesPart) writeNow(q *queued, data []byte) (n int, err error) {
	seen, raw := p.seen(q)
	if !seen {
		return p.j.stdin.WriteNow(data)
	}
	r := p.recording
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	n, err = p.j.stdin.WriteNow(data)
	if n > 0 && !raw {
		seen, _ = p.seen(q)
	}
	if n > 0 && seen {
		r.typed(at, data[:n])
	}
	return n, err
}

// recordWritten records input that the writeLoop has written, if the terminal shows it.
func (p *filesPart) recordWritten(q *queued, data []byte) {
	if seen, _ := p.seen(q); seen {
		p.recordTyped(data)
	}
}

func (p *filesPart) recordTyped(data []byte) {
	r := p.recording
	r.mu.Lock()
	defer r.mu.Unlock()
	r.typed(r.now(), data)
}
