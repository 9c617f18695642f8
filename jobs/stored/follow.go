package stored

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"shelld/jobs/internal/store"
)

// This file follows a job of another process by what its server writes.

// aliveTime is how often a follower checks whether the job's server still lives. The kernel has no event
// for a lock that was released.
const aliveTime = time.Second

// A Follow watches a stored job. Close it.
type Follow struct {
	past    *Directory
	job     Job
	changes *store.Changes
}

// Follow watches a job from now on.
func (p *Directory) Follow(j Job) (*Follow, error) {
	s, f, err := p.folder(j)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer f.Close()
	c, err := f.Changes()
	if err != nil {
		return nil, err
	}
	return &Follow{p, j, c}, nil
}

// Close ends the watch.
func (f *Follow) Close() error { return f.changes.Close() }

// Over reports whether nothing more is written: the job is closed, its server is dead, or it was
// removed. What was written before can be read then.
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
		return false, nil // It is about to be written.
	}
	return err == nil && f.past.reader.Closed(info), err
}

// Wait returns when something was written, or may have been, or when ctx is done.
func (f *Follow) Wait(ctx context.Context) error { return f.changes.Wait(ctx, aliveTime) }

// folder opens the folder of a job, and the session that it belongs to.
func (p *Directory) folder(j Job) (*store.PastSession, *store.PastFolder, error) {
	s, err := p.store.Session(j.Session)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.Folder(int64(j.Handle))
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, f, nil
}

// From reads what is stored from an offset on as a person does, with a line for each range that is missing.
func (o *Output) From(off int64) io.Reader { return &outputText{out: o, next: off, first: off == 0} }
