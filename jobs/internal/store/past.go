package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file finds what servers have left, and takes it away. What does not look as if one
// of ours had made it is left alone: names, owner and mode must be right, no link is
// followed, and of what is in a job's folder only files that we make are deleted.

// A Past is a state directory with what was left in it.
type Past struct {
	root *os.Root
	dir  string
	mine *os.File // not nil: this is who tidies up
}

// sessionName is what servers call their directories: when they started, and something that
// no other has.
var sessionName = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{16}$`)

// IsSessionName says whether a directory of that name may be a session's.
func IsSessionName(name string) bool { return sessionName.MatchString(name) }

// OpenPast opens the directory state. Close it.
func OpenPast(state string) (*Past, error) {
	root, err := os.OpenRoot(state)
	if err != nil {
		return nil, err
	}
	dir := filepath.Clean(state)
	if hasParents(state) { // It is told what can be joined with names.
		if dir, err = filepath.EvalSymlinks(state); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	return &Past{root: root, dir: dir}, nil
}

// Close lets go of the directory, and of Tidy.
func (p *Past) Close() error {
	err := p.root.Close()
	if p.mine != nil {
		_ = p.mine.Close() // The lock goes with it.
	}
	return err
}

// Dir returns the path of the directory.
func (p *Past) Dir() string { return p.dir }

// ErrBusy says that somebody else tidies up.
var ErrBusy = errors.New("another shelld is tidying up there")

// Tidy makes the caller the one who may change what others have left; there is never more
// than one. Where there is one, it waits for him if it is patient, until ctx is done, and is
// ErrBusy if not.
func (p *Past) Tidy(ctx context.Context, patient bool) error {
	name := ".lock"
	if uid := os.Geteuid(); uid >= 0 { // Several may share the directory.
		name += "-" + strconv.Itoa(uid)
	}
	f, err := p.root.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	err = lock(f, lockExclusive)
	if errors.Is(err, errLocked) && patient {
		return p.await(ctx, f)
	}
	if err != nil {
		_ = f.Close() // Nothing was done with it.
		if errors.Is(err, errLocked) {
			err = ErrBusy
		}
		return err
	}
	p.mine = f
	return nil
}

// await has f locked when whoever has it lets go. No system can be asked to end such a wait:
// one that is given up goes on behind the caller's back, and what it gets is let go of.
func (p *Past) await(ctx context.Context, f *os.File) error {
	got := make(chan error, 1)
	go func() { got <- lock(f, lockExclusive|lockWait) }()
	select {
	case err := <-got:
		if err != nil {
			_ = f.Close() // Nothing was done with it.
			return err
		}
		p.mine = f
		return nil
	case <-ctx.Done():
		go func() {
			<-got
			_ = f.Close() // Nothing was done with it.
		}()
		return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
	}
}

// Names returns the names of the sessions, oldest first.
func (p *Past) Names() ([]string, error) {
	names, err := list(p.root)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !IsSessionName(n) })
	slices.Sort(names)
	return names, nil
}

func list(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// private opens the directory name if it looks as if we had made it.
func private(in *os.Root, name, path string) (*os.Root, error) {
	before, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !asMade(before) {
		return nil, fmt.Errorf("%s: %w", path, errNotOurs)
	}
	dir, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := dir.Stat("."); err != nil || !os.SameFile(now, before) {
		_ = dir.Close() // Nothing was done in it.
		return nil, errors.Join(err, fmt.Errorf("%s: %w", path, errNotOurs))
	}
	return dir, nil
}

var errNotOurs = errors.New("it is not a directory that shelld created; it is left alone")

// asMade says whether a directory is one that we would have made.
func asMade(info fs.FileInfo) bool {
	return ours(info) && (!hasModes || info.Mode().Perm()&0o077 == 0)
}

// A PastSession is the directory of a server that is alive or dead.
type PastSession struct {
	past *Past
	root *os.Root
	name string
	lock *os.File // not nil: the server is dead
}

// Session opens the directory of a session. Close it.
func (p *Past) Session(name string) (*PastSession, error) {
	if !IsSessionName(name) {
		return nil, fs.ErrNotExist
	}
	root, err := private(p.root, name, filepath.Join(p.dir, name))
	if err != nil {
		return nil, err
	}
	return &PastSession{past: p, root: root, name: name}, nil
}

// Close lets go of the directory.
func (s *PastSession) Close() error {
	if s.lock != nil {
		_ = s.lock.Close() // The lock goes with it.
	}
	return s.root.Close()
}

// Dead says whether the server of the session is surely dead, and that it is, as long as the
// session is open: another session has another name. Of one without a lock nothing is known.
func (s *PastSession) Dead() bool {
	if s.lock != nil {
		return true
	}
	info, err := s.root.Lstat(lockFile)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := s.root.OpenFile(lockFile, os.O_RDWR|notBlocking, 0) // Network file systems ask for writing.
	if err != nil {
		f, err = s.root.OpenFile(lockFile, os.O_RDONLY|notBlocking, 0) // as on a disk that takes nothing
	}
	if err != nil {
		return false
	}
	if lock(f, lockShared) != nil {
		_ = f.Close() // Nothing was done with it.
		return false
	}
	s.lock = f
	return true
}

// Temporary says whether a dead server wanted it deleted.
func (s *PastSession) Temporary() bool { return says(s.lock, temporaryLine) }

// Finished says whether somebody has called Finish.
func (s *PastSession) Finished() bool { return says(s.lock, finishedLine) }

// Finish notes that nothing is left to be done for the jobs of a dead server.
func (s *PastSession) Finish() error {
	_, err := s.lock.WriteAt([]byte(lockLine+finishedLine), 0)
	return err
}

// Jobs returns the handles of the jobs that have a folder, lowest first.
func (s *PastSession) Jobs() ([]int64, error) {
	names, err := list(s.root)
	var all []int64
	for _, name := range names {
		if id, err := strconv.ParseInt(name, 10, 64); err == nil && id > 0 && strconv.FormatInt(id, 10) == name {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, err
}

// Remove deletes the directory if it is a dead server's and no job is left in it.
func (s *PastSession) Remove() {
	if s.Dead() {
		removeLock(s.root)
	}
	_ = s.past.root.Remove(s.name) // It goes if it is empty, which is what is meant.
}

// Erase deletes what is in the session's directory, as it would be deleted after the death of
// its server, and calls step for each job.
func (s *Session) Erase(step func()) error {
	past := &PastSession{past: &Past{dir: filepath.Dir(s.dir)}, root: s.root, name: filepath.Base(s.dir)}
	ids, err := past.Jobs()
	errs := []error{err}
	for _, id := range ids {
		f, err := past.Folder(id)
		if err == nil {
			err = errors.Join(f.Remove(), f.Close())
		}
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		step()
	}
	return errors.Join(errs...)
}

// A PastFolder is the folder of a job.
type PastFolder struct {
	session *PastSession
	root    *os.Root
	name    string
	looked  func() // tests have something happen between the look at a file and its opening
}

// Folder opens the folder of a job. Close it.
func (s *PastSession) Folder(id int64) (*PastFolder, error) {
	f := &PastFolder{session: s, name: strconv.FormatInt(id, 10)}
	var err error
	f.root, err = private(s.root, f.name, f.Path())
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close lets go of the folder.
func (f *PastFolder) Close() error { return f.root.Close() }

// Path returns where the folder is.
func (f *PastFolder) Path() string { return filepath.Join(f.session.past.dir, f.session.name, f.name) }

// A PastFile is a file in a folder.
type PastFile struct {
	Name     string
	Size     int64
	Modified time.Time
}

// Files returns the files that we make, and the names of what else is there.
func (f *PastFolder) Files() (files []PastFile, others []string, err error) {
	names, err := list(f.root)
	for _, name := range names {
		info, err := f.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // Its server is alive.
		}
		if err != nil || !info.Mode().IsRegular() || !isOurFile(name) {
			others = append(others, name)
			continue
		}
		files = append(files, PastFile{name, info.Size(), info.ModTime()})
	}
	return files, others, err
}

// ourFiles are what a folder may hold.
var ourFiles = []string{"info.json", "stdout.txt", "stderr.txt", "session.cast"}

// isScrap says whether a file is one that was being written when its server died.
func isScrap(name string) bool {
	whole, isFresh := strings.CutSuffix(name, fresh)
	return isFresh && slices.Contains(ourFiles, whole) || strings.HasPrefix(name, ".spool-")
}

func isOurFile(name string) bool { return slices.Contains(ourFiles, name) || isScrap(name) }

// Open opens a file for reading.
func (f *PastFolder) Open(name string) (*os.File, fs.FileInfo, error) {
	return f.open(name, os.O_RDONLY)
}

// openTries is how often a file is opened that is another one each time. A living server replaces a
// file a few times in the whole life of a job: more than two in a row are not its work.
const openTries = 100

// open opens a file if it is one that we could have written. Another one under its name than the one
// that was looked at is looked at in its turn: a living server replaces what it has written, and
// nobody is refused for that.
func (f *PastFolder) open(name string, flag int) (*os.File, fs.FileInfo, error) {
	for range openTries {
		file, info, err := f.openOnce(name, flag)
		if !errors.Is(err, errReplaced) {
			return file, info, err
		}
	}
	return nil, nil, &fs.PathError{Op: "open", Path: filepath.Join(f.Path(), name), Err: errRestless}
}

// openOnce opens what was looked at, or nothing: no link is followed, and errReplaced says that what
// was opened is something else.
func (f *PastFolder) openOnce(name string, flag int) (*os.File, fs.FileInfo, error) {
	before, err := f.root.Lstat(name)
	if err != nil {
		return nil, nil, f.absolute(err, name)
	}
	if !before.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "open", Path: filepath.Join(f.Path(), name), Err: errNoFile}
	}
	if f.looked != nil {
		f.looked()
	}
	file, err := f.root.OpenFile(name, flag|notBlocking, 0)
	if err != nil {
		if now, gone := f.root.Lstat(name); gone == nil && !os.SameFile(now, before) {
			err = errReplaced // as by a link that leads out of the folder
		}
		return nil, nil, f.absolute(err, name)
	}
	info, err := file.Stat()
	if err == nil && (!os.SameFile(info, before) || !info.Mode().IsRegular()) { // another file may have its number
		err = errReplaced
	}
	if err != nil {
		_ = file.Close() // It was not read.
		return nil, nil, err
	}
	return file, info, nil
}

var (
	errNoFile  = errors.New("it is not a regular file, and is left alone")
	errTooLong = errors.New("it is too long for a file that shelld wrote, and is left alone")

	errReplaced = errors.New("another program replaced it")
	errRestless = errors.New("another program keeps replacing it, so it is left alone; try again when that program has ended")
)

// IsForeign says whether an error of a PastFolder is that what has the name is none of what shelld
// writes, and not that it could not be read.
func IsForeign(err error) bool { return errors.Is(err, errNoFile) || errors.Is(err, errTooLong) }

// Cut takes away what a file has beyond size bytes, as if that had never been written. Only
// who tidies up may call it.
func (f *PastFolder) Cut(name string, size int64) error {
	file, info, err := f.open(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	if err = errors.Join(file.Truncate(size), file.Close()); err == nil {
		err = f.root.Chtimes(name, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return f.absolute(err, name)
	}
	return nil
}

// maxInfo is how much of what is known of a job is read.
const maxInfo = 64 << 20

// Read returns all of a small file.
func (f *PastFolder) Read(name string) ([]byte, error) {
	file, info, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > maxInfo {
		return nil, &fs.PathError{Op: "read", Path: filepath.Join(f.Path(), name), Err: errTooLong}
	}
	return io.ReadAll(io.LimitReader(file, maxInfo))
}

// Replace makes the file anew, whole or not at all, as if it had been written at that time.
// Only who tidies up may call it.
func (f *PastFolder) Replace(name string, at time.Time, write func(io.Writer) error) error {
	scrap := name + fresh
	file, err := f.root.OpenFile(scrap, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return f.absolute(err, scrap)
	}
	err = write(file)
	if err == nil {
		err = file.Sync() // before it replaces the only good copy
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.root.Chtimes(scrap, at, at)
	}
	if err == nil {
		err = f.root.Rename(scrap, name)
	}
	if err != nil {
		_ = f.root.Remove(scrap) // Best effort: it may be the disk that fails.
		return f.absolute(err, name)
	}
	return nil
}

// RemoveScraps deletes what was being written when the server died.
func (f *PastFolder) RemoveScraps() error {
	return f.remove(isScrap)
}

func (f *PastFolder) remove(which func(name string) bool) error {
	files, _, err := f.Files()
	errs := []error{err}
	for _, file := range files {
		if which(file.Name) {
			if err := f.root.Remove(file.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, f.absolute(err, file.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// Remove deletes the folder with what we have made in it. If there is more, that stays, and
// so does the folder with what is known of the job.
func (f *PastFolder) Remove() error {
	_, others, err := f.Files()
	if err != nil {
		return f.absolute(err, "")
	}
	if len(others) > 0 {
		return fmt.Errorf("%s: shelld did not create %s; the folder is left alone", f.Path(), strings.Join(others[:min(len(others), 3)], ", "))
	}
	if err := f.remove(func(name string) bool { return name != infoFile }); err != nil {
		return err
	}
	if err := f.remove(func(string) bool { return true }); err != nil { // last: without it the rest is nobody's
		return err
	}
	if err := f.session.root.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.absolute(err, "")
	}
	return nil
}

const infoFile = "info.json"

// absolute is err under its whole path; see Folder.absolute.
func (f *PastFolder) absolute(err error, name string) error {
	op := "write"
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		op, err = p.Op, p.Err
	} else if l, ok := errors.AsType[*os.LinkError](err); ok {
		op, err = l.Op, l.Err
	}
	return &fs.PathError{Op: op, Path: filepath.Join(f.Path(), name), Err: err}
}
