package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// An opener opens files by asking of what it has opened where that lies. It serves the
// systems on which nothing stands for a file before it is opened: a file is looked at,
// opened without waiting, and looked at again. What an opening for reading does to
// somebody's device that was put there in between cannot be taken back.
type opener struct {
	real  func(*os.File) (string, error) // the absolute path of an open file, without a symlink
	flags int                            // for every opening: not to wait, to get no terminal
}

// openInput is OpenInput.
func (o opener) openInput(path string, allow Allow) (*os.File, error) {
	return o.open(path, os.O_RDONLY, allow)
}

// openOutput is OpenOutput.
func (o opener) openOutput(path string, allow Allow) (*os.File, error) {
	for range mostLinks {
		f, err := o.open(path, os.O_WRONLY, allow)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		f, next, err := o.create(path, allow)
		if f != nil || err != nil {
			return f, err
		}
		path = next
	}
	return nil, syscall.ELOOP
}

// mostLinks is how many symlinks are followed to a file that is to be made.
const mostLinks = 40

func (o opener) open(path string, how int, allow Allow) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := fit(info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, how|o.flags, 0)
	if err != nil {
		return nil, err
	}
	if err := o.check(f, allow); err != nil {
		_ = f.Close() // Nothing was written.
		return nil, err
	}
	return f, nil
}

// check says whether what was opened may be used.
func (o opener) check(f *os.File, allow Allow) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case isNull(info):
		return nil // it holds nothing, wherever it is
	}
	real, err := o.real(f)
	if err != nil {
		return err
	}
	if err := allow(real); err != nil {
		return err
	}
	return fit(info)
}

// fit says whether something is a file that a job may be given.
func fit(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode().IsRegular(), isNull(info):
		return nil
	}
	return ErrNotRegular
}

func isNull(info fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && info.Mode()&fs.ModeDevice != 0 && os.SameFile(null, info)
}

// create makes a file that is not there. Where there is a symlink that leads nowhere, or
// somebody was faster, next is where to look. It is made in the directory that was
// looked at, wherever that is by then.
func (o opener) create(path string, allow Allow) (f *os.File, next string, err error) {
	dir, name := filepath.Split(path)
	if name == "" {
		return nil, "", syscall.EISDIR
	}
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = root.Close() }()
	real, err := o.realRoot(root)
	if err != nil {
		return nil, "", err
	}
	if target, err := root.Readlink(name); err == nil {
		return nil, absoluteIn(real, target), nil
	}
	if err := allow(filepath.Join(real, name)); err != nil {
		return nil, "", err
	}
	f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, path, nil
	case err != nil:
		return nil, "", err
	}
	return f, "", nil
}

func (o opener) realRoot(root *os.Root) (string, error) {
	f, err := root.Open(".")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return o.real(f)
}

func absoluteIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// emptyFile is Empty.
func emptyFile(f *os.File) error {
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	return err
}
