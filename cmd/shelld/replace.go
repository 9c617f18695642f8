package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A replacement is the new content of a file, which is written beside it and then put into its place:
// what is in the file stays until then. What is no regular file, such as a pipe, is written to as it is.
type replacement struct {
	file   *os.File
	target string // "": file is the target itself
}

// openReplacement makes the file that put writes to. A symbolic link stays one.
func openReplacement(name string) (*replacement, error) {
	r := &replacement{}
	var err error
	if fi, statErr := os.Stat(name); statErr == nil && !fi.Mode().IsRegular() {
		r.file, err = os.OpenFile(name, os.O_WRONLY, 0)
	} else {
		if r.target, err = filepath.EvalSymlinks(name); err != nil {
			r.target = name
		}
		r.file, err = os.OpenFile(fmt.Sprintf("%s.%d.tmp", r.target, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// put writes the content, and is called once.
func (r *replacement) put(content []byte) error {
	_, err := r.file.Write(content)
	if err = errors.Join(err, r.file.Close()); err != nil || r.target == "" {
		return err
	}
	return os.Rename(r.file.Name(), r.target)
}

// discard takes the file away if it was not put into its place.
func (r *replacement) discard() {
	_ = r.file.Close() // It may be closed; what is in it is of no use.
	if r.target != "" {
		os.Remove(r.file.Name())
	}
}

// replaceFile writes a file anew.
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
