package jobs

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/store"
)

// infoFile is what is known of a job, beside its output.
const infoFile = "info.json"

// A Persist says where output is kept beside memory.
type Persist struct {
	Directory string                     // absolute; "" = the default place, and memory alone where that can't be used
	Session   string                     // the name of this server's directory in it, never used before
	Encode    func(Info) ([]byte, error) // makes what is stored beside the output
}

// An archive is the directory of a server. Its goroutine does what is done there and
// nobody waits for on his way: it writes what is known of jobs, and deletes.
//
// What is known is written late, so that a command which is over at once costs one
// write and not three. The last of it, at the end of a job, is written when it comes.
type archive struct {
	// Immutable:
	session *store.Session
	state   string // the directory that session lies in
	total   *spool.Budget
	encode  func(Info) ([]byte, error)
	log     *slog.Logger
	done    chan struct{} // closed when run has returned

	mail *mailbox[errand] // any goroutine -> run

	// Owned by run:
	late  map[*Job]Info // to be written when the timer says so
	order []*Job        // in late
}

// An errand is what an archive is asked for.
type errand struct {
	what errandKind
	job  *Job
	info Info        // to be written
	then func(error) // called by run, when it is done
}

type errandKind int

const (
	errandRecord errandKind = iota // some time soon; then is not called
	errandFinal                    // at once, and for the last time
	errandDelete
	errandClose
)

// recordTime is how late at most it is written that a job has started or exited.
const recordTime = 100 * time.Millisecond

// openArchive makes the directory of a session. Nil and no error: output is kept in
// memory, as asked for or because nobody has named a directory and the default place
// can't be used.
func openArchive(p *Persist, l Limits, log *slog.Logger) (*archive, error) {
	if p == nil {
		return nil, nil
	}
	dir, byDefault := p.Directory, p.Directory == ""
	if !byDefault && !filepath.IsAbs(dir) {
		return nil, Invalid("/options/persist/directory", "the directory %q must be absolute", dir)
	}
	var err error
	if byDefault {
		dir, err = store.Place()
	}
	var session *store.Session
	if err == nil {
		session, err = store.Open(dir, p.Session)
	}
	switch {
	case err != nil && byDefault:
		log.Warn("output is kept in memory alone, since the directory for it cannot be used", "error", err)
		return nil, nil
	case err != nil:
		e := outputFileError(err, dir)
		e.Message = "output cannot be kept in " + dir + " (" + e.Errno + "); name a directory that can be written, or ask for persist.mode memory"
		return nil, e
	}
	a := &archive{
		session: session, state: dir, total: spool.NewBudget(l.SpoolTotal), encode: p.Encode, log: log,
		done: make(chan struct{}), mail: newMailbox[errand](), late: map[*Job]Info{},
	}
	go a.run()
	return a, nil
}

// outputFileError is a refusal that names the file, or path where err does not.
func outputFileError(err error, path string) *Error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		path = p.Path
	}
	e := errorf(CodeOutputFileError, "%s: %s", path, errnoText(err))
	e.Path, e.Errno = path, errnoText(err)
	return e
}

// folder is the directory of a job. Nothing is made yet.
func (a *archive) folder(id ID) *store.Folder {
	return a.session.Folder(strconv.FormatInt(int64(id), 10))
}

// put asks for something. Where the archive is closed, it is answered here.
func (a *archive) put(e errand) {
	if !a.mail.put(e) && e.then != nil {
		e.then(nil)
	}
}

func (a *archive) run() {
	defer close(a.done)
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	for closing := false; !closing; {
		select {
		case <-a.mail.wake:
			for _, e := range a.mail.take() {
				closing = closing || e.what == errandClose
				if e.what == errandRecord && len(a.late) == 0 {
					t.Reset(recordTime)
				}
				a.do(e)
			}
		case <-t.C:
			a.flush()
		}
	}
	for _, e := range a.mail.close() {
		a.do(e)
	}
	a.flush()
	if err := a.session.Close(); err != nil {
		a.log.Warn("closing the output directory", "error", err)
	}
}

func (a *archive) do(e errand) {
	switch e.what {
	case errandRecord:
		if _, is := a.late[e.job]; !is {
			a.order = append(a.order, e.job)
		}
		a.late[e.job] = e.info
	case errandFinal:
		a.forget(e.job)
		e.info.Streams = e.job.streamInfo() // they were put in order since
		e.then(a.write(e.job, e.info))
	case errandDelete:
		a.forget(e.job)
		e.then(e.job.deleteFiles())
	case errandClose:
	}
}

func (a *archive) forget(j *Job) {
	delete(a.late, j)
	a.order = slices.DeleteFunc(a.order, func(o *Job) bool { return o == j })
}

// flush writes what was put off.
func (a *archive) flush() {
	for _, j := range a.order {
		if err := a.write(j, a.late[j]); err != nil {
			j.outputFileFailed(err)
		}
	}
	clear(a.late)
	a.order = nil
}

func (a *archive) write(j *Job, info Info) error {
	b, err := a.encode(info)
	if err != nil {
		return err
	}
	return j.folder.Replace(infoFile, b)
}
