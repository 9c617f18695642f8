package stored

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/cast"
	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/store"
)

// A Retention limits the stored jobs of dead servers. The newest jobs are kept, as far as all three limits allow.
type Retention struct {
	Jobs  int           // maximum number of jobs
	Age   time.Duration // maximum time since the last write to a job
	Bytes int64         // maximum size of all their files
}

// DefaultRetention is the retention by default.
var DefaultRetention = Retention{Jobs: 100, Age: 14 * 24 * time.Hour, Bytes: 2 << 30}

// WithDefaults returns r with defaults in place of zero values.
func (r Retention) WithDefaults() Retention {
	return Retention{cmp.Or(r.Jobs, DefaultRetention.Jobs), cmp.Or(r.Age, DefaultRetention.Age), cmp.Or(r.Bytes, DefaultRetention.Bytes)}
}

// A TidyReport is the result of Tidy.
type TidyReport struct {
	Lost    int   // jobs that their server had not finished
	Deleted int   // jobs
	Freed   int64 // bytes
	Kept    int   // remaining jobs of dead servers
	Failed  int   // of these, jobs whose deletion failed
}

// ErrBusy means that another process is tidying the directory.
var ErrBusy = store.ErrBusy

// maxTidied is the maximum number of jobs that one Tidy handles. More jobs wait for the next Tidy.
const maxTidied = 100_000

// Tidy finishes the unfinished jobs of dead servers, and deletes the jobs beyond keep. If keep is nil, it deletes none.
// It never touches the jobs of a living server, nor files that shelld has not made. If another process is tidying the
// directory, Tidy waits for it if patient is set. It returns ErrBusy if patient is not set, or if ctx is done first. If
// a job cannot be finished or deleted, the error is logged and Tidy goes on.
func (d *Directory) Tidy(ctx context.Context, keep *Retention, patient bool) (TidyReport, error) {
	if err := d.store.Tidy(ctx, patient); err != nil {
		return TidyReport{}, err
	}
	t := &tidying{Directory: d, now: time.Now()}
	err := t.each(ctx, func(s *store.PastSession, name string, ids []int64) error { return t.session(ctx, s, name, ids) })
	if err == nil && keep != nil {
		err = t.delete(ctx, t.beyond(*keep))
	}
	t.report.Kept = len(t.found) - t.report.Deleted
	return t.report, err
}

type tidying struct {
	*Directory
	now    time.Time
	found  []foundJob // of dead servers
	report TidyReport
}

type foundJob struct {
	session string
	id      int64
	bytes   int64
	written time.Time
	doomed  bool // to be deleted in any case
}

// session finishes the jobs of a session if its server is dead.
func (t *tidying) session(ctx context.Context, s *store.PastSession, name string, ids []int64) error {
	if len(ids) == 0 {
		s.Remove()
		return nil
	}
	if !s.Dead() {
		return nil
	}
	done, temporary := s.Finished(), s.Temporary()
	var errs []error
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(t.found) >= maxTidied {
			return errors.Join(errs...)
		}
		f, err := t.folder(ctx, s, name, id, done || temporary)
		errs = append(errs, err)
		if f != (foundJob{}) { // A job that cannot be finished, as on a full disk, may still be deleted.
			f.doomed = temporary
			t.found = append(t.found, f)
		}
	}
	err := errors.Join(errs...)
	if err == nil && !done && !temporary {
		err = s.Finish()
	}
	return err
}

// folder inspects the folder of a job. It finishes the job unless done is set.
func (t *tidying) folder(ctx context.Context, s *store.PastSession, name string, id int64, done bool) (foundJob, error) {
	f, err := s.Folder(id)
	if err != nil {
		return foundJob{}, err
	}
	defer f.Close()
	var failed error
	if !done {
		var lost bool
		if lost, failed = t.finish(ctx, f, name, id); lost {
			t.report.Lost++
		}
	}
	files, others, err := f.Files()
	if err == nil && len(files)+len(others) == 0 { // The server died while it deleted the job.
		return foundJob{}, f.Remove()
	}
	found := foundJob{session: name, id: id}
	for _, file := range files {
		found.bytes += file.Size
		if file.Name == InfoFile || found.written.IsZero() {
			found.written = file.Modified
		}
	}
	return found, errors.Join(failed, err)
}

