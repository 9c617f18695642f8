package jobs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/stored"
)

// This file handles the output files of a job. Code that accesses the files runs in goroutines of its own, since a disk
// may be arbitrarily slow.

// files maps streams to the names of their files.
var files = map[Stream]string{PTY: stored.StdoutFile, Stdout: stored.StdoutFile, Stderr: stored.StderrFile}

// filesPart keeps the output, the recording and info.json of a job on disk.
type filesPart struct {
	noPart
	j *base

	ending interface{ tellClosed() }

	recording *recording // nil: the job is not recorded
	filing    *Info      // the job's info at the time when its files are put in order; set before that
	infoMu    sync.Mutex // held while info.json is written
	infoStage infoStage  // the stage of the last info.json; guarded by infoMu
	filed     bool       // the files are complete
	recordAt  time.Time  // when the job's info is to be written; zero: no write is due
	wait      string     // the wait for input as info.json has it: see storedWait
	waitAt    time.Time  // when wait is to be compared with the current state; zero: they are equal
}

// openSpool returns the spool of a stream. The stream's readLoop creates the file with the first byte, so that the
// start of a job does not wait for a disk.
func (p *filesPart) openSpool(name Stream) *spool.Spool {
	l := p.j.mgr.settings.limits
	if p.j.folder == nil {
		return spool.New(l.SpoolMemory)
	}
	return spool.Open(spool.Options{
		Memory:   l.SpoolMemory,
		Create:   func() (*os.File, error) { return p.j.folder.Create(files[name]) },
		Tag:      stored.Tag(filepath.Base(p.j.mgr.settings.archive.session.Path()), int64(p.j.id), files[name]),
		DiskHead: l.SpoolDisk / 8, DiskTail: l.SpoolDisk - l.SpoolDisk/8,
		Total:  p.j.mgr.settings.archive.total,
		Record: func(kept []Range) error { return p.recordOrder(name, kept) },
		Wraps:  p.recordRing,
		Failed: p.outputFileFailed,
		Unread: p.j.output.goesPast(name),
	})
}

// outputFileFailed reports an error of the job's files to the job, whose output goes on in memory. Any goroutine may
// call it.
func (p *filesPart) outputFileFailed(err error) {
	p.j.log.Warn("an output file failed; further output of the job is kept in memory", "job", p.j.id, "error", err)
	p.j.post(fileFailedMsg{err})
}

func (p *filesPart) onFileFailed(err error) {
	if p.j.info.OutputFileError != "" {
		return // the first error caused the others
	}
	path, why := p.fileFailure(err)
	p.j.info.OutputFile, p.j.info.OutputFileError = path, why
	p.j.untold.Add(Changed{What: ChangeOutputFile, OutputFile: OutputFileError{path, why}})
	p.j.publish()
}

// fileFailure returns the file that failed, and the error.
func (p *filesPart) fileFailure(err error) (path, why string) {
	e := storeError(err, p.j.folder.Path())
	return e.Path, e.Errno
}

// errTotal is the error if a file holds less than what is kept of a stream.
var errTotal = errors.New("the server's output files reached limits.spoolTotalBytes: the missing output was kept only in memory, the newest part of it, until the job was removed; job/remove makes room for other jobs")

// finishFile puts a stream's file in order.
func (p *filesPart) finishFile(st *stream) error {
	if err := st.spool.Finish(); err != nil {
		return err
	}
	if st.spool.Err() != nil {
		return nil // Already reported.
	}
	if spool.Length(st.spool.Stored()) < spool.Length(st.spool.Kept()) {
		return &fs.PathError{Op: "store", Path: filepath.Join(p.j.folder.Path(), files[st.name]), Err: errTotal}
	}
	return nil
}

// record schedules a write of the job's info.
func (p *filesPart) record(now time.Time) {
	p.j.lock.Check()
	if p.j.folder != nil && p.recordAt.IsZero() {
		p.recordAt = now.Add(recordTime)
	}
}

// recordWaitTime is the delay between a change of a job's wait for input and its writing. A question that is answered
// within that time is not written.
const recordWaitTime = 500 * time.Millisecond

// storedWait returns the text that info.json is to have of the job's wait for input. It is "" if the job does not wait,
// or if it does something else at the same time.
func (p *filesPart) storedWait() string {
	w := p.j.waitingFor
	if w == nil || w.State != inputwait.Reading {
		return ""
	}
	return string(w.Kind) + " " + w.Prompt
}

// recordWait schedules a write if the job has begun or stopped to wait for input.
func (p *filesPart) recordWait(now time.Time) {
	if p.j.folder != nil && !p.j.isVacant() && p.waitAt.IsZero() && p.storedWait() != p.wait {
		p.waitAt = now.Add(recordWaitTime)
	}
}

func (p *filesPart) review(now time.Time) {
	if !p.waitAt.IsZero() && !now.Before(p.waitAt) {
		p.waitAt = time.Time{}
		if p.storedWait() != p.wait && !p.j.isVacant() {
			p.recordAt = now
		}
	}
	if !p.recordAt.IsZero() && !now.Before(p.recordAt) {
		p.recordAt = time.Time{}
		p.wait = p.storedWait()
		p.j.mgr.settings.archive.put(errand{what: errandRecord, id: p.j.id, job: p, info: p.j.snapshot()})
	}
}

// infoStage is the progress of a job's info.json. It never goes back. This matters because different goroutines write
// the info of a live job and the final info.
type infoStage int

