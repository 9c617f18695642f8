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

// An InfoReader understands what Persist.Encode has made.
type InfoReader interface {
	// Closed says whether stored is whole and of a job that is closed.
	Closed(stored []byte) bool
	// Files returns what the files of streams have according to stored, by their names; nil
	// where it says nothing of streams.
	Files(stored []byte) map[string]File
	// Finish returns what is to be stored of a job whose server has died: what is known of
	// it from stored, which may be nothing or no longer readable, and from its files.
	Finish(stored []byte, l Leftover) ([]byte, error)
}

// A Leftover is what is found of a job whose server has died.
type Leftover struct {
	Handle    int64
	Directory string
	Files     map[string]File // by name, as stdout.txt
	Touched   time.Time       // when the last of them was written
}

// A File is what a file has of a stream.
type File struct {
	NextOffset int64
	Kept       []spool.Range
}

// Files are the names of the files with a stream each: what a terminal was sent or
// stdout, and stderr.
var Files = []string{StdoutFile, StderrFile}

// A Directory is a state directory, with what living servers keep there and dead ones have left.
// One goroutine may use it at a time.
type Directory struct {
	store  *store.Past
	reader InfoReader
	log    *slog.Logger
}

// DefaultDirectory returns the path of the default state directory, which need not be there.
func DefaultDirectory() (string, error) { return store.Place() }

// Open opens a state directory, the default one where directory is "". Close it. What
// does not work is told to log, and the rest goes on.
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

// Close lets go of the directory.
func (p *Directory) Close() error { return p.store.Close() }

// Path returns the path of the state directory.
func (p *Directory) Path() string { return p.store.Dir() }

// A Job is what is stored of a job.
type Job struct {
	Session   string
	Handle    int64
	Directory string
	Live      bool // its server may be alive
	Info      []byte
	Files     []string // those of Files that are there
	Recording string   // the name of the recording; "" = there is none
	Bytes     int64    // in all files
	Written   time.Time
}

// Jobs returns what is there: sessions in the order of the seconds in which they began, and jobs in the
// order in which they were started. What cannot be read is told to the log.
func (p *Directory) Jobs(ctx context.Context) ([]Job, error) {
	var all []Job
	err := p.each(ctx, func(s *store.PastSession, name string, ids []int64) error {
		live := !s.Dead()
		for _, id := range ids {
			f, err := s.Folder(id)
			if err != nil {
				p.tell(err)
				continue
			}
			j, err := p.job(f, name, id, live)
			p.tell(errors.Join(err, f.Close()))
			if err == nil {
				all = append(all, j)
			}
		}
		return ctx.Err()
	})
	return all, err
}

// job is what is found of a job in its folder. What should be there and is not is told to the log:
// the rest of the job is as good as it is.
func (p *Directory) job(f *store.PastFolder, session string, id int64, live bool) (Job, error) {
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
		p.tell(fmt.Errorf("%w; nothing is known of the job but its output", err))
	}
	p.tell(p.missing(&j, others))
	return j, nil
}

// missing says which files of a job cannot be read: something else is in their place, or info.json
// tells of them and they are not there. That is not said of a living server's: it makes and deletes
// files meanwhile.
func (p *Directory) missing(j *Job, others []string) error {
	var errs []error
	known := p.reader.Files(j.Info)
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

// each visits the sessions with their jobs, oldest first.
func (p *Directory) each(ctx context.Context, visit func(s *store.PastSession, name string, ids []int64) error) error {
	names, err := p.store.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err := p.store.Session(name)
		if err != nil {
			p.tell(err)
			continue
		}
		ids, err := s.Jobs()
		if err == nil {
			err = visit(s, name, ids)
		}
		if err = errors.Join(err, s.Close()); errors.Is(err, ctx.Err()) && ctx.Err() != nil {
			return ctx.Err()
		}
		p.tell(err)
	}
	return nil
}

// tell logs what went wrong, unless it is that a living server has taken something away.
func (p *Directory) tell(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.Warn("in the directory of stored output", "error", err)
	}
}

func fileOf(st *spool.Stored) File {
	return File{NextOffset: st.End(), Kept: st.Kept()}
}

// record is what is written down of a file in its folder.
func (p *Directory) record(f *store.PastFolder, name string) (spool.Record, error) {
	stored, err := f.Read(InfoFile)
	if errors.Is(err, fs.ErrNotExist) || store.IsForeign(err) {
		return spool.Record{}, nil
	}
	return recordOf(p.reader, stored, name), err
}

// recordOf is what stored says of a file.
func recordOf(reader InfoReader, stored []byte, name string) spool.Record {
	all := reader.Files(stored)
	if all == nil && reader.Closed(stored) {
		return spool.Record{Unwritten: true}
	}
	return spool.Record{Kept: all[name].Kept, End: all[name].NextOffset, Final: reader.Closed(stored)}
}

// Tag names a stream of all that there are.
func Tag(session string, id int64, file string) string {
	return fmt.Sprintf("%s/%d/%s", session, id, file)
}
