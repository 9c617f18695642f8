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

	"shelld.dev/shelld/internal/safedir"
	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/store"
	"shelld.dev/shelld/jobs/internal/turn"
	"shelld.dev/shelld/jobs/stored"
)

// A Persist says where output is kept besides memory.
type Persist struct {
	Directory string                     // absolute; "" = the default place, or memory alone if that can't be used
	TrustPath bool                       // trust other users who can change the directory, its content or the path to it
	Session   string                     // the name of this server's directory in it, never used before
	Encode    func(Info) ([]byte, error) // encodes the record that is stored beside the output

	Reader    stored.InfoReader // decodes it; nil: the directories of earlier servers are left alone
	Keep      stored.Retention  // for the jobs of earlier servers; see WithDefaults
	Temporary bool              // the files of this server are deleted when it ends
}

// An archive is the directory of a server. Its goroutine does the file work that no request waits for: it writes the
// records of live jobs, and deletes files.
//
// Files whose deletion no client has requested are deleted when the archive is idle: if commands follow each other,
// deleting files would slow them down.
type archive struct {
	// Immutable:
	session *store.Session
	state   string // the directory that session lies in
	total   *spool.Budget
	most    int64 // limit of total
	encode  func(Info) ([]byte, error)
	log     *slog.Logger
	done    chan struct{} // closed when run has returned
	tidied  chan struct{} // closed when the directories of earlier servers have been cleaned up
	settle  func()        // cancels that
	scratch bool          // all files are deleted at the end

	mail      *turn.Mailbox[errand] // any goroutine -> run
	steps     atomic.Int64          // errands done by run: if the number grows, run is not stuck
	owes      atomic.Bool           // owed is not empty; run -> any goroutine
	paysLater atomic.Bool           // a retry of owed is scheduled

	// Owned by run:
	drops []errand // to be done when there is time
	owed  []errand // final records of jobs that could not be written to the disk
}

// filed are the files of a job.
type filed interface {
	recordLiving(info Info) error // writes the record, unless a later one was written
	replaceRecord(info Info) error
	outputFileFailed(err error)
	deleteFiles() error
	latest() *Info
}

// An errand is a task for the archive.
type errand struct {
	what errandKind
	id   ID // of the job
	job  filed
	info Info        // the record to be written
	then func(error) // called by run when the errand is done
}

type errandKind int

const (
	errandRecord errandKind = iota
	errandOwe               // the final record could not be written to the disk
	errandPay               // retry owed: the disk has accepted other data, or the delay of payLater is over
	errandDelete
	errandDrop // errandDelete at a later time
	errandClose
)

// dropTime is how long the archive must be idle before it deletes files whose deletion no client has requested.
// maxDrops is the number of jobs whose files may wait for that.
const (
	dropTime = time.Second
	maxDrops = 1000
)

// maxOwed is the number of jobs whose final records are retried.
const maxOwed = 1000

// closeTime is how long deleting files may delay the server's end once everything else is done.
const closeTime = time.Minute

// openArchive makes the directory of a session. If it returns nil and no error, output is kept in memory: either this
// was requested, or no directory was named and the default place can't be used. In the second case why is the reason.
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
		log.Warn("output is kept only in memory: the output directory is unusable", "error", e.Message)
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

// refusedArchive returns the error for a directory in which output cannot be kept, with advice. dir is "" if there is
// no directory.
func refusedArchive(err error, dir string) *Error {
	if dir == "" {
		e := errorf(CodeOutputFileError, "output cannot be kept in files (%v); set persist.directory, or persist.mode to memory", err)
		e.Errno = err.Error()
		return e
	}
	e := storeError(err, dir)
	why := e.Errno
	if e.Path != dir {
		why = e.Path + ": " + why
	}
	e.Message = "output cannot be kept in " + dir + " (" + why + "); set persist.directory to a writable directory, or persist.mode to memory"
	if safedir.IsUnsafe(err) {
		e.Message = "output cannot be kept in " + dir + " (" + why + "); choose a directory that no other user can change, set persist.trustPath if you trust those users, or set persist.mode to memory"
	}
	return e
}

// openSession makes the directory of a session, and locks it.
func openSession(dir string, p *Persist, log *slog.Logger) (*store.Session, error) {
	const tries = 100 // other servers may delete the new directory as they clean up, each of them once
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
				log.Warn("the session directory cannot be locked: it will never be tidied up", "directory", s.Path(), "error", err)
				return s, nil
			case try == tries:
				return nil, errors.Join(err, s.Close())
			}
			_ = s.Close() // It is gone.
		}
	}
}

