package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A replacement is the new content of a file. It is written to a temporary file beside the target, which then replaces
// it: until then the old content stays. If the target is not a regular file but, for example, a pipe, the content is
// written directly to it.
type replacement struct {
	file   *os.File
	target string // "": file is the target itself
}

// openReplacement opens the file that put writes to. A symbolic link is kept.
func openReplacement(name string) (*replacement, error) {
	r := &replacement{}
	var err error
	if fi, statErr := os.Stat(name); statErr == nil && !fi.Mode().IsRegular() {
		r.file, err = openOther(name, fi)
	} else if r.target, err = linkTarget(name); err == nil {
		r.file, err = os.OpenFile(fmt.Sprintf("%s.%d.tmp", r.target, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// openOther opens a file that is not regular. A pipe without a reader is an error: opening it would block until there
// is one.
func openOther(name string, fi fs.FileInfo) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) && fi.Mode()&fs.ModeNamedPipe != 0 {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("the pipe has no reader")}
	}
	return f, err
}

// linkTarget returns the name of the file that name leads to through symbolic links. The file need not exist.
func linkTarget(name string) (string, error) {
	const mostLinks = 40 // as in the kernel
	for range mostLinks {
		target, err := filepath.EvalSymlinks(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return target, err
		}
		link, err := os.Readlink(name)
		if err != nil {
			return name, nil // It is not a link, or its directory does not exist; creating it reports that.
		}
		if !filepath.IsAbs(link) {
			link = filepath.Dir(name) + string(filepath.Separator) + link
		}
		name = link
	}
	return "", &fs.PathError{Op: "open", Path: name, Err: errors.New("too many symbolic links")}
}

// put writes the content. It must be called only once.
func (r *replacement) put(content []byte) error {
	_, err := r.file.Write(content)
	if err = errors.Join(err, r.file.Close()); err != nil || r.target == "" {
		return err
	}
	return os.Rename(r.file.Name(), r.target)
}

// discard removes the temporary file if it has not replaced the target.
func (r *replacement) discard() {
	_ = r.file.Close() // It may be closed already; its content is not needed.
	if r.target != "" {
		os.Remove(r.file.Name())
	}
}

// replaceFile replaces the content of a file.
func replaceFile(name string, content []byte) error {
	r, err := openReplacement(name)
	if err != nil {
		return err
	}
	if err = r.put(content); err != nil {
		r.discard()
	}
	return err
}
