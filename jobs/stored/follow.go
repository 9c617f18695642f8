package stored

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"shelld.dev/shelld/jobs/internal/store"
)

// aliveTime is the interval of the checks whether the job's server is still alive. The kernel has no event for the
// release of a lock.
const aliveTime = time.Second

// A Follow watches the files of a job, which another process may be writing. The caller closes it.
type Follow struct {
	past    *Directory
	job     Job
	changes *store.Changes
}

// Follow begins to watch the files of a job.
func (d *Directory) Follow(j Job) (*Follow, error) {
	s, f, err := d.folder(j)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer f.Close()
	c, err := f.Changes()
	if err != nil {
		return nil, err
	}
	return &Follow{d, j, c}, nil
}

// Close ends the watch.
func (f *Follow) Close() error { return f.changes.Close() }

// Over reports whether nothing more will be written: the job is closed, its server is dead, or the job was removed.
// Everything that was written before Over returned true can then be read.
func (f *Follow) Over() (bool, error) {
	s, folder, err := f.past.folder(f.job)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer s.Close()
	defer folder.Close()
	if s.Dead() {
		return true, nil
	}
	info, err := folder.Read(InfoFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // It will soon be written.
	}
	return err == nil && f.past.reader.Closed(info), err
}

// Wait returns when something may have been written, or when ctx is done.
func (f *Follow) Wait(ctx context.Context) error { return f.changes.Wait(ctx, aliveTime) }

// folder opens the folder of a job and its session.
func (d *Directory) folder(j Job) (*store.PastSession, *store.PastFolder, error) {
	s, err := d.store.Session(j.Session)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.Folder(int64(j.Handle))
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, f, nil
}

// From returns a reader of the output from an offset on, with a marker line for each gap.
func (o *Output) From(off int64) io.Reader { return &outputText{out: o, next: off, first: off == 0} }
