package jobs

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"shelld/jobs/internal/cast"
	"shelld/jobs/internal/redact"
	"shelld/jobs/internal/store"
	"shelld/jobs/stored"
)

// A recording is a job's session.cast, and what writes it. What happens is noted where it
// happens, with its time and, for output, with nothing but up to where that is stored by then;
// the bytes are read from the spool, behind all that takes out what is secret:
//
//	readLoop         -> output   up to where it is stored
//	a turn           -> typed    what the kernel has taken (recording_input.go)
//	                 -> resized
//	                 -> exited
//	recording.run    <- take     reads the output, and writes (recording_write.go)
//
// Nobody waits for its disk but the job's end. While that is behind, notes are joined: output
// has then the time of what came before it. Nothing of it is lost so, but where the spool drops
// it before it was read; then a marker says how much.
type recording struct {
	// Immutable:
	job     *Job
	streams []*stream
	began   time.Time
	header  cast.Header
	done    chan struct{} // closed when run has returned

	wake chan struct{} // whoever notes -> run; capacity 1

	mu      sync.Mutex // guards what follows; held for no longer than a note takes
	moments []moment
	joined  [noteKinds]int // where in moments the last of a kind is; -1: none
	typing  int            // bytes of input in moments
	input   *redact.Redactor
	exit    *exitNote
	ended   bool  // nothing more will be noted
	over    bool  // the file takes no more: nothing more is noted but the exit
	failed  error // of the file

	file recordingDisk // run's; nil: none could be made
	cast *cast.Writer  // the same
	text []cast.Text   // of each stream, and of the input; run's
	read []int64       // up to where each stream is written; run's
}

// A recordingDisk is where a recording is written.
type recordingDisk interface {
	cast.File
	io.Closer
}

// createRecording makes the file. Tests have another one.
func createRecording(f *store.Folder) (recordingDisk, error) { return f.Create(stored.RecordingFile) }

// A moment is something that has happened.
type moment struct {
	kind noteKind
	at   time.Duration // since the recording began
	end  int64         // output: up to where it was stored; lost input: how many bytes
	text string        // input, and size
}

// A noteKind is what is joined where notes have to be.
type noteKind int

const (
	noteOutput noteKind = iota // of the first stream, and of the second
	noteSecond
	noteResize
	noteLost // input that there was no room for
	noteKinds
	noteInput // is never joined
)

type exitNote struct {
	at     time.Duration
	status int
}

// What waits to be written is bounded, for a disk that takes nothing.
const (
	mostMoments = 4096
	mostTyping  = 1 << 20 // bytes of input
)

// beginRecording is called when the job has its streams, before they are read.
func (p *filesPart) beginRecording(env []string) {
	if !p.j.spec.Record || p.folder == nil {
		return
	}
	r := &recording{
		job: p.j, streams: p.j.output.streams, began: p.j.info.StartedAt, header: p.castHeader(env),
		done: make(chan struct{}), wake: make(chan struct{}, 1), joined: nothingJoined,
		text: make([]cast.Text, len(p.j.output.streams)+1), read: make([]int64, len(p.j.output.streams)),
	}
	for i := range p.j.output.streams {
		r.text[i].Lines = p.j.term == nil // no terminal has made its line ends
	}
	p.recording = r
	p.j.output.loops.Go(r.run)
}

var nothingJoined = func() (none [noteKinds]int) {
	for i := range none {
		none[i] = -1
	}
	return none
}()

// castHeader is what a recording begins with. A job without a terminal is shown on one of the
// usual size.
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

// now is the time of what happens now; of nothing where nothing is recorded.
func (r *recording) now() time.Duration {
	if r == nil {
		return 0
	}
	return time.Since(r.began)
}

// output notes that a stream has n bytes more.
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

// resize has the terminal resized, and notes it: what comes for the new size comes later.
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

// join adds a later one of the same kind.
func (m *moment) join(later moment) {
	switch m.kind {
	case noteLost:
		m.end += later.end
	default:
		m.end, m.text = later.end, later.text
	}
}

// exited notes how the leader has ended, which is written last. Where nobody knows, nothing is.
func (r *recording) exited(e *Exit, at time.Time) {
	status, known := exitStatus(e)
	if r == nil || !known {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exit = &exitNote{at.Sub(r.began), status}
}

// exitStatus is an end in one number, as shells have it.
func exitStatus(e *Exit) (status int, known bool) {
	if e.Code != nil {
		return *e.Code, true
	}
	for sig, name := range signalNames {
		if name == e.Signal {
			return 128 + int(sig), true
		}
	}
	n, err := strconv.Atoi(strings.TrimPrefix(e.Signal, "SIG"))
	return 128 + n, err == nil
}

// end says that nothing more will happen. What is noted is still written.
func (r *recording) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteHeld()
	r.ended, r.input = true, nil // A job that is only remembered knows no secrets.
	r.poke()
}

// await returns when the recording is written, and what went wrong. Nothing more may be stored.
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
	default: // it has been told, and has not looked yet
	}
}

// recordingFailed takes an error of the recording, which ends there. The job and its output go
// on.
func (r *recording) recordingFailed(err error) {
	j := r.job
	j.log.Warn("the recording of a job failed and ends there; its output goes on", "job", j.id, "error", err)
	j.post(fileFailedMsg{err})
}

// remove deletes the recording.
func (r *recording) remove() error {
	if r == nil {
		return nil
	}
	r.giveBack()
	return r.job.files.folder.Remove(stored.RecordingFile)
}

// checkRecord refuses a recording that could be nowhere.
func (m *Manager) checkRecord(s *Spec) *Error {
	if !s.Record || m.settings.archive != nil {
		return nil
	}
	e := errorf(CodeUnsupported, "nothing can be recorded, since this server keeps output in memory alone; have it keep files (options.persist of initialize), or leave record out")
	e.Name, e.Pointer = "record", "/record"
	return e
}
