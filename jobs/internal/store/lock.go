package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"shelld.dev/shelld/internal/safedir"
)

// lockFile is the file in a session's directory that the session's server holds locked as long as it lives. The system
// releases the lock when the server ends, for whatever reason. So the lock shows whether the server is alive; process
// ids cannot show it, since they are reused, nor can the mere existence of a file, which stays.
const lockFile = "lock"

// The lines in the lock file. They are for people and for servers that find the file later.
const (
	lockLine      = "The server of this directory is alive while this file is locked.\n"
	temporaryLine = "Delete the directory when it is not.\n"
	finishedLine  = "Everything here is in order.\n"
)

// ErrSwept is the error if another server, while tidying up, has taken the new directory of a session for an old one
// and deleted it. The caller should open a new session.
var ErrSwept = errors.New("the new directory of the session was tidied up")

// Hold locks the session. From then on only its server changes it; before that, others may delete it as long as it is
// empty. With temporary, the session will be deleted by the next server that finds it after the death of this one.
// After an error other than ErrSwept the session can be used, but will never be tidied up.
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
			_ = s.root.Remove(lockFile) // Other servers would take an unlocked file as proof that this server is dead.
		}
		_ = f.Close() // Its content does not count any more.
		return err
	}
	s.lock = f
	return nil
}

func (s *Session) hold(f *os.File, temporary bool) error {
	if err := safedir.Lock(f, safedir.Exclusive|safedir.Wait); err != nil {
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

// release ends Hold. It deletes the lock file if nothing else is in the directory.
func (s *Session) release() {
	if s.lock == nil {
		return
	}
	if s.verify() == nil {
		removeLock(s.root)
	}
	_ = s.lock.Close() // This releases the lock. Everything in the file is written already.
}

// removeLock deletes the lock file of a session if nothing else is in its directory. If there is something else, the
// file must stay, since other servers never delete a session without a lock file.
func removeLock(session *os.Root) {
	dir, err := session.Open(".")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(2)
	_ = dir.Close() // It was only read.
	if len(names) == 1 && names[0] == lockFile {
		_ = session.Remove(lockFile) // If that fails, the session stays.
	}
}

// says reports whether a lock file contains a line.
func says(f *os.File, line string) bool {
	b := make([]byte, 1024)
	n, _ := f.ReadAt(b, 0)
	return bytes.Contains(b[:n], []byte(line))
}
