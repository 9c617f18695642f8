package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"shelld.dev/shelld/internal/safedir"
)

// maxName is the maximum length of a session's name.
const maxName = 64

// The limits of a front's patience.
const (
	answerTime = 10 * time.Second // of a host to a message
	startTime  = 30 * time.Second // of a host until it is ready, and for another front that starts it
)

// A Directory contains the directories of all sessions.
type Directory struct {
	path   string
	answer time.Duration // answerTime, or less in tests
}

// Open returns the directory for a path or, if that is empty, the default one. It need not exist.
func Open(path string) (*Directory, error) {
	var err error
	if path == "" {
		if path, err = safedir.Default("hosts"); err != nil {
			return nil, &Error{Text: "there is no place for sessions (" + err.Error() + "); set HOME or XDG_STATE_HOME, or name a directory with -dir", Err: err}
		}
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	return &Directory{path: path, answer: answerTime}, nil
}

// Path returns the path of the directory.
func (d *Directory) Path() string { return d.path }

// CheckName returns an error unless name may be the name of a session.
func CheckName(name string) error {
	for i, c := range []byte(name) {
		isFirst := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !isFirst && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return errName(name)
		}
	}
	if name == "" || len(name) > maxName {
		return errName(name)
	}
	return nil
}

func errName(name string) error {
	return errorf(NotFound, "%q cannot be the name of a session; use at most %d letters, digits, dots, dashes and underscores, beginning with a letter or a digit", name, maxName)
}

// make makes the directory, and checks that no other user could replace what is in it. It returns the directory by its
// real path; d stays as it is, since others may use it at the same time.
func (d *Directory) make() (*Directory, error) {
	path, err := safedir.Make(d.path, false)
	if err != nil {
		return nil, d.cannot(err)
	}
	return &Directory{path: path, answer: d.answer}, nil
}

// cannot returns the error for a directory in which no session can be kept.
func (d *Directory) cannot(err error) error {
	kind := Kind("")
	if safedir.IsUnsafe(err) {
		kind = NotOurs
	}
	return errorf(kind, "sessions cannot be kept in %s (%w); name another directory with -dir, or set XDG_STATE_HOME", d.path, err)
}

// names returns the names of the sessions that have a directory.
func (d *Directory) names() (all []string, err error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if CheckName(e.Name()) == nil {
			all = append(all, e.Name())
		}
	}
	return all, err
}
