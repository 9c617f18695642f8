// Package store creates the directories and files in which output is kept:
//
//	<state directory>/<session>/<job>/<file>
//
// Only their owner has access to them (0700, 0600), and all of them are new: if a name is taken, by a link or by
// anything else, that is an error, and the package never follows it. It holds the state directory and that of the
// session open and reaches everything below from there, so that a process with write access to the state directory
// cannot redirect the files. Before that, it checks that no other user has write access, or can replace a directory
// above it, so that programs that open the files by path are not redirected either.
//
// The package starts no goroutine except one that waits for a lock. A Folder may be used by several goroutines.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"shelld.dev/shelld/internal/safedir"
)

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Place returns the default state directory, in which sessions are kept.
func Place() (string, error) { return safedir.Default("io") }

// A Session is the directory of one server.
type Session struct {
	state *os.Root // the state directory
	root  *os.Root // the session's
	name  string   // of the session's directory in state
	place string   // the reported absolute path of state
	dir   string   // the reported absolute path of the session's directory
	info  fs.FileInfo
	lock  *os.File // see Hold
}

// Open creates the directory of a session in the directory state, which must be an absolute path. It also creates state
// if it does not exist. It refuses a state directory in which another user could replace the session's files; see
// [safedir.Make].
func Open(state, session string) (*Session, error) { return openSession(state, session, false) }

// OpenTrusting is like Open, but trusts all users who can change state or the directories on the way to it. It still
// creates a new directory for the session and checks it.
func OpenTrusting(state, session string) (*Session, error) { return openSession(state, session, true) }

func openSession(state, session string, trust bool) (*Session, error) {
	if session == "" || session != filepath.Base(session) || !filepath.IsLocal(session) {
		return nil, fmt.Errorf("%q is not a valid name for a session directory", session)
	}
	s := &Session{name: session, place: filepath.Clean(state), dir: filepath.Join(state, session)}
	err := s.openState(state, trust)
	if err == nil {
		err = s.make()
	}
	if err != nil {
		return nil, errors.Join(err, s.letGo())
	}
	return s, nil
}

// openState opens the state directory. It returns an error if that is not the directory that safedir.Make has checked.
func (s *Session) openState(state string, trust bool) error {
	real, err := safedir.Make(state, trust)
	if err != nil {
		return err
	}
	if hasParents(state) {
		s.place, s.dir = real, filepath.Join(real, s.name)
	}
	if s.state, err = os.OpenRoot(real); err != nil {
		return err
	}
	opened, err := s.state.Stat(".")
	if err != nil {
		return err
	}
	// The comparison comes after the open, since opening mounts a directory that is mounted on demand.
	now, err := os.Lstat(real)
	if err == nil && !os.SameFile(now, opened) {
		err = errSwapped(real)
	}
	if err == nil && !trust {
		err = safedir.Judge(real, opened)
	}
	return err
}

// hasParents reports whether a path contains "..". Behind a symlink, ".." leads to a different directory than the one
// before the symlink in the path. So such a path cannot be shortened by its names alone, and its real path is reported
// instead.
func hasParents(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}

func errSwapped(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: errors.New("another program replaced the directory")}
}

// make creates the session's directory and opens it. If it cannot be opened, make removes it again.
func (s *Session) make() error {
	if err := s.state.Mkdir(s.name, dirMode); err != nil {
		return s.absolute(err)
	}
	root, err := s.state.OpenRoot(s.name)
	if err != nil {
		return errors.Join(s.absolute(err), s.state.Remove(s.name))
	}
	s.root = root
	if s.info, err = root.Stat("."); err != nil {
		return s.absolute(err)
	}
	return s.verify()
}

// absolute returns err with the absolute path of the session's directory.
func (s *Session) absolute(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: p.Op, Path: s.dir, Err: p.Err}
	}
	return &fs.PathError{Op: "open", Path: s.dir, Err: err}
}

