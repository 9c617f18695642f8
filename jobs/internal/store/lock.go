package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// lockFile is the file in a session's directory that its server has locked for as long as it
// lives. The system lets go of the lock when the server ends, however it does. That is what
// tells the dead from the living: process ids are used again, and a file stays.
const lockFile = "lock"

// What is written in it is for whoever finds it.
const (
	lockLine      = "The server of this directory is alive while this file is locked.\n"
	temporaryLine = "Delete the directory when it is not.\n"
	finishedLine  = "Everything here is in order.\n"
)

// ErrSwept says that somebody who tidies up has taken the new directory of a session for
// one that is over. It is gone; make it again.
var ErrSwept = errors.New("the new directory of the session was tidied up")

// errNoLocks says that the file system or the platform has no locks of the kind.
var errNoLocks = errors.New("files cannot be locked here")

// errLocked says that somebody has the lock.
var errLocked = errors.New("the file is locked")

// Hold locks the session, which nobody touches from then on but its server; before, nobody
// does but for taking it away while there is nothing in it. With temporary, whoever finds it
// when the server is dead deletes it. On an error but ErrSwept the session can be used, and
// nobody will ever tidy it up.
func (s *Session) Hold(temporary bool) error {
	f, err := s.root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrSwept
	}
	if err != nil {
		return err
	}
	if err := s.hold(f, temporary); err != nil {
		if !errors.Is(err, ErrSwept) {
			_ = s.root.Remove(lockFile) // A lock that nobody holds would make others take us for dead.
		}
		_ = f.Close() // Nothing was written that counts.
		return err
	}
	s.lock = f
	return nil
}

func (s *Session) hold(f *os.File, temporary bool) error {
	if err := lock(f, lockExclusive|lockWait); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := s.root.Lstat(lockFile); err != nil || !os.SameFile(now, mine) {
		return ErrSwept
	}
	text := lockLine
	if temporary {
		text += temporaryLine
	}
	_, err = f.WriteString(text)
	return err
}

// release ends Hold. The file goes where nothing else is in the directory.
func (s *Session) release() {
	if s.lock == nil {
		return
	}
	if s.verify() == nil {
		removeLock(s.root)
	}
	_ = s.lock.Close() // The lock goes with it; nothing is owed.
}

// removeLock deletes the lock of a session in whose directory there is nothing else. Others
// need it: they take nothing away that has none.
func removeLock(session *os.Root) {
	dir, err := session.Open(".")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(2)
	_ = dir.Close() // It was only read.
	if len(names) == 1 && names[0] == lockFile {
		_ = session.Remove(lockFile) // Who is in the way of that can stay.
	}
}

// says tells whether a line stands in a lock's file.
func says(f *os.File, line string) bool {
	b := make([]byte, 1024)
	n, _ := f.ReadAt(b, 0)
	return bytes.Contains(b[:n], []byte(line))
}

// A lockMode says how a file is locked.
type lockMode int

const (
	lockShared    lockMode = 0
	lockExclusive lockMode = 1
	lockWait      lockMode = 2 // for others to let go; else errLocked
)
