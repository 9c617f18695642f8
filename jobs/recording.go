package jobs

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"shelld.dev/shelld/jobs/internal/cast"
	"shelld.dev/shelld/jobs/internal/names"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/redact"
	"shelld.dev/shelld/jobs/internal/store"
	"shelld.dev/shelld/jobs/stored"
)

// A recording is a job's session.cast file and its writer. Events are noted at the place where they happen, with their
// time. For output, the note has only the offset up to which the output is stored by then. The bytes are read from the
// spool, so secret values are already removed from them:
//
//	readLoop         -> output   up to where it is stored
//	a turn           -> typed    the input that the kernel has taken (writeNow)
//	                 -> resized
//	                 -> exited
//	recording.run    <- take     reads the output, and writes (recording_write.go)
//
// Only the job's end waits for the disk of the recording. While the disk is slow, notes are joined: then output gets
// the time of earlier output. This loses no output, unless the spool drops it before it was read. In that case a
// marker has the number of missing bytes.
type recording struct {
	// Immutable:
	job     *base
	streams []*stream
	began   time.Time
	header  cast.Header
	done    chan struct{} // closed when run has returned

	wake chan struct{} // each noting goroutine -> run; capacity 1

	mu      sync.Mutex // guards the fields below; held no longer than a note takes
	moments []moment
	joined  [noteKinds]int // index in moments of the last note of each kind; -1: none
	typing  int            // bytes of input in moments
	input   *redact.Redactor
	exit    *exitNote
	ended   bool  // no further events will come
	over    bool  // the file takes no more: nothing is noted any more but the exit
	failed  error // error of the file

	file recordingDisk // used only by run; nil: no file could be made
	cast *cast.Writer  // used only by run
	text []cast.Text   // for each stream, and for the input; used only by run
	read []int64       // offset up to which each stream is written; used only by run
}

// createRecording makes the file of a recording. Tests replace this function.
func createRecording(f *store.Folder) (recordingDisk, error) { return f.Create(stored.RecordingFile) }

// A moment is a noted event.
type moment struct {
	kind noteKind
	at   time.Duration // since the recording began
	end  int64         // output: offset up to which it was stored; lost input: number of bytes
	text string        // input, and size
}

// A noteKind is a kind of event. If there are too many notes, notes of the same kind are joined.
type noteKind int

const (
	noteOutput noteKind = iota // output of the first stream; noteSecond: of the second stream
	noteSecond
	noteResize
	noteLost // input for which there was no room
	noteKinds
	noteInput // input; never joined
)

type exitNote struct {
	at     time.Duration
	status int
}

// These limits bound the notes that wait to be written, in case the disk is stalled.
const (
	mostMoments = 4096
	mostTyping  = 1 << 20 // bytes of input
)

// beginRecording begins the recording if one is wanted. It is called when the job has its streams, before they are
// read.
func (p *filesPart) beginRecording(env []string) {
	if !p.j.spec.Record || p.j.folder == nil {
		return
	}
	r := &recording{
		job: p.j, streams: p.j.output.streams, began: p.j.info.StartedAt, header: p.castHeader(env),
		done: make(chan struct{}), wake: make(chan struct{}, 1), joined: nothingJoined,
		text: make([]cast.Text, len(p.j.output.streams)+1), read: make([]int64, len(p.j.output.streams)),
	}
	for i := range p.j.output.streams {
		r.text[i].Lines = p.j.term == nil // without a terminal, line feeds lack their carriage returns
	}
	p.recording = r
	p.j.background(r.run)
}

var nothingJoined = func() (none [noteKinds]int) {
	for i := range none {
		none[i] = -1
	}
	return none
}()

