package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// An opener opens a file first and then asks the system for the path of the open file. It is for systems without
// O_PATH, on which a file cannot be held without opening it: the opener checks the file, opens it without blocking, and
// checks the open file. If someone puts a device in its place between the first check and the open, the effect of the
// open on that device cannot be undone.
type opener struct {
	real  func(*os.File) (string, error) // returns the absolute path of an open file, without symlinks
	flags int                            // added to every open: do not block, get no controlling terminal
}

// openInput implements OpenInput.
func (o opener) openInput(path string, allow Allow) (*os.File, error) {
	return o.open(path, os.O_RDONLY, allow)
}

// openOutput implements OpenOutput.
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

// mostLinks bounds the number of symlinks followed to a file that must be created.
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

// check returns an error unless the open file may be used.
func (o opener) check(f *os.File, allow Allow) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case isNull(info):
		return nil // The null device holds no data, wherever it is.
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

// fit returns an error unless the file is regular or the null device, which are the kinds that a job may get.
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

// create creates a file that does not exist. If there is a dangling symlink, or another process was faster, it returns
// no file but the path next, which the caller must try instead. The file is created in the directory that allow was
// asked about, even if that directory has been moved since.
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

// emptyFile implements Empty.
func emptyFile(f *os.File) error {
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	return err
}
