// Package stored reads and tidies the directory in which servers keep the output of jobs, while they live and after
// they have died.
package stored

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/store"
)

// The names of the files of a job.
const (
	InfoFile      = "info.json"    // what is known of the job
	StdoutFile    = "stdout.txt"   // what a terminal was sent, or stdout
	StderrFile    = "stderr.txt"   // of a job without a terminal
	RecordingFile = "session.cast" // what was shown and typed, if it was recorded
)

// An InfoReader reads and completes info.json, which a server has encoded (see jobs.Persist).
type InfoReader interface {
	// Closed reports whether info is complete and describes a closed job.
	Closed(info []byte) bool
	// Files returns what info says of the files of streams, by file name, or nil if it does not mention streams.
	Files(info []byte) map[string]File
	// Finish returns the final info.json of a job whose server has died. It combines info, which may be empty or
	// damaged, with what was found in the files.
	Finish(info []byte, l Leftover) ([]byte, error)
}

// A Leftover is a job whose server has died, as its files show it.
type Leftover struct {
	Handle    int64
	Directory string
	Files     map[string]File // by name, as stdout.txt
	Touched   time.Time       // when one of them was last written
}

// A File describes the part of a stream that is in a file.
type File struct {
	NextOffset int64
	Kept       []spool.Range
}

// Files are the names of the files that hold a stream each.
var Files = []string{StdoutFile, StderrFile}

// A Directory is a state directory, in which servers store the output of jobs. One goroutine may use it at a time.
type Directory struct {
	store  *store.Past
	reader InfoReader
	log    *slog.Logger
}

// DefaultDirectory returns the path of the default state directory, which need not be there.
func DefaultDirectory() (string, error) { return store.Place() }

// Open opens a state directory, or the default one if directory is "". The caller closes it. Errors that
// do not end an operation are logged to log.
func Open(directory string, r InfoReader, log *slog.Logger) (*Directory, error) {
	if directory == "" {
		var err error
		if directory, err = store.Place(); err != nil {
			return nil, err
		}
	}
	s, err := store.OpenPast(directory)
	if err != nil {
		return nil, err
	}
	return &Directory{s, r, log}, nil
}

// Close closes the directory.
func (d *Directory) Close() error { return d.store.Close() }

// Path returns the path of the state directory.
func (d *Directory) Path() string { return d.store.Dir() }

// A Job is a job of which something is stored.
type Job struct {
	Session   string
	Handle    int64
	Directory string
	Live      bool     // its server may be alive
	Info      []byte   // the content of info.json
	Files     []string // those of Files that exist
	Recording string   // the name of the recording; "" if there is none
	Bytes     int64    // in all files
	Written   time.Time
}

// Jobs returns all stored jobs: sessions in the order of the seconds in which they began, and the jobs of each in the
// order in which they were started. Jobs that cannot be read are logged.
func (d *Directory) Jobs(ctx context.Context) ([]Job, error) {
	var all []Job
	err := d.each(ctx, func(s *store.PastSession, name string, ids []int64) error {
		live := !s.Dead()
		for _, id := range ids {
			f, err := s.Folder(id)
			if err != nil {
				d.warn(err)
				continue
			}
			j, err := d.job(f, name, id, live)
			d.warn(errors.Join(err, f.Close()))
			if err == nil {
				all = append(all, j)
			}
		}
		return ctx.Err()
	})
	return all, err
}

// job reads the folder of a job. Missing files are logged, and do not make the rest unusable.
func (d *Directory) job(f *store.PastFolder, session string, id int64, live bool) (Job, error) {
	j := Job{Session: session, Handle: id, Directory: f.Path(), Live: live}
	files, others, err := f.Files()
	if err != nil {
		return j, err
	}
	for _, file := range files {
		j.Bytes += file.Size
		if slices.Contains(Files, file.Name) {
			j.Files = append(j.Files, file.Name)
		}
		if file.Name == RecordingFile {
			j.Recording = file.Name
		}
		if file.Modified.After(j.Written) {
			j.Written = file.Modified
		}
	}
	slices.SortFunc(j.Files, func(a, b string) int { return slices.Index(Files, a) - slices.Index(Files, b) })
	if j.Info, err = f.Read(InfoFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.warn(fmt.Errorf("%w; nothing is known of the job but its output", err))
	}
	d.warn(d.missing(&j, others))
	return j, nil
}

// missing returns an error for each file of a job that cannot be read: something else is in its place, or info.json
// mentions it and it does not exist. Files of a living server may appear and vanish, and are not reported as gone.
func (d *Directory) missing(j *Job, others []string) error {
	var errs []error
	known := d.reader.Files(j.Info)
	for _, name := range Files {
		var why string
		switch n := spool.Length(known[name].Kept); {
		case slices.Contains(others, name):
			why = "it is no ordinary file, and is not read: what was stored of the stream can be neither shown nor searched until the file itself is there"
		case n > 0 && !j.Live && !slices.Contains(j.Files, name):
			why = fmt.Sprintf("it is gone, and %s tells of %d bytes in it: they can be neither shown nor searched", InfoFile, n)
		default:
			continue
		}
		errs = append(errs, &fs.PathError{Op: "read", Path: filepath.Join(j.Directory, name), Err: errors.New(why)})
	}
	return errors.Join(errs...)
}

// each calls visit with each session and its jobs, oldest first.
func (d *Directory) each(ctx context.Context, visit func(s *store.PastSession, name string, ids []int64) error) error {
	names, err := d.store.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err := d.store.Session(name)
		if err != nil {
			d.warn(err)
			continue
		}
		ids, err := s.Jobs()
		if err == nil {
			err = visit(s, name, ids)
		}
		if err = errors.Join(err, s.Close()); errors.Is(err, ctx.Err()) && ctx.Err() != nil {
			return ctx.Err()
		}
		d.warn(err)
	}
	return nil
}

// warn logs an error, unless a living server has just removed the file.
func (d *Directory) warn(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("in the directory of stored output", "error", err)
	}
}

// fileOf describes what a stored stream has.
func fileOf(st *spool.Stored) File {
	return File{NextOffset: st.End(), Kept: st.Kept()}
}

// record returns what the info.json of a folder says of a file.
func (d *Directory) record(f *store.PastFolder, name string) (spool.Record, error) {
	info, err := f.Read(InfoFile)
	if errors.Is(err, fs.ErrNotExist) || store.IsForeign(err) {
		return spool.Record{}, nil
	}
	return recordOf(d.reader, info, name), err
}

// recordOf returns what the content of an info.json says of a file.
func recordOf(reader InfoReader, info []byte, name string) spool.Record {
	all := reader.Files(info)
	if all == nil && reader.Closed(info) {
		return spool.Record{Unwritten: true}
	}
	return spool.Record{Kept: all[name].Kept, End: all[name].NextOffset, Final: reader.Closed(info)}
}

// Tag returns the name of a stream that is unique among all sessions. It marks the files of package spool.
func Tag(session string, id int64, file string) string {
	return fmt.Sprintf("%s/%d/%s", session, id, file)
}