// castHeader returns the header of a recording. A job without a terminal gets the usual terminal size.
func (p *filesPart) castHeader(env []string) cast.Header {
	info := p.j.clean(p.j.info)
	h := cast.Header{Cols: info.Cols, Rows: info.Rows, Began: info.StartedAt, Title: info.Description}
	if h.Command = strings.Join(info.Argv, " "); info.Command != nil {
		h.Command = *info.Command
	}
	if p.j.term == nil {
		h.Cols, h.Rows = 80, 24
		return h
	}
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "TERM="); ok {
			h.Type = p.j.redaction.text(value)
		}
	}
	return h
}

// now returns the time since the recording began, or 0 if nothing is recorded.
func (r *recording) now() time.Duration {
	if r == nil {
		return 0
	}
	return time.Since(r.began)
}

// output notes that a stream has n more bytes.
func (r *recording) output(st *stream, at time.Duration, n int) {
	if r == nil || n == 0 {
		return
	}
	kind := noteOutput
	if st != r.streams[0] {
		kind = noteSecond
	}
	r.mu.Lock()
	r.note(moment{kind: kind, at: at, end: st.spool.End()})
	r.mu.Unlock()
}

// resize calls do, which resizes the terminal, and notes the resize. It holds mu meanwhile, so output for the new size
// is noted after it.
func (r *recording) resize(cols, rows int, do func() error) error {
	if r == nil {
		return do()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	err := do()
	if err == nil {
		r.note(moment{kind: noteResize, at: at, text: fmt.Sprintf("%dx%d", cols, rows)})
	}
	return err
}

// note adds a moment. The caller holds mu.
func (r *recording) note(m moment) {
	if r.over || r.ended {
		return
	}
	if i := r.last(m.kind); i >= 0 && len(r.moments) >= mostMoments {
		r.moments[i].join(m)
		return
	}
	if m.kind < noteKinds {
		r.joined[m.kind] = len(r.moments)
	}
	r.moments = append(r.moments, m)
	r.poke()
}

func (r *recording) last(k noteKind) int {
	if k < noteKinds {
		return r.joined[k]
	}
	return -1
}

// join merges a later moment of the same kind into m.
func (m *moment) join(later moment) {
	switch m.kind {
	case noteLost:
		m.end += later.end
	default:
		m.end, m.text = later.end, later.text
	}
}

// exited notes the exit status of the leader, which is written last. If the status is not known, nothing is noted.
func (r *recording) exited(e *Exit, at time.Time) {
	status, known := exitStatus(e)
	if r == nil || !known {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exit = &exitNote{at.Sub(r.began), status}
}

// exitStatus returns the exit as one number, as shells represent it.
func exitStatus(e *Exit) (status int, known bool) {
	if e.Code != nil {
		return *e.Code, true
	}
	if sig, ok := names.FindSignal(e.Signal); ok {
		return 128 + int(sig), true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(e.Signal, "SIG"))
	return 128 + n, err == nil
}

// end notes that no further events will come. The existing notes are still written.
func (r *recording) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteHeld()
	r.ended, r.input = true, nil // A closed job keeps no secrets in memory.
	r.poke()
}

// await waits until the recording is written, and returns its error. The job must store nothing more by then.
func (r *recording) await() error {
	if r == nil {
		return nil
	}
	r.end()
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recording) poke() {
	select {
	case r.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// recordingFailed reports an error of the recording, which ends there. The job and its output continue.
func (r *recording) recordingFailed(err error) {
	j := r.job
	j.log.Warn("the recording of a job failed and stopped; its output continues", "job", j.id, "error", err)
	j.post(fileFailedMsg{err})
}

// remove deletes the recording.
func (r *recording) remove() error {
	if r == nil {
		return nil
	}
	r.giveBack()
	return r.job.folder.Remove(stored.RecordingFile)
}

// now and output record for outputs.
func (p *filesPart) now() time.Duration { return p.recording.now() }

func (p *filesPart) output(st *stream, at time.Duration, n int) { p.recording.output(st, at, n) }

func (p *filesPart) resize(cols, rows int, do func() error) error {
	return p.recording.resize(cols, rows, do)
}

func (p *filesPart) recordExit() { p.recording.exited(p.j.st.exit, p.j.info.EndedAt) }

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
