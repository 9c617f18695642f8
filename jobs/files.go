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
	"shelld/jobs/internal/store"
	"shelld/jobs/stored"
)

// This file is what a job does with its output files. All of it that touches them
// runs in goroutines of their own: a disk may take as long as it likes.

// files are the names under which streams are kept.
var files = map[Stream]string{PTY: stored.StdoutFile, Stdout: stored.StdoutFile, Stderr: stored.StderrFile}

// filesPart keeps the output, the recording and info.json of a job on disk.
type filesPart struct {
	noPart
	j *Job

	folder    *store.Folder // nil: output is kept in memory alone
	fileHolds holds
	recording *recording // nil: the job is not recorded
	filing    *Info      // what is known when its files are put in order; set before that
	infoMu    sync.Mutex // held to write info.json
	infoStage infoStage  // guarded by infoMu: how far that has come
	filed     bool       // the files are complete
	recordAt  time.Time  // when what is known is to be written; zero: it is
	wait      string     // what info.json has of the wait for input: see storedWait
	waitAt    time.Time  // when that is to be compared with what is known; zero: it is the same
}

// openSpool returns the spool of a stream. Its file is made by the stream's readLoop,
// with the first byte: the start of a job waits for no disk.
func (p *filesPart) openSpool(name Stream) *spool.Spool {
	l := p.j.mgr.settings.limits
	if p.folder == nil {
		return spool.New(l.SpoolMemory)
	}
	return spool.Open(spool.Options{
		Memory:   l.SpoolMemory,
		Create:   func() (*os.File, error) { return p.folder.Create(files[name]) },
		Tag:      stored.Tag(filepath.Base(p.j.mgr.settings.archive.session.Path()), int64(p.j.id), files[name]),
		DiskHead: l.SpoolDisk / 8, DiskTail: l.SpoolDisk - l.SpoolDisk/8,
		Total:  p.j.mgr.settings.archive.total,
		Record: func(kept []Range) error { return p.recordOrder(name, kept) },
		Wraps:  p.recordRing,
		Failed: p.outputFileFailed,
		Unread: p.j.output.goesPast(name),
	})
}

// outputFileFailed takes an error of the job's files: it goes on in memory. Any
// goroutine may call it.
func (p *filesPart) outputFileFailed(err error) {
	p.j.log.Warn("an output file failed; what is stored of the job from now on is in memory", "job", p.j.id, "error", err)
	p.j.post(fileFailedMsg{err})
}

func (p *filesPart) onFileFailed(err error) {
	if p.j.info.OutputFileError != "" {
		return // the first one is what led to the others
	}
	path, why := p.fileFailure(err)
	p.j.info.OutputFile, p.j.info.OutputFileError = path, why
	p.j.changes.untold.Add(Changed{What: ChangeOutputFile, OutputFile: OutputFileError{path, why}})
	p.j.publish()
}

// fileFailure says which file failed, and why.
func (p *filesPart) fileFailure(err error) (path, why string) {
	e := storeError(err, p.folder.Path())
	return e.Path, e.Errno
}

// errTotal is why a file has less than what is kept of a stream.
var errTotal = errors.New("the files of this server hold limits.spoolTotalBytes: what is missing in this one was kept in memory alone, of the newest and for as long as the job was known; job/remove makes room for others")

// finishFile puts a stream's file in order.
func (p *filesPart) finishFile(st *stream) error {
	if err := st.spool.Finish(); err != nil {
		return err
	}
	if st.spool.Err() != nil {
		return nil // That was told.
	}
	if spool.Length(st.spool.Stored()) < spool.Length(st.spool.Kept()) {
		return &fs.PathError{Op: "store", Path: filepath.Join(p.folder.Path(), files[st.name]), Err: errTotal}
	}
	return nil
}

// recordTime is how late at most it is written that a job has started or exited, so
// that a command which is over at once costs one write and not three.
const recordTime = 100 * time.Millisecond

