package jobs

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/store"
	"shelld/jobs/internal/turn"
	"shelld/jobs/stored"
)

// A Persist says where output is kept beside memory.
type Persist struct {
	Directory string                     // absolute; "" = the default place, and memory alone where that can't be used
	TrustPath bool                       // whoever may change what leads to the directory, or what is in it
	Session   string                     // the name of this server's directory in it, never used before
	Encode    func(Info) ([]byte, error) // makes what is stored beside the output

	Reader    stored.InfoReader // reads that; nil: what earlier servers have left is left alone
	Keep      stored.Retention  // of what they have left; see WithDefaults
	Temporary bool              // what this server has stored is deleted when it ends
}

// An archive is the directory of a server. Its goroutine does what is done there and
// nobody waits for on his way: it writes what is known of jobs that live, and deletes.
//
// What nobody has asked to be deleted goes when there is nothing else to do: where
// commands follow each other, it would be in their way.
type archive struct {
	// Immutable:
	session *store.Session
	state   string // the directory that session lies in
	total   *spool.Budget
	most    int64 // that total lets be stored
	encode  func(Info) ([]byte, error)
	log     *slog.Logger
	done    chan struct{} // closed when run has returned
	tidied  chan struct{} // closed when what earlier servers have left was seen to
	settle  func()        // ends that before its time
	scratch bool          // all is deleted in the end

	mail      *turn.Mailbox[errand] // any goroutine -> run
	steps     atomic.Int64          // how many errands run has done: it is not stuck while there are more of them
	owes      atomic.Bool           // something is owed; run -> any goroutine
	paysLater atomic.Bool           // and is to be tried again soon

	// Owned by run:
	drops []errand // to be carried out when there is time
	owed  []errand // what is known last of jobs, which the disk did not take
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
	errandRecord errandKind = iota
	errandOwe               // the disk did not take what is final
	errandPay               // but takes what another job has
	errandDelete
	errandDrop // is errandDelete, some time
	errandClose
)

// dropTime is how long nothing must have been asked for before files are deleted that
// nobody asked to be, and maxDrops how many jobs may wait for that.
const (
	dropTime = time.Second
	maxDrops = 1000
)

// maxOwed is of how many jobs it is tried again to write what is known.
const maxOwed = 1000

// closeTime is how long deleting files may hold up the server's end, when all else is over.
const closeTime = time.Minute

// openArchive makes the directory of a session. Nil and no error: output is kept in
// memory, as asked for or because nobody has named a directory and the default place
// can't be used. Then why says what is wrong with that.
func openArchive(p *Persist, l Limits, log *slog.Logger) (a *archive, why string, err error) {
	if p == nil {
		return nil, "", nil
	}
	dir, byDefault := p.Directory, p.Directory == ""
	if !byDefault && !filepath.IsAbs(dir) {
		return nil, "", Invalid("/options/persist/directory", "the directory %q must be absolute", dir)
	}
	if byDefault {
		dir, err = store.Place()
	}
	var session *store.Session
	if err == nil {
		session, err = openSession(dir, p, log)
	}
	switch {
	case err != nil && byDefault:
		e := refusedArchive(err, dir)
		log.Warn("output is kept in memory alone, since the directory for it cannot be used", "error", e.Message)
		return nil, e.Message, nil
	case err != nil:
		return nil, "", refusedArchive(err, dir)
	}
	a = &archive{
		session: session, state: session.State(), total: spool.NewBudget(l.SpoolTotal), most: l.SpoolTotal,
		encode: p.Encode, log: log, done: make(chan struct{}), mail: turn.NewMailbox[errand](),
		tidied: make(chan struct{}), scratch: p.Temporary,
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.settle = cancel
	go a.run()
	go a.tidy(ctx, p)
	return a, "", nil
}

// refusedArchive says why output cannot be kept in a directory, "" where there is none, and
// what to do.
func refusedArchive(err error, dir string) *Error {
	if dir == "" {
		e := errorf(CodeOutputFileError, "output cannot be kept in files (%v); name a persist.directory, or ask for persist.mode memory", err)
		e.Errno = err.Error()
		return e
	}
	e := storeError(err, dir)
	why := e.Errno
	if e.Path != dir {
		why = e.Path + ": " + why
	}
	e.Message = "output cannot be kept in " + dir + " (" + why + "); name a directory that can be written, or ask for persist.mode memory"
	if store.IsUnsafe(err) {
		e.Message = "output cannot be kept in " + dir + " (" + why + "); name a directory that nobody else can change, ask for persist.trustPath if whoever can is to be trusted, or ask for persist.mode memory"
	}
	return e
}

// openSession makes the directory of a session, and locks it.
func openSession(dir string, p *Persist, log *slog.Logger) (*store.Session, error) {
	const tries = 100 // others may tidy up, each of them once
	open := store.Open
	if p.TrustPath {
		open = store.OpenTrusting
	}
	for try := 1; ; try++ {
		s, err := open(dir, p.Session)
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || try == tries) {
			return nil, err
		}
		if err == nil {
			switch err = s.Hold(p.Temporary); {
			case err == nil:
				return s, nil
			case !errors.Is(err, store.ErrSwept):
				log.Warn("the directory of this session cannot be locked: nobody will ever tidy it up", "directory", s.Path(), "error", err)
				return s, nil
			case try == tries:
				return nil, errors.Join(err, s.Close())
			}
			_ = s.Close() // It is gone.
		}
	}
}

