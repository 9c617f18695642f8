// Package stored reads and tidies the state directory, in which servers keep the output of jobs. The server may be
// alive or dead.
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

	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/store"
)

// Names of the files of a job.
const (
	InfoFile      = "info.json"    // metadata of the job, as JSON
	StdoutFile    = "stdout.txt"   // output to the terminal, or stdout
	StderrFile    = "stderr.txt"   // stderr of a job without a terminal
	RecordingFile = "session.cast" // output and input with their times, if the job is recorded
)

// An InfoReader parses and completes info.json, which a server has encoded (see jobs.Persist).
type InfoReader interface {
	// Closed reports whether info is complete and describes a closed job.
	Closed(info []byte) bool
	// Files returns the description of each stream's file in info, by file name. It returns nil if info has none.
	Files(info []byte) map[string]File
	// Finish returns the final info.json of a job whose server has died. It combines info, which may be empty or
	// damaged, with the state of the files.
	Finish(info []byte, l Leftover) ([]byte, error)
}

// A Leftover is a job whose server has died, as far as its files show.
type Leftover struct {
	Handle    int64
	Directory string
	Files     map[string]File // by name, such as stdout.txt
	Touched   time.Time       // time of the last write to any of them
}

// A File describes the part of a stream that a file holds.
type File struct {
	NextOffset int64
	Kept       []spool.Range
}

// Files lists the names of the files that hold a stream each.
var Files = []string{StdoutFile, StderrFile}

// A Directory is a state directory, in which servers store the output of jobs. One goroutine may use it at a time.
type Directory struct {
	store  *store.Past
	reader InfoReader
	log    *slog.Logger
}

// DefaultDirectory returns the path of the default state directory. The directory may not exist.
func DefaultDirectory() (string, error) { return store.Place() }

// Open opens a state directory. If directory is "", it opens the default one. The caller closes it. Errors that do not
// abort an operation are written to log.
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

// A Job is a job with stored files.
type Job struct {
	Session   string
	Handle    int64
	Directory string
	Live      bool     // its server may still be alive
	Info      []byte   // the content of info.json
	Files     []string // existing files among Files
	Recording string   // the name of the recording; "" if there is none
	Bytes     int64    // total size of all its files
	Written   time.Time
}

// Jobs returns all stored jobs. Sessions are sorted by the second in which they began, and the jobs of a session by
// their start. A job that cannot be read is logged.
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

// job reads the folder of a job. A missing file is logged, and does not make the rest unusable.
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
		d.warn(fmt.Errorf("%w; only the output of the job is known", err))
	}
	d.warn(d.missing(&j, others))
	return j, nil
}

// missing returns an error for each file of a job that cannot be read: something else has its name, or it does not
// exist although info.json mentions it. The files of a living server may appear and vanish, and are not reported as
// missing.
func (d *Directory) missing(j *Job, others []string) error {
	var errs []error
	known := d.reader.Files(j.Info)
	for _, name := range Files {
		var why string
		switch n := spool.Length(known[name].Kept); {
		case slices.Contains(others, name):
			why = "it is not a regular file: the stored output of the stream can be neither shown nor searched until the file is restored"
		case n > 0 && !j.Live && !slices.Contains(j.Files, name):
			why = fmt.Sprintf("it is gone: %s says it had %d bytes, which can be neither shown nor searched", InfoFile, n)
		default:
			continue
		}
		errs = append(errs, &fs.PathError{Op: "read", Path: filepath.Join(j.Directory, name), Err: errors.New(why)})
	}
	return errors.Join(errs...)
}

// each calls visit with each session and its jobs, oldest session first.
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

// warn logs an error, unless it is fs.ErrNotExist: then a living server has just removed the file.
func (d *Directory) warn(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("problem in the directory of stored output", "error", err)
	}
}

// fileOf describes the contents of a stored stream.
func fileOf(st *spool.Stored) File {
	return File{NextOffset: st.End(), Kept: st.Kept()}
}

// record returns the record of a file in the info.json of a folder.
func (d *Directory) record(f *store.PastFolder, name string) (spool.Record, error) {
	info, err := f.Read(InfoFile)
	if errors.Is(err, fs.ErrNotExist) || store.IsForeign(err) {
		return spool.Record{}, nil
	}
	return recordOf(d.reader, info, name), err
}

// recordOf returns the record of a file in the contents of an info.json.
func recordOf(reader InfoReader, info []byte, name string) spool.Record {
	all := reader.Files(info)
	if all == nil && reader.Closed(info) {
		return spool.Record{Unwritten: true}
	}
	return spool.Record{Kept: all[name].Kept, End: all[name].NextOffset, Final: reader.Closed(info)}
}

// Tag returns a name for a stream that is unique among all sessions. Package spool marks its files with it.
func Tag(session string, id int64, file string) string {
	return fmt.Sprintf("%s/%d/%s", session, id, file)
}
