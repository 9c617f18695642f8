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

	"shelld.dev/shelld/internal/safedir"
)

// This file finds the files that servers have left, and deletes them. It leaves everything alone that a server does not
// seem to have made: names, owner and mode must be right, no link is followed, and in a job's folder it deletes only
// files with the names that servers use.

// A Past is a state directory with the sessions left in it.
type Past struct {
	root *os.Root
	dir  string
	mine *os.File // the lock for tidying up; nil: not held
}

// sessionName matches the names of session directories: the server's start time, and a random number.
var sessionName = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{16}$`)

// IsSessionName reports whether a directory of that name may be a session's.
func IsSessionName(name string) bool { return sessionName.MatchString(name) }

// OpenPast opens the directory state. The caller must close the Past.
func OpenPast(state string) (*Past, error) {
	root, err := os.OpenRoot(state)
	if err != nil {
		return nil, err
	}
	dir := filepath.Clean(state)
	if hasParents(state) { // Names are appended to the reported path, so it must not contain "..".
		if dir, err = filepath.EvalSymlinks(state); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	return &Past{root: root, dir: dir}, nil
}

// Close releases the directory, and the lock of Tidy.
func (p *Past) Close() error {
	err := p.root.Close()
	if p.mine != nil {
		_ = p.mine.Close() // This releases the lock.
	}
	return err
}

// Dir returns the path of the directory.
func (p *Past) Dir() string { return p.dir }

// ErrBusy is the error if another process tidies up.
var ErrBusy = errors.New("another shelld is tidying up there")

// Tidy takes the lock that allows the caller to change the files of dead servers. If another process holds it, Tidy
// returns ErrBusy or, if patient, waits until the lock is free or ctx is done.
func (p *Past) Tidy(ctx context.Context, patient bool) error {
	name := ".lock"
	if uid := os.Geteuid(); uid >= 0 { // Several users may share the directory.
		name += "-" + strconv.Itoa(uid)
	}
	f, err := p.root.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	err = safedir.Lock(f, safedir.Exclusive)
	if errors.Is(err, safedir.ErrLocked) && patient {
		return p.await(ctx, f)
	}
	if err != nil {
		_ = f.Close() // Nothing was written to it.
		if errors.Is(err, safedir.ErrLocked) {
			err = ErrBusy
		}
		return err
	}
	p.mine = f
	return nil
}

// await waits until f can be locked or ctx is done. No system can cancel such a wait. So after ctx is done, the wait
// continues in its goroutine, and another one then releases the lock.
func (p *Past) await(ctx context.Context, f *os.File) error {
	got := make(chan error, 1)
	go func() { got <- safedir.Lock(f, safedir.Exclusive|safedir.Wait) }()
	select {
	case err := <-got:
		if err != nil {
			_ = f.Close() // Nothing was written to it.
			return err
		}
		p.mine = f
		return nil
	case <-ctx.Done():
		go func() {
			<-got
			_ = f.Close() // This releases the lock.
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

// private opens the directory name if a server of this user may have made it. Otherwise it returns errNotOurs.
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
		_ = dir.Close() // Nothing was written in it.
		return nil, errors.Join(err, fmt.Errorf("%s: %w", path, errNotOurs))
	}
	return dir, nil
}

var errNotOurs = errors.New("it is not a directory that shelld created; it is left alone")

// asMade reports whether a directory has the owner and mode of those that this package makes.
func asMade(info fs.FileInfo) bool {
	return safedir.Ours(info) && (!hasModes || info.Mode().Perm()&0o077 == 0)
}

// A PastSession is the directory of a server that is alive or dead.
type PastSession struct {
	past *Past
	root *os.Root
	name string
	lock *os.File // not nil: the server is dead
}

// Session opens the directory of a session. The caller must close it.
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

// Close releases the directory.
func (s *PastSession) Close() error {
	if s.lock != nil {
		_ = s.lock.Close() // This releases the lock.
	}
	return s.root.Close()
}

// Dead reports whether the server of the session is certainly dead. Then it stays dead, since no other session gets the
// same name. If there is no lock file, it is not known, and Dead returns false.
func (s *PastSession) Dead() bool {
	if s.lock != nil {
		return true
	}
	info, err := s.root.Lstat(lockFile)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := s.root.OpenFile(lockFile, os.O_RDWR|notBlocking, 0) // Network file systems require it for locks.
	if err != nil {
		f, err = s.root.OpenFile(lockFile, os.O_RDONLY|notBlocking, 0) // for example on a read-only disk
	}
	if err != nil {
		return false
	}
	if safedir.Lock(f, safedir.Shared) != nil {
		_ = f.Close() // Nothing was written to it.
		return false
	}
	s.lock = f
	return true
}

// Temporary reports whether the dead server has requested that the session be deleted.
func (s *PastSession) Temporary() bool { return says(s.lock, temporaryLine) }

// Finished reports whether Finish has been called for this session.
func (s *PastSession) Finished() bool { return says(s.lock, finishedLine) }

// Finish records that there is nothing left to do for the jobs of a dead server.
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
	_ = s.past.root.Remove(s.name) // It fails if the directory is not empty, as intended.
}

// Erase deletes the job folders in the session's directory by the same rules as after the death of its server. It calls
// step after each job.
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
	looked  func() // hook for tests, called between the check of a file and its opening
}

// Folder opens the folder of a job. The caller must close it.
func (s *PastSession) Folder(id int64) (*PastFolder, error) {
	f := &PastFolder{session: s, name: strconv.FormatInt(id, 10)}
	var err error
	f.root, err = private(s.root, f.name, f.Path())
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close releases the folder.
func (f *PastFolder) Close() error { return f.root.Close() }

// Path returns the path of the folder.
func (f *PastFolder) Path() string { return filepath.Join(f.session.past.dir, f.session.name, f.name) }

// A PastFile is a file in a folder.
type PastFile struct {
	Name     string
	Size     int64
	Modified time.Time
}

// Files returns the files that a server may have made, and the names of all others.
func (f *PastFolder) Files() (files []PastFile, others []string, err error) {
	names, err := list(f.root)
	for _, name := range names {
		info, err := f.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // A living server has deleted it meanwhile.
		}
		if err != nil || !info.Mode().IsRegular() || !isOurFile(name) {
			others = append(others, name)
			continue
		}
		files = append(files, PastFile{name, info.Size(), info.ModTime()})
	}
	return files, others, err
}

// ourFiles are the names of the files that servers write.
var ourFiles = []string{"info.json", "stdout.txt", "stderr.txt", "session.cast"}

// isScrap reports whether a name is that of a temporary file, which remains only if its server died.
func isScrap(name string) bool {
	whole, isFresh := strings.CutSuffix(name, fresh)
	return isFresh && slices.Contains(ourFiles, whole) || strings.HasPrefix(name, ".spool-")
}

func isOurFile(name string) bool { return slices.Contains(ourFiles, name) || isScrap(name) }

// Open opens a file for reading.
func (f *PastFolder) Open(name string) (*os.File, fs.FileInfo, error) {
	return f.open(name, os.O_RDONLY)
}

// openTries bounds how often an open is retried because the file was replaced. A living server replaces a file a few
// times during the whole life of a job: more than two replacements in a row are not its work.
const openTries = 100

// open opens a file if a server may have written it. If the file was replaced between the check and the open, it tries
// again: a living server replaces its files, and that must not make a request fail.
func (f *PastFolder) open(name string, flag int) (*os.File, fs.FileInfo, error) {
	for range openTries {
		file, info, err := f.openOnce(name, flag)
		if !errors.Is(err, errReplaced) {
			return file, info, err
		}
	}
	return nil, nil, &fs.PathError{Op: "open", Path: filepath.Join(f.Path(), name), Err: errRestless}
}

// openOnce checks a file and opens it. It follows no link, and returns errReplaced if the open file is not the one that
// was checked.
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
			err = errReplaced // for example by a link that leads out of the folder
		}
		return nil, nil, f.absolute(err, name)
	}
	info, err := file.Stat()
	if err == nil && (!os.SameFile(info, before) || !info.Mode().IsRegular()) { // Another file may have the same inode.
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

// IsForeign reports whether an error of a PastFolder means that shelld cannot have written the file, and not that the
// file could not be read.
func IsForeign(err error) bool { return errors.Is(err, errNoFile) || errors.Is(err, errTooLong) }

// Cut truncates a file to size bytes and keeps its modification time, as if the rest had never been written. The caller
// must hold the lock of Tidy.
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

// maxInfo is the maximum length of a file that Read returns.
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

// Replace replaces a file atomically, and sets its modification time to at. The caller must hold the lock of Tidy.
func (f *PastFolder) Replace(name string, at time.Time, write func(io.Writer) error) error {
	scrap := name + fresh
	file, err := f.root.OpenFile(scrap, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return f.absolute(err, scrap)
	}
	err = write(file)
	if err == nil {
		err = file.Sync() // This comes before the rename, which replaces the only good copy.
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.root.Chtimes(scrap, at, at)
	}
	if err == nil {
		err = f.root.Rename(scrap, name)
	}
	if err != nil {
		_ = f.root.Remove(scrap) // Best effort: the disk may be the cause of the error.
		return f.absolute(err, name)
	}
	return nil
}

// RemoveScraps deletes the temporary files that the server left when it died.
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

// Remove deletes the folder and the files that servers write. If there are other files, it deletes nothing and returns
// an error.
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
	if err := f.remove(func(string) bool { return true }); err != nil { // last: info.json describes the other files
		return err
	}
	if err := f.session.root.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.absolute(err, "")
	}
	return nil
}

const infoFile = "info.json"

// absolute returns err with the absolute path; see Folder.absolute.
func (f *PastFolder) absolute(err error, name string) error {
	op := "write"
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		op, err = p.Op, p.Err
	} else if l, ok := errors.AsType[*os.LinkError](err); ok {
		op, err = l.Op, l.Err
	}
	return &fs.PathError{Op: op, Path: filepath.Join(f.Path(), name), Err: err}
}