// tidy sees to what earlier servers have left, beside everything else.
func (a *archive) tidy(ctx context.Context, p *Persist) {
	defer close(a.tidied)
	if p.Reader == nil {
		return
	}
	past, err := stored.Open(a.state, p.Reader, a.log)
	if err != nil {
		a.log.Warn("what earlier servers have left cannot be looked at", "error", err)
		return
	}
	keep := p.Keep.WithDefaults()
	report, err := past.Tidy(ctx, &keep, false)
	switch {
	case errors.Is(err, stored.ErrBusy), errors.Is(err, context.Canceled):
		a.log.Debug("what earlier servers have left was not looked through", "reason", err)
	case err != nil:
		a.log.Warn("what earlier servers have left cannot be looked through", "error", err)
	case report.Lost > 0 || report.Deleted > 0:
		a.log.Info("looked through what earlier servers have left", "lost", report.Lost, "deleted", report.Deleted, "bytes", report.Freed)
	}
	if err := past.Close(); err != nil {
		a.log.Debug("closing the state directory", "error", err)
	}
}

// storeError is a refusal that names the file, or path where err does not.
func storeError(err error, path string) *Error {
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
	if !a.mail.Put(e) && e.then != nil {
		e.then(nil)
	}
}

// close has the last errands done. It returns false where none of them is done for
// shutdownSlack, since many may be left, and each takes a slow disk its time; or where all
// of them take longer than closeTime.
func (a *archive) close() bool {
	a.put(errand{what: errandClose})
	late, over := time.NewTimer(shutdownSlack), time.NewTimer(closeTime)
	defer late.Stop()
	defer over.Stop()
	for seen := a.steps.Load(); ; {
		select {
		case <-a.done:
			a.settled()
			return true
		case <-over.C:
			return false
		case <-late.C:
			before := seen
			if seen = a.steps.Load(); seen == before {
				return false
			}
			late.Reset(shutdownSlack)
		}
	}
}

// settled waits until nobody sees to what earlier servers have left. A disk that takes longer
// keeps him from it for good, at whatever he is: the next server goes on from there.
func (a *archive) settled() {
	late := time.NewTimer(shutdownSlack)
	defer late.Stop()
	select {
	case <-a.tidied:
	case <-late.C:
		a.log.Debug("the server ends while it looks through what earlier ones have left")
	}
}