// tidy cleans up after earlier servers, in a goroutine of its own.
func (a *archive) tidy(ctx context.Context, p *Persist) {
	defer close(a.tidied)
	if p.Reader == nil {
		return
	}
	past, err := stored.Open(a.state, p.Reader, a.log)
	if err != nil {
		a.log.Warn("the sessions of earlier servers cannot be opened", "error", err)
		return
	}
	keep := p.Keep.WithDefaults()
	report, err := past.Tidy(ctx, &keep, false)
	switch {
	case errors.Is(err, stored.ErrBusy), errors.Is(err, context.Canceled):
		a.log.Debug("the sessions of earlier servers were not tidied up", "reason", err)
	case err != nil:
		a.log.Warn("the sessions of earlier servers cannot be tidied up", "error", err)
	case report.Lost > 0 || report.Deleted > 0:
		a.log.Info("tidied up the sessions of earlier servers", "lost", report.Lost, "deleted", report.Deleted, "bytes", report.Freed)
	}
	if err := past.Close(); err != nil {
		a.log.Debug("closing the state directory", "error", err)
	}
}

// folder returns the directory of a job. It does not make the directory.
func (a *archive) folder(id ID) *store.Folder {
	return a.session.Folder(strconv.FormatInt(int64(id), 10))
}

// put posts an errand. If the archive is closed, put calls the errand's callback itself.
func (a *archive) put(e errand) {
	if !a.mail.Put(e) && e.then != nil {
		e.then(nil)
	}
}

// close does the remaining errands. It returns false if no errand was done for shutdownSlack, or if all of them take
// longer than closeTime. It does not bound them by shutdownSlack together, since many may be left, and a slow disk
// takes its time for each.
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

// settled waits until tidy has returned, for at most shutdownSlack. If a slow disk takes longer, tidy is abandoned,
// whatever it is doing: the next server continues from there.
func (a *archive) settled() {
	late := time.NewTimer(shutdownSlack)
	defer late.Stop()
	select {
	case <-a.tidied:
	case <-late.C:
		a.log.Debug("the server exits before the sessions of earlier servers are tidied up")
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
				idle.Reset(0) // one at a time: a client may wait for another errand
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

// erase deletes the stored files of this server's jobs.
func (a *archive) erase() {
	err := a.session.Erase(func() { a.steps.Add(1) })
	if err != nil {
		a.log.Warn("some output files of this server could not be deleted", "error", err)
	}
}

func (a *archive) do(e errand) {
	defer a.steps.Add(1)
	switch e.what {
	case errandRecord:
		switch err := e.job.recordLiving(e.info); {
		case err == nil:
			a.pay(false)
		case isResource(err):
			a.recordLater(e.id, e.job)
		default:
			e.job.outputFileFailed(err)
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

// recordLater schedules another write of a job's record, for when there may be free descriptors again. A record that
// was written meanwhile, a final one among them, is not replaced by an older one.
func (a *archive) recordLater(id ID, j filed) {
	time.AfterFunc(recordTime, func() {
		if p := j.latest(); p != nil {
			a.put(errand{what: errandRecord, id: id, job: j, info: *p})
		}
	})
}

// drop deletes the files of the job that has waited longest for it.
func (a *archive) drop() {
	if len(a.drops) > 0 {
		defer a.steps.Add(1)
		e := a.drops[0]
		a.drops[0] = errand{} // otherwise the job would stay in memory as long as the list
		if a.drops = a.drops[1:]; len(a.drops) == 0 {
			a.drops = nil
		}
		a.delete(e)
	}
}

func (a *archive) delete(e errand) {
	a.owed = slices.DeleteFunc(a.owed, func(o errand) bool { return o.job == e.job })
	e.then(e.job.deleteFiles())
	a.pay(false)
}

// pay retries the writes that are owed, since the disk may have room again. Without its final record, a job whose end
// was reported would look like a lost one to the next reader of the directory. If a try fails, there is no room, and
// the others wait, unless this is the last call. The job that failed goes to the end of the list, since the cause may
// be that job's directory.
func (a *archive) pay(last bool) {
	var waits []errand
	for i, e := range a.owed {
		err := e.job.replaceRecord(e.info)
		a.steps.Add(1)
		if err == nil {
			continue
		}
		a.log.Debug("the state of a job still cannot be written to disk", "job", e.id, "error", err)
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

// payLater schedules a retry of owed for when there may be descriptors again: on an idle server nothing else would
// cause one. After other errors, the next successful write causes the retry.
func (a *archive) payLater(err error) {
	if isResource(err) && !a.paysLater.Swap(true) {
		time.AfterFunc(recordTime, func() {
			a.paysLater.Store(false)
			a.put(errand{what: errandPay})
		})
	}
}

// takes notes a successful write to the disk, and so causes a retry of owed.
func (a *archive) takes() {
	if a.owes.Load() {
		a.put(errand{what: errandPay})
	}
}

// recordTime is the maximum delay until the start or the exit of a job is written. Due to the delay, a command that
// ends at once costs one write instead of three.
const recordTime = 100 * time.Millisecond