// record has what is known written some time soon.
func (p *filesPart) record(now time.Time) {
	p.j.actor.lock.Check()
	if p.folder != nil && p.recordAt.IsZero() {
		p.recordAt = now.Add(recordTime)
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
func (p *filesPart) recordWait(now time.Time) {
	if p.folder != nil && !p.isVacant() && p.waitAt.IsZero() && p.j.waiting.watch.storedWait() != p.wait {
		p.waitAt = now.Add(recordWaitTime)
	}
}

func (p *filesPart) review(now time.Time) {
	if !p.waitAt.IsZero() && !now.Before(p.waitAt) {
		p.waitAt = time.Time{}
		if p.j.waiting.watch.storedWait() != p.wait && !p.isVacant() {
			p.recordAt = now
		}
	}
	if !p.recordAt.IsZero() && !now.Before(p.recordAt) {
		p.recordAt = time.Time{}
		p.wait = p.j.waiting.watch.storedWait()
		p.j.mgr.settings.archive.put(errand{what: errandRecord, job: p.j, info: p.j.snapshot()})
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
func (p *filesPart) stored() []StreamInfo { return p.j.output.streamInfo((*spool.Spool).Stored) }

// placed is what of the job's streams is in files that grow: of one that is a ring, or is about
// to be, it tells that something is missing.
func (p *filesPart) placed() (all []StreamInfo) {
	for _, st := range p.j.output.streams {
		kept, end := st.spool.Placed()
		all = append(all, StreamInfo{Name: st.name, NextOffset: end, Kept: kept})
	}
	return all
}

// writeInfo writes what is known beside the output, with what is stored of it when it is its turn;
// nothing after what is known later, or final.
func (p *filesPart) writeInfo(info Info, stage infoStage, stored func() []StreamInfo) error {
	p.infoMu.Lock()
	defer p.infoMu.Unlock()
	if stage < p.infoStage || p.infoStage == infoFinal {
		return nil
	}
	p.infoStage = stage
	return p.replaceInfo(info, stored())
}

// recordRing writes down that the file of a stream is to be a ring. From then on nobody but this
// tells its mark from what a job can print, until its order was written down.
func (p *filesPart) recordRing() error { return p.writeInfo(*p.j.Published(), infoLiving, p.placed) }

func (p *filesPart) replaceInfo(info Info, streams []StreamInfo) error {
	info.Streams = streams
	b, err := p.j.mgr.settings.archive.encode(info)
	if err != nil {
		return err
	}
	return p.folder.Replace(stored.InfoFile, b)
}

// recordOrder writes down what the file of a stream will hold that is put in order. From then
// on nobody but this tells our lines in it from what the job has printed, should the server be
// killed before it has written what is final.
func (p *filesPart) recordOrder(name Stream, kept []Range) error {
	all := p.stored()
	all[slices.IndexFunc(all, func(s StreamInfo) bool { return s.Name == name })].Kept = kept
	return p.writeInfo(*p.filing, infoFiling, func() []StreamInfo { return all })
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
func (p *filesPart) finishFiles() {
	close(p.j.vacant)
	if p.folder == nil {
		p.j.ending.tellClosed()
		return
	}
	p.j.closeDescriptors()
	p.j.process.Store(nil)
	p.j.st.step = stepFiles
	p.recordAt = time.Time{}
	info := p.j.snapshot()
	p.filing = ptr(info)
	info.Status, info.Background = StatusClosed, nil
	p.j.output.loops.Go(func() {
		for _, st := range p.j.output.streams {
			<-st.done
		}
		if err := p.recording.await(); err != nil && info.OutputFileError == "" {
			info.OutputFile, info.OutputFileError = p.fileFailure(err)
		}
		for _, st := range p.j.output.streams {
			if err := p.finishFile(st); err != nil {
				p.outputFileFailed(err)
				if info.OutputFileError == "" {
					info.OutputFile, info.OutputFileError = p.fileFailure(err)
				}
			}
		}
		if err := p.writeInfo(info, infoFinal, p.stored); err != nil {
			p.outputFileFailed(err)
			p.j.mgr.settings.archive.put(errand{what: errandOwe, job: p.j, info: info})
			p.j.mgr.settings.archive.payLater(err)
		} else {
			p.j.mgr.settings.archive.takes()
		}
		p.j.post(filedMsg{})
	})
}

// isVacant says whether nothing of the job is left and all that it wrote is stored.
func (p *filesPart) isVacant() bool { return p.j.st.step >= stepFiles }

// abandonFiles lets go of the files of a job that did not come to its end.
func (p *filesPart) abandonFiles() {
	if p.folder == nil || p.isVacant() {
		return
	}
	p.recording.end()
	p.j.output.loops.Go(func() {
		for _, st := range p.j.output.streams {
			if err := st.spool.Close(); err != nil {
				p.j.log.Debug("closing an output file", "job", p.j.id, "error", err)
			}
		}
	})
}

// discard deletes what is stored of a job that is closed and will be let go of, once
// nobody reads it; with unsent, once all of it was sent, too, and when there is time.
// then is called with what went wrong, from any goroutine.
func (p *filesPart) discard(unsent bool, then func(error)) {
	if p.folder == nil {
		then(nil)
		return
	}
	what := errandDelete
	if unsent {
		what = errandDrop
	}
	p.fileHolds.afterwards(unsent, func() {
		p.j.mgr.settings.archive.put(errand{what: what, job: p.j, then: then})
	})
}

// logDiscard takes what went wrong where nobody has asked for it.
func (p *filesPart) logDiscard(err error) {
	if err != nil {
		p.j.log.Warn("the files of a job that was let go of are not all deleted", "job", p.j.id, "error", err)
	}
}

// deleteFiles is discard for the archive, which has made them.
func (p *filesPart) deleteFiles() error {
	var errs []error
	for _, st := range p.j.output.streams {
		errs = append(errs, st.spool.Remove())
	}
	return errors.Join(append(errs, p.recording.remove(), p.folder.Remove(stored.InfoFile))...)
}

// holds counts who reads a job's files. What they wait for is the deletion.
type holds struct {
	mu      sync.Mutex
	answers int    // that are being made
	lanes   int    // whose output has not all been sent
	unsent  bool   // then waits for lanes, too
	then    func() // nil: nothing waits
}

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

func (p *filesPart) due(time.Time) time.Time { return earliest(p.recordAt, p.waitAt) }
