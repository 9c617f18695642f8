package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errGone says that a path leads no longer to the file that was stored there.
var errGone = errors.New("the output file is gone, or another one is in its place")

// A source is where bytes of the file are read.
type source struct {
	open io.ReaderAt // nil: opened for each read, so that an ended stream holds no descriptor

	path string
	info fs.FileInfo // which file is meant; set when open is not
}

func (s source) readAt(p []byte, pos int64) (int, error) {
	if s.open != nil {
		return s.open.ReadAt(p, pos)
	}
	f, err := reopen(s.path, s.info)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(p, pos)
}

// reopen opens the file at path if it is the one that info is about; an error
// that is errGone says that it is not, and never will be again.
func reopen(path string, info fs.FileInfo) (*os.File, error) {
	f, err := os.OpenFile(path, readFlags, 0)
	if err != nil {
		if gone := identify(path, info); gone != nil {
			return nil, gone
		}
		return nil, err // it is there and can't be opened: too many open files, say
	}
	now, err := f.Stat()
	// Another file may have got the number of one that was deleted.
	if err == nil && (!os.SameFile(now, info) || now.Size() != info.Size()) {
		err = fmt.Errorf("%s: %w", path, errGone)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// identify says whether path leads to the file that info is about, links not
// followed.
func identify(path string, info fs.FileInfo) error {
	now, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, info):
		return fmt.Errorf("%s: %w", path, errGone)
	}
	return err
}