const (
	infoLiving infoStage = iota
	infoFiling           // its files are being put in order: info.json already describes their final contents
	infoFinal
)

// stored returns the ranges of the job's streams that are in files, without those that are only in memory.
func (p *filesPart) stored() []StreamInfo { return p.j.output.streamInfo((*spool.Spool).Stored) }

// placed returns the ranges of the job's streams that are in files that grow. For a file that is a ring, or is about to
// become one, it reports that something is missing.
func (p *filesPart) placed() (all []StreamInfo) {
	for _, st := range p.j.output.streams {
		kept, end := st.spool.Placed()
		all = append(all, StreamInfo{Name: st.name, NextOffset: end, Kept: kept})
	}
	return all
}

// writeInfo writes info.json beside the output. It calls stored for the streams when its turn to write comes. It writes
// nothing if info of a later stage, or the final info, was already written.
func (p *filesPart) writeInfo(info Info, stage infoStage, stored func() []StreamInfo) error {
	p.infoMu.Lock()
	defer p.infoMu.Unlock()
	if stage < p.infoStage || p.infoStage == infoFinal {
		return nil
	}
	p.infoStage = stage
	return p.replaceInfo(info, stored())
}

// recordRing records in info.json that the file of a stream is about to become a ring. Until the order of the file is
// recorded, only this distinguishes the file's mark from anything that a job can print.
func (p *filesPart) recordRing() error { return p.writeInfo(*p.j.Published(), infoLiving, p.placed) }

func (p *filesPart) replaceInfo(info Info, streams []StreamInfo) error {
	info.Streams = streams
	b, err := p.j.mgr.settings.archive.encode(info)
	if err != nil {
		return err
	}
	return p.j.folder.Replace(stored.InfoFile, b)
}

// recordOrder records in info.json the ranges that the file of a stream will hold once it is put in order. From then
// on, only this record distinguishes our lines in the file from the job's output, if the server is killed before it has
// written the final info.
func (p *filesPart) recordOrder(name Stream, kept []Range) error {
	all := p.stored()
	all[slices.IndexFunc(all, func(s StreamInfo) bool { return s.Name == name })].Kept = kept
	return p.writeInfo(*p.filing, infoFiling, func() []StreamInfo { return all })
}

// finishFiles completes the files. It is called when nothing of the job is left and all its output is stored. Nothing
// may be appended from here on, because a descriptor of the job's terminal may now belong to an unrelated process.
func (p *filesPart) finishFiles() {
	close(p.j.vacant)
	p.j.info.EndsAt = time.Time{} // nothing is left to end
	if p.j.folder == nil {
		p.ending.tellClosed()
		return
	}
	p.j.closeDescriptors()
	p.j.process.Store(nil)
	p.j.st.step = stepFiles
	p.recordAt = time.Time{}
	info := p.j.snapshot()
	p.filing = ptr(info)
	info.Status, info.Background = StatusClosed, nil
	p.j.background(func() {
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
			p.j.mgr.settings.archive.put(errand{what: errandOwe, id: p.j.id, job: p, info: info})
			p.j.mgr.settings.archive.payLater(err)
		} else {
			p.j.mgr.settings.archive.takes()
		}
		p.j.post(filedMsg{})
	})
}

// abandonFiles closes the files of a job that did not reach its regular end.
func (p *filesPart) abandonFiles() {
	if p.j.folder == nil || p.j.isVacant() {
		return
	}
	p.recording.end()
	p.j.background(func() {
		for _, st := range p.j.output.streams {
			if err := st.spool.Close(); err != nil {
				p.j.log.Debug("closing an output file", "job", p.j.id, "error", err)
			}
		}
	})
}

// discard deletes the stored files of a closed job that is about to be forgotten, once they have no reader. If unsent
// is set, it also waits until all output was sent, and until the archive has time. It calls then with the error, from
// any goroutine.
func (p *filesPart) discard(unsent bool, then func(error)) {
	if p.j.folder == nil {
		then(nil)
		return
	}
	what := errandDelete
	if unsent {
		what = errandDrop
	}
	p.j.holds.afterwards(unsent, func() {
		p.j.mgr.settings.archive.put(errand{what: what, id: p.j.id, job: p, then: then})
	})
}

// logDiscard logs the error of a discard that no client requested.
func (p *filesPart) logDiscard(err error) {
	if err != nil {
		p.j.log.Warn("some files of a removed job could not be deleted", "job", p.j.id, "error", err)
	}
}

// deleteFiles is the part of discard that the archive runs. It deletes the files.
func (p *filesPart) deleteFiles() error {
	var errs []error
	for _, st := range p.j.output.streams {
		errs = append(errs, st.spool.Remove())
	}
	return errors.Join(append(errs, p.recording.remove(), p.j.folder.Remove(stored.InfoFile))...)
}

func (p *filesPart) due(time.Time) time.Time { return earliest(p.recordAt, p.waitAt) }

// recordLiving writes the record of a live job, for the archive.
func (p *filesPart) recordLiving(info Info) error { return p.writeInfo(info, infoLiving, p.placed) }

// replaceRecord writes the final record once more.
func (p *filesPart) replaceRecord(info Info) error { return p.replaceInfo(info, p.stored()) }

func (p *filesPart) latest() *Info { return p.j.Published() }

func (p *filesPart) isFiled() bool { return p.filed }