func (a *archive) run() {
	defer close(a.done)
	idle := time.NewTimer(time.Hour)
	defer idle.Stop()
	for closing := false; !closing; {
		select {
		case <-a.mail.Wake():
			idle.Reset(dropTime)
			for _, e := range a.mail.Take() {
				closing = closing || e.what == errandClose
				a.do(e)
			}
		case <-idle.C:
			if a.drop(); len(a.drops) > 0 {
				idle.Reset(0) // one at a time: somebody may wait for something else
			}
		}
	}
	for _, e := range a.mail.Close() {
		a.do(e)
	}
	for len(a.drops) > 0 {
		a.drop()
	}
	a.pay(true)
	a.settle()
	if a.scratch {
		a.erase()
	}
	if err := a.session.Close(); err != nil {
		a.log.Warn("closing the output directory", "error", err)
	}
}

// erase deletes what is stored of this server's jobs.
func (a *archive) erase() {
	err := a.session.Erase(func() { a.steps.Add(1) })
	if err != nil {
		a.log.Warn("not all output files of this server are deleted", "error", err)
	}
}

func (a *archive) do(e errand) {
	defer a.steps.Add(1)
	switch e.what {
	case errandRecord:
		switch err := e.job.files.writeInfo(e.info, infoLiving, e.job.files.placed); {
		case err == nil:
			a.pay(false)
		case isResource(err):
			a.recordLater(e.job)
		default:
			e.job.files.outputFileFailed(err)
		}
	case errandPay:
		a.pay(false)
	case errandOwe:
		a.owes.Store(true)
		if a.owed = append(a.owed, e); len(a.owed) > maxOwed {
			a.owed = slices.Delete(a.owed, 0, 1)
		}
	case errandDelete:
		a.delete(e)
	case errandDrop:
		a.drops = append(a.drops, e)
		if len(a.drops) > maxDrops || a.total.Used() > a.most/2 {
			a.drop()
		}
	case errandClose:
	}
}

// recordLater has what is known of a job written down when there may be descriptors again. What was
// written down meanwhile, by others or in the end, is not replaced by anything older.
func (a *archive) recordLater(j *Job) {
	time.AfterFunc(recordTime, func() {
		if p := j.Published(); p != nil {
			a.put(errand{what: errandRecord, job: j, info: *p})
		}
	})
}

// drop deletes the files of the job that has waited longest for it.
func (a *archive) drop() {
	if len(a.drops) > 0 {
		defer a.steps.Add(1)
		e := a.drops[0]
		a.drops[0] = errand{} // or the job would stay in memory for as long as the list
		if a.drops = a.drops[1:]; len(a.drops) == 0 {
			a.drops = nil
		}
		a.delete(e)
	}
}

func (a *archive) delete(e errand) {
	a.owed = slices.DeleteFunc(a.owed, func(o errand) bool { return o.job == e.job })
	e.then(e.job.files.deleteFiles())
	a.pay(false)
}

// pay tries again to write what is owed, now that there may be room: or the next one who looks
// would take a job whose end was told for one that was lost. Where a try fails there is none, and
// the others wait, but for the last time; it is another one's turn then, since it may be that one's
// directory that is in the way.
func (a *archive) pay(last bool) {
	var waits []errand
	for i, e := range a.owed {
		err := e.job.files.replaceInfo(e.info, e.job.files.stored())
		a.steps.Add(1)
		if err == nil {
			continue
		}
		a.log.Debug("the disk still does not take what is known of a job", "job", e.job.id, "error", err)
		if !last {
			a.payLater(err)
		}
		if waits = append(waits, e); !last {
			waits = append(slices.Clip(a.owed[i+1:]), e)
			break
		}
	}
	a.owed = waits
	a.owes.Store(len(waits) > 0)
}

// payLater has what is owed tried again when there may be descriptors again: on a server that does nothing
// else nobody would. Where it is another error, who next finds that the disk takes something does so.
func (a *archive) payLater(err error) {
	if isResource(err) && !a.paysLater.Swap(true) {
		time.AfterFunc(recordTime, func() {
			a.paysLater.Store(false)
			a.put(errand{what: errandPay})
		})
	}
}

// takes says that the disk takes what is written.
func (a *archive) takes() {
	if a.owes.Load() {
		a.put(errand{what: errandPay})
	}
}
