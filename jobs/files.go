package jobs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/spool"
	"shelld/jobs/stored"
)

// This file is what a job does with its output files. All of it that touches them
// runs in goroutines of their own: a disk may take as long as it likes.

// files are the names under which streams are kept.
var files = map[Stream]string{PTY: stored.StdoutFile, Stdout: stored.StdoutFile, Stderr: stored.StderrFile}

// openSpool returns the spool of a stream. Its file is made by the stream's readLoop,
// with the first byte: the start of a job waits for no disk.
func (j *Job) openSpool(name Stream) *spool.Spool {
	l := j.mgr.limits
	if j.folder == nil {
		return spool.New(l.SpoolMemory)
	}
	return spool.Open(spool.Options{
		Memory:   l.SpoolMemory,
		Create:   func() (*os.File, error) { return j.folder.Create(files[name]) },
		Tag:      stored.Tag(filepath.Base(j.mgr.archive.session.Path()), int64(j.id), files[name]),
		DiskHead: l.SpoolDisk / 8, DiskTail: l.SpoolDisk - l.SpoolDisk/8,
		Total:  j.mgr.archive.total,
		Record: func(kept []Range) error { return j.recordOrder(name, kept) },
		Wraps:  j.recordRing,
		Failed: j.outputFileFailed,
		Unread: j.goesPast(name),
	})
}

// outputFileFailed takes an error of the job's files: it goes on in memory. Any
// goroutine may call it.
func (j *Job) outputFileFailed(err error) {
	j.log.Warn("an output file failed; what is stored of the job from now on is in memory", "job", j.id, "error", err)
	j.post(fileFailedMsg{err})
}

func (j *Job) onFileFailed(err error) {
	if j.info.OutputFileError != "" {
		return // the first one is what led to the others
	}
	path, why := j.fileFailure(err)
	j.info.OutputFile, j.info.OutputFileError = path, why
	j.changed.Add(Changed{What: ChangeOutputFile, OutputFile: OutputFileError{path, why}})
	j.publish()
}

// fileFailure says which file failed, and why.
func (j *Job) fileFailure(err error) (path, why string) {
	e := storeError(err, j.folder.Path())
	return e.Path, e.Errno
}

// errTotal is why a file has less than what is kept of a stream.
var errTotal = errors.New("the files of this server hold limits.spoolTotalBytes: what is missing in this one was kept in memory alone, of the newest and for as long as the job was known; job/remove makes room for others")

// finishFile puts a stream's file in order.
func (j *Job) finishFile(st *stream) error {
	if err := st.spool.Finish(); err != nil {
		return err
	}
	if st.spool.Err() != nil {
		return nil // That was told.
	}
	if spool.Length(st.spool.Stored()) < spool.Length(st.spool.Kept()) {
		return &fs.PathError{Op: "store", Path: filepath.Join(j.folder.Path(), files[st.name]), Err: errTotal}
	}
	return nil
}

// recordTime is how late at most it is written that a job has started or exited, so
// that a command which is over at once costs one write and not three.
const recordTime = 100 * time.Millisecond

// record has what is known written some time soon.
func (j *Job) record(now time.Time) {
	if j.folder != nil && j.recordAt.IsZero() {
		j.recordAt = now.Add(recordTime)
	}
}

// recordWaitTime is the delay between a change of a job's wait for input and its writing. A question that
// is answered within that time is not written.
const recordWaitTime = 500 * time.Millisecond

// storedWait is what info.json has to say of the job's wait for input; "" if there is none, or if the job
// does something else meanwhile.
func (l *inputWatch) storedWait() string {
	if l.now == nil || l.now.State != inputwait.Reading {
		return ""
	}
	return string(l.now.Kind) + " " + l.now.Prompt
}

// recordWait has it written some time soon that the job waits for input, or does so no more.
func (j *Job) recordWait(now time.Time) {
	if l := &j.inputs; j.folder != nil && !j.isVacant() && l.recordAt.IsZero() && l.storedWait() != l.stored {
		l.recordAt = now.Add(recordWaitTime)
	}
}

func (j *Job) reviewRecord(now time.Time) {
	if l := &j.inputs; !l.recordAt.IsZero() && !now.Before(l.recordAt) {
		l.recordAt = time.Time{}
		if l.storedWait() != l.stored && !j.isVacant() {
			j.recordAt = now
		}
	}
	if !j.recordAt.IsZero() && !now.Before(j.recordAt) {
		j.recordAt = time.Time{}
		j.inputs.stored = j.inputs.storedWait()
		j.mgr.archive.put(errand{what: errandRecord, job: j, info: j.snapshot()})
	}
}

// infoStage is how far what is written of a job has come. It never goes back: what is known
// of the living is written by somebody else than what is known in the end.
type infoStage int

const (
	infoLiving infoStage = iota
	infoFiling           // its files are being put in order: it has what they will hold
	infoFinal
)

// stored is what of the job's streams is in files, and not what is in memory beside it.
func (j *Job) stored() []StreamInfo { return j.streamInfo((*spool.Spool).Stored) }

// placed is what of the job's streams is in files that grow: of one that is a ring, or is about
// to be, it tells that something is missing.
func (j *Job) placed() (all []StreamInfo) {
	for _, st := range j.streams {
		kept, end := st.spool.Placed()
		all = append(all, StreamInfo{Name: st.name, NextOffset: end, Kept: kept})
	}
	return all
}

// writeInfo writes what is known beside the output, with what is stored of it when it is its turn;
// nothing after what is known later, or final.
func (j *Job) writeInfo(info Info, stage infoStage, stored func() []StreamInfo) error {
	j.infoMu.Lock()
	defer j.infoMu.Unlock()
	if stage < j.infoStage || j.infoStage == infoFinal {
		return nil
	}
	j.infoStage = stage
	return j.replaceInfo(info, stored())
}

