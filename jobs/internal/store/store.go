// Package store makes the directories and files in which output is kept:
//
//	<state directory>/<session>/<job>/<file>
//
// What it makes is for its owner alone (0700, 0600) and is made anew: a name that is
// taken, by a link or by anything else, is an error and never followed. The state directory
// and a session's are held open, and everything below is reached from there, so that nobody
// who may write to the state directory can lead the files elsewhere. That no other user may,
// or can swap a directory above it, is looked at first: whoever reads the files by their
// names is not to be led elsewhere either.
//
// The package starts no goroutine but one that waits for a lock, and a Folder may be used by
// several.
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
)

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// A Session is the directory of one server.
type Session struct {
	state *os.Root // the state directory
	root  *os.Root // the session's
	name  string   // of the session's in state
	place string   // the absolute path of state, as it is told
	dir   string   // and that of the session's
	info  fs.FileInfo
	lock  *os.File // see Hold
}

// Open makes the directory of a session in the directory state, which must be
// absolute, and state itself where it is not there. State has to be a place in which no other
// user can put something in the place of what is ours; see makeWay.
func Open(state, session string) (*Session, error) { return openSession(state, session, false) }

// OpenTrusting is Open where whoever may change state, or the way to it, is trusted. The
// session's own directory is made anew and looked at all the same.
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

// openState opens the state directory, and sees that it is the one that was judged.
func (s *Session) openState(state string, trust bool) error {
	real, err := makeWay(state, trust)
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
	// By now: opening is what mounts a directory that is mounted on demand.
	now, err := os.Lstat(real)
	if err == nil && !os.SameFile(now, opened) {
		err = errSwapped(real)
	}
	if err == nil && !trust {
		err = judge(real, opened)
	}
	return err
}

// hasParents says whether there is a ".." in a path. Behind a symlink that is another
// directory than the one that is named before it, so that the path cannot be told, or written
// shorter, by its names alone.
func hasParents(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}

func errSwapped(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: errors.New("another program replaced the directory")}
}

// make makes the session's directory, and opens it. What is made is removed where it cannot
// be used, unless it is another one by then.
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

// absolute is err about the session's directory, under its whole path.
func (s *Session) absolute(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: p.Op, Path: s.dir, Err: p.Err}
	}
	return &fs.PathError{Op: "open", Path: s.dir, Err: err}
}

// verify says whether what is open is the directory that stands under the name, and
// is ours: between making and opening it somebody may have put another there.
func (s *Session) verify() error {
	now, err := s.state.Lstat(s.name)
	switch {
	case err != nil:
		return s.absolute(err)
	case !os.SameFile(now, s.info), !ours(s.info):
		return errSwapped(s.dir)
	}
	return nil
}

// State returns the absolute path of the state directory: as it was named, or without
// symlinks where the name has "..".
func (s *Session) State() string { return s.place }

// Path returns the absolute path of the directory.
func (s *Session) Path() string { return s.dir }

// Close lets go of the directory, and removes it if nothing was kept in it.
func (s *Session) Close() error {
	s.release()
	if s.verify() == nil {
		_ = s.state.Remove(s.name) // It goes if it is empty, which is what is meant.
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

// A Folder is the directory of one job. It is made with the first thing in it.
type Folder struct {
	session *Session
	name    string

	mu   sync.Mutex  // guards what follows
	info fs.FileInfo // nil: not made yet
}

// Folder returns the folder of that name. Nothing is made yet.
func (s *Session) Folder(name string) *Folder { return &Folder{session: s, name: name} }

// Path returns the absolute path that the folder has or will have.
func (f *Folder) Path() string { return filepath.Join(f.session.dir, f.name) }

// open makes the folder, the first time, and opens it. Close what it returns.
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
			_ = f.session.root.Remove(f.name) // It is empty, and would be in the way of the next try.
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
		_ = dir.Close() // Nothing was done in it.
		return nil, f.absolute(err, "")
	}
	return dir, nil
}

// absolute is err about the file name, or the folder, under its whole path: what is
// done in a directory is told by a name in it.
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

// Create makes a new file, open for reading and writing under its absolute name.
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

// fresh is what a file is called until all of it is written.
const fresh = ".new"

// Replace makes the file with this content, or puts it into the place of the old
// one: whoever reads it sees one of them whole.
func (f *Folder) Replace(name string, content []byte) error {
	dir, err := f.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	file, err := dir.OpenFile(name+fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return f.absolute(err, name) // what it is to become: nobody knows the other name
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = dir.Rename(name+fresh, name)
	}
	if err != nil {
		_ = dir.Remove(name + fresh) // Best effort: it may be the disk that fails.
		return f.absolute(err, name)
	}
	return nil
}

// Remove deletes the file, and then the folder, unless there is more in it. What is
// not there is no error.
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
	_ = f.session.root.Remove(f.name) // What somebody else has put into it stays, and so does it.
	return nil
}
