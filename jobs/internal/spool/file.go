package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errGone means that a path no longer leads to the file that was stored there.
var errGone = errors.New("the output file is gone, or another one is in its place")

// A source reads the bytes of the file.
type source struct {
	open io.ReaderAt // nil: the file is opened for each read, so that an ended stream holds no descriptor

	path string
	info fs.FileInfo // identifies the file; set if open is nil
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

// reopen opens the file at path if it is the one that info describes. It returns errGone if it is not; then it never
// will be again.
func reopen(path string, info fs.FileInfo) (*os.File, error) {
	f, err := os.OpenFile(path, readFlags, 0)
	if err != nil {
		if gone := identify(path, info); gone != nil {
			return nil, gone
		}
		return nil, err // the file exists but cannot be opened, for example because too many files are open
	}
	now, err := f.Stat()
	// Another file may have the inode number of a deleted one.
	if err == nil && (!os.SameFile(now, info) || now.Size() != info.Size()) {
		err = fmt.Errorf("%s: %w", path, errGone)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// identify returns errGone if path does not lead to the file that info describes. It does not follow links.
func identify(path string, info fs.FileInfo) error {
	now, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, info):
		return fmt.Errorf("%s: %w", path, errGone)
	}
	return err
}