// recordRing writes down that the file of a stream is to be a ring. From then on nobody but this
// tells its mark from what a job can print, until its order was written down.
func (j *Job) recordRing() error { return j.writeInfo(*j.Published(), infoLiving, j.placed) }

func (j *Job) replaceInfo(info Info, streams []StreamInfo) error {
	info.Streams = streams
	b, err := j.mgr.archive.encode(info)
	if err != nil {
		return err
	}
	return j.folder.Replace(stored.InfoFile, b)
}

// recordOrder writes down what the file of a stream will hold that is put in order. From then
// on nobody but this tells our lines in it from what the job has printed, should the server be
// killed before it has written what is final.
func (j *Job) recordOrder(name Stream, kept []Range) error {
	all := j.stored()
	all[slices.IndexFunc(all, func(s StreamInfo) bool { return s.Name == name })].Kept = kept
	return j.writeInfo(*j.filing, infoFiling, func() []StreamInfo { return all })
}

// fileTime is how long a kill whose tree is gone waits for the output to be stored.
const fileTime = time.Second

// exitTime is how much longer it waits where the exit is not told yet, since the patterns
// have not seen all of the output. They give up by their own clock, which on a busy machine
// is a slow one; and an answer that calls a killed job running is a wrong one.
const exitTime = 9 * time.Second

// finishFiles is called when nothing of the job is left and all that it wrote is
// stored. Nobody else may append from here on: a descriptor of the job's terminal may
// have gone to a stranger.
func (j *Job) finishFiles() {
	close(j.vacant)
	if j.folder == nil {
		j.tellClosed()
		return
	}
	j.closeDescriptors()
	j.process.Store(nil)
	j.st.step = stepFiles
	j.recordAt = time.Time{}
	info := j.snapshot()
	j.filing = ptr(info)
	info.Status, info.Background = StatusClosed, nil
	j.loops.Go(func() {
		for _, st := range j.streams {
			<-st.done
		}
		if err := j.recording.await(); err != nil && info.OutputFileError == "" {
			info.OutputFile, info.OutputFileError = j.fileFailure(err)
		}
		for _, st := range j.streams {
			if err := j.finishFile(st); err != nil {
				j.outputFileFailed(err)
				if info.OutputFileError == "" {
					info.OutputFile, info.OutputFileError = j.fileFailure(err)
				}
			}
		}
		if err := j.writeInfo(info, infoFinal, j.stored); err != nil {
			j.outputFileFailed(err)
			j.mgr.archive.put(errand{what: errandOwe, job: j, info: info})
			j.mgr.archive.payLater(err)
		} else {
			j.mgr.archive.takes()
		}
		j.post(filedMsg{})
	})
}

// isVacant says whether nothing of the job is left and all that it wrote is stored.
func (j *Job) isVacant() bool { return j.st.step >= stepFiles }

// abandonFiles lets go of the files of a job that did not come to its end.
func (j *Job) abandonFiles() {
	if j.folder == nil || j.isVacant() {
		return
	}
	j.recording.end()
	j.loops.Go(func() {
		for _, st := range j.streams {
			if err := st.spool.Close(); err != nil {
				j.log.Debug("closing an output file", "job", j.id, "error", err)
			}
		}
	})
}

// discard deletes what is stored of a job that is closed and will be let go of, once
// nobody reads it; with unsent, once all of it was sent, too, and when there is time.
// then is called with what went wrong, from any goroutine.
func (j *Job) discard(unsent bool, then func(error)) {
	if j.folder == nil {
		then(nil)
		return
	}
	what := errandDelete
	if unsent {
		what = errandDrop
	}
	j.fileHolds.afterwards(unsent, func() {
		j.mgr.archive.put(errand{what: what, job: j, then: then})
	})
}

// logDiscard takes what went wrong where nobody has asked for it.
func (j *Job) logDiscard(err error) {
	if err != nil {
		j.log.Warn("the files of a job that was let go of are not all deleted", "job", j.id, "error", err)
	}
}

// deleteFiles is discard for the archive, which has made them.
func (j *Job) deleteFiles() error {
	var errs []error
	for _, st := range j.streams {
		errs = append(errs, st.spool.Remove())
	}
	return errors.Join(append(errs, j.recording.remove(), j.folder.Remove(stored.InfoFile))...)
}

// holds counts who reads a job's files. What they wait for is the deletion.
type holds struct {
	mu      sync.Mutex
	answers int    // that are being made
	lanes   int    // whose output has not all been sent
	unsent  bool   // then waits for lanes, too
	then    func() // nil: nothing waits
}

// Hold keeps the job's files until release is called, also where the job is removed
// meanwhile: for an answer that quotes output. Release may be called more than once.
func (j *Job) Hold() (release func()) { return j.fileHolds.hold(&j.fileHolds.answers) }

// HoldUnsent keeps them from being deleted because the job is let go of, and not from
// a removal: for output that is being sent.
func (j *Job) HoldUnsent() (release func()) { return j.fileHolds.hold(&j.fileHolds.lanes) }

func (h *holds) hold(n *int) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*n++
	return sync.OnceFunc(func() { h.change(func() { *n-- }) })
}

// afterwards calls then when nobody holds the files any more.
func (h *holds) afterwards(unsent bool, then func()) {
	h.change(func() { h.unsent, h.then = unsent, then })
}

func (h *holds) change(f func()) {
	h.mu.Lock()
	f()
	var then func()
	if h.answers == 0 && (h.lanes == 0 || !h.unsent) {
		then, h.then = h.then, nil
	}
	h.mu.Unlock()
	if then != nil {
		then()
	}
}