// finish brings the files of a job into the state in which its server would have left them. It first records the
// contents of the ordered files, as final, and then puts the files in order. If it is interrupted, each file either
// shows by itself how to read it, or its order is recorded.
func (t *tidying) finish(ctx context.Context, f *store.PastFolder, session string, id int64) (lost bool, err error) {
	if err := f.RemoveScraps(); err != nil {
		return false, err
	}
	files, _, err := f.Files()
	if err != nil || len(files) == 0 {
		return false, err
	}
	stored, err := f.Read(InfoFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	closed := err == nil && t.reader.Closed(stored)
	l := Leftover{Handle: id, Directory: f.Path(), Files: map[string]File{}}
	var rings []string
	for _, file := range files {
		if file.Modified.After(l.Touched) {
			l.Touched = file.Modified
		}
		if !slices.Contains(Files, file.Name) {
			continue
		}
		found, ordered, err := t.look(f, stored, session, id, file.Name)
		if err != nil {
			return false, err
		}
		if l.Files[file.Name] = found; !ordered {
			rings = append(rings, file.Name)
		}
	}
	if closed {
		// The server could not put the files in order, or an earlier Tidy was interrupted. The final record must also
		// be true after the files are put in order.
		known := t.reader.Files(stored)
		rings = slices.DeleteFunc(rings, func(name string) bool { return !slices.Equal(known[name].Kept, l.Files[name].Kept) })
	} else if err := t.conclude(f, files, stored, l); err != nil {
		return false, err
	}
	for _, name := range rings {
		if err := mend(ctx, f, session, id, name, recordOf(t.reader, stored, name)); err != nil {
			return !closed, err
		}
	}
	return !closed, nil
}

// conclude writes the final info.json of a job if its server did not.
func (t *tidying) conclude(f *store.PastFolder, files []store.PastFile, stored []byte, l Leftover) error {
	if slices.ContainsFunc(files, func(file store.PastFile) bool { return file.Name == RecordingFile }) {
		if err := mendRecording(f); err != nil {
			return err
		}
	}
	info, err := t.reader.Finish(stored, l)
	if err != nil {
		return err
	}
	return f.Replace(InfoFile, l.Touched, func(w io.Writer) error { _, err := w.Write(info); return err })
}

// look returns the contents of a stream's file, and whether the file is in order.
func (t *tidying) look(f *store.PastFolder, stored []byte, session string, id int64, name string) (found File, ordered bool, err error) {
	file, info, err := f.Open(name)
	if err != nil {
		return found, false, err
	}
	defer file.Close()
	st, err := spool.ReadStored(file, info.Size(), Tag(session, id, name), recordOf(t.reader, stored, name))
	if err != nil {
		return found, false, err
	}
	return fileOf(st), st.Ordered(), nil
}

// mend puts a stream's file in order, as [spool.Spool.Finish] does. record is the one that look used.
func mend(ctx context.Context, f *store.PastFolder, session string, id int64, name string, record spool.Record) error {
	file, info, err := f.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	st, err := spool.ReadStored(file, info.Size(), Tag(session, id, name), record)
	if err != nil {
		return err
	}
	return f.Replace(name, info.ModTime(), func(w io.Writer) error {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, &interruptible{ctx, io.NewSectionReader(st, 0, st.Size())}, make([]byte, 256<<10))
		return err
	})
}

// mendRecording removes an incomplete line from the end of a recording, because players refuse it.
func mendRecording(f *store.PastFolder) error {
	file, info, err := f.Open(RecordingFile)
	if err != nil {
		return err
	}
	whole, err := cast.Whole(file, info.Size())
	_ = file.Close() // It was only read.
	if err != nil || whole == info.Size() {
		return err
	}
	return f.Cut(RecordingFile, whole)
}

// An interruptible is a reader that fails when its context is done.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (u *interruptible) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// beyond returns the jobs to delete, oldest first.
func (t *tidying) beyond(keep Retention) (all []foundJob) {
	newest := slices.Clone(t.found)
	slices.SortStableFunc(newest, func(a, b foundJob) int {
		return cmp.Or(b.written.Compare(a.written), cmp.Compare(b.session, a.session), cmp.Compare(b.id, a.id))
	})
	var n int
	var bytes int64
	for _, f := range newest {
		if !f.doomed {
			n++
			bytes += f.bytes
		}
		if f.doomed || n > keep.Jobs || bytes > keep.Bytes || t.now.Sub(f.written) > keep.Age {
			all = append(all, f)
		}
	}
	slices.Reverse(all)
	return all
}

func (t *tidying) delete(ctx context.Context, all []foundJob) error {
	sessions := map[string]bool{}
	for _, d := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		sessions[d.session] = true
		if err := t.deleteJob(d); err != nil {
			t.warn(err)
			t.report.Failed++
			continue
		}
		t.report.Deleted++
		t.report.Freed += d.bytes
	}
	for name := range sessions {
		if s, err := t.store.Session(name); err == nil {
			s.Remove()
			t.warn(s.Close())
		}
	}
	return nil
}

func (t *tidying) deleteJob(d foundJob) error {
	s, err := t.store.Session(d.session)
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := s.Folder(d.id)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Remove()
}
