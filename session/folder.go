package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"shelld.dev/shelld/internal/safedir"
)

// The files of a session.
const (
	lockFile     = "lock"
	startingFile = "starting"
	socketFile   = "socket"
	infoFile     = "host.json"
	logFile      = "host.log"
	oldLogFile   = "host.log.1"
	fresh        = ".new" // suffix of a file until it is complete
)

// allFiles are the names that a session's directory can have in it. The lock comes last: without it another front could
// start a host there.
var allFiles = []string{socketFile, socketFile + fresh, infoFile, infoFile + fresh, logFile, oldLogFile, startingFile, lockFile}

// A folder is the directory of one session, held open.
type folder struct {
	name string
	path string
	root *os.Root
	dir  *os.File // the same directory
}

// errSwept is the error if the directory was deleted after it was opened. Then there may be a new one.
var errSwept = errors.New("the directory of the session was deleted")

// folder opens the directory of a session. The caller closes it.
func (d *Directory) folder(name string) (*folder, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	path := filepath.Join(d.path, name)
	before, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errorf(NotFound, "there is no session %s in %s; \"shelld sessions\" lists all", name, d.path)
	case err != nil:
		return nil, err
	case !safedir.Ours(before):
		return nil, errorf(NotOurs, "%s is not a directory of this user; choose another name, or another directory with -dir", path)
	case before.Mode().Perm()&0o077 != 0:
		return nil, errorf(NotOurs, "other users have access to %s (mode %#o); if they have changed nothing there: chmod 700 %s", path, before.Mode().Perm(), path)
	}
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errSwept
	}
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	f := &folder{name: name, path: path, root: root, dir: dir}
	if now, err := dir.Stat(); err != nil || !os.SameFile(now, before) {
		f.close()
		return nil, errSwept
	}
	return f, nil
}

func (f *folder) close() {
	_ = f.dir.Close() // It was only read.
	_ = f.root.Close()
}

// inPlace reports whether the path still leads to this directory.
func (f *folder) inPlace() bool {
	now, err := os.Lstat(f.path)
	if err != nil {
		return false
	}
	mine, err := f.dir.Stat()
	return err == nil && os.SameFile(now, mine)
}

// open opens a file that is locked.
func (f *folder) open(name string) (*os.File, error) {
	file, err := f.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errSwept
	}
	return file, f.absolute(err, name)
}

// absolute returns err with the absolute path of a file.
func (f *folder) absolute(err error, name string) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: p.Op, Path: filepath.Join(f.path, name), Err: p.Err}
	}
	return err
}

// lock opens and locks a file, for which it waits at most so long. It returns safedir.ErrLocked if that was not enough.
func (f *folder) lock(name string, most time.Duration) (*os.File, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	got := make(chan error, 1)
	go func() { got <- safedir.Lock(file, safedir.Exclusive|safedir.Wait) }()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case err = <-got:
	case <-late.C:
		go func() { // No system can cancel the wait.
			<-got
			_ = file.Close() // Nothing was written to it.
		}()
		return nil, safedir.ErrLocked
	}
	if err == nil && !f.holds(name, file) {
		err = errSwept
	}
	if err != nil {
		_ = file.Close() // Nothing was written to it.
		return nil, f.absolute(err, name)
	}
	return file, nil
}

// holds reports whether an open file is the one of that name at the session's path.
func (f *folder) holds(name string, file *os.File) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	now, err := f.root.Lstat(name)
	return err == nil && os.SameFile(mine, now) && f.inPlace()
}

// alive reports whether a host holds the lock.
func (f *folder) alive() bool {
	file, err := f.root.OpenFile(lockFile, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(safedir.Lock(file, safedir.Shared), safedir.ErrLocked)
}

// replace writes a file as a whole. A reader sees either the old or the new content.
func (f *folder) replace(name string, content []byte) error {
	file, err := f.root.OpenFile(name+fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return f.absolute(err, name)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.root.Rename(name+fresh, name)
	}
	if err != nil {
		_ = f.root.Remove(name + fresh) // Best effort: the disk may be the cause of the error.
	}
	return f.absolute(err, name)
}

// read returns the content of a file, of which it reads at most so much from the end.
func (f *folder) read(name string, most int64) ([]byte, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return nil, f.absolute(err, name)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		if _, err := file.Seek(-most, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// logged reports whether a host has logged something.
func (f *folder) logged() bool {
	for _, name := range []string{logFile, oldLogFile} {
		if info, err := f.root.Lstat(name); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// remove deletes the directory and the files in it that belong there. The caller holds both locks.
func (f *folder) remove() error {
	if !f.inPlace() {
		return nil
	}
	claims, err := f.claims("*")
	if err != nil {
		return err
	}
	for _, name := range append(claims, allFiles...) {
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f.absolute(err, name)
		}
	}
	return os.Remove(f.path)
}