// verify returns an error unless the open directory is the one at the session's path and belongs to this user: another
// process may have replaced it before it was opened.
func (s *Session) verify() error {
	now, err := s.state.Lstat(s.name)
	switch {
	case err != nil:
		return s.absolute(err)
	case !os.SameFile(now, s.info), !safedir.Ours(s.info):
		return errSwapped(s.dir)
	}
	return nil
}

// State returns the absolute path of the state directory: as it was given or, if that contains "..", without symlinks.
func (s *Session) State() string { return s.place }

// Path returns the absolute path of the session's directory.
func (s *Session) Path() string { return s.dir }

// Close releases the directory, and removes it if it is empty.
func (s *Session) Close() error {
	s.release()
	if s.verify() == nil {
		_ = s.state.Remove(s.name) // It fails if the directory is not empty, as intended.
	}
	return s.letGo()
}

func (s *Session) letGo() error {
	var errs []error
	for _, root := range []*os.Root{s.root, s.state} {
		if root != nil {
			errs = append(errs, root.Close())
		}
	}
	return errors.Join(errs...)
}

// A Folder is the directory of one job. It is created together with its first file.
type Folder struct {
	session *Session
	name    string

	mu   sync.Mutex  // guards the fields below
	info fs.FileInfo // nil: not created yet
}

// Folder returns the folder of that name. It does not create it yet.
func (s *Session) Folder(name string) *Folder { return &Folder{session: s, name: name} }

// Path returns the absolute path that the folder has or will have.
func (f *Folder) Path() string { return filepath.Join(f.session.dir, f.name) }

// open opens the folder. On the first call it creates it. The caller must close the result.
func (f *Folder) open() (*os.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	made := f.info != nil
	if !made {
		if err := f.session.root.Mkdir(f.name, dirMode); err != nil {
			return nil, f.absolute(err, "")
		}
	}
	dir, err := f.session.root.OpenRoot(f.name)
	if err != nil {
		if !made {
			_ = f.session.root.Remove(f.name) // It is empty, and would make the next attempt fail.
		}
		return nil, f.absolute(err, "")
	}
	info, err := dir.Stat(".")
	switch {
	case err != nil:
	case !made:
		f.info = info
	case !os.SameFile(info, f.info):
		err = errors.New("another directory is in its place")
	}
	if err != nil {
		_ = dir.Close() // Nothing was written in it.
		return nil, f.absolute(err, "")
	}
	return dir, nil
}

// absolute returns err with the absolute path of the file name or, if name is empty, of the folder: errors of [os.Root]
// contain only the name within the directory.
func (f *Folder) absolute(err error, name string) error {
	path := filepath.Join(f.Path(), name)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: p.Op, Path: path, Err: p.Err}
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: l.Op, Path: path, Err: l.Err}
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

// Create creates a new file, open for reading and writing.
func (f *Folder) Create(name string) (*os.File, error) {
	dir, err := f.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, f.absolute(err, name)
	}
	return file, nil
}

// fresh is the suffix of a file's name until its whole content is written.
const fresh = ".new"

// Replace writes a file with this content, and replaces the old one if there is one. A reader sees either the old or
// the new content in full.
func (f *Folder) Replace(name string, content []byte) error {
	dir, err := f.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	file, err := dir.OpenFile(name+fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return f.absolute(err, name) // The error names the final file: users do not know the temporary name.
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = dir.Rename(name+fresh, name)
	}
	if err != nil {
		_ = dir.Remove(name + fresh) // Best effort: the disk may be the cause of the error.
		return f.absolute(err, name)
	}
	return nil
}

// Remove deletes the file, and then the folder if it is empty. It returns no error if they do not exist.
func (f *Folder) Remove(name string) error {
	f.mu.Lock()
	made := f.info != nil
	f.mu.Unlock()
	if !made {
		return nil
	}
	dir, err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = dir.Remove(name)
	if _ = dir.Close(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.absolute(err, name)
	}
	_ = f.session.root.Remove(f.name) // It fails if there are other files in the folder, as intended.
	return nil
}
