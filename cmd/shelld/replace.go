package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// replaceFile writes a file anew. What is in it stays until all of the new content is written.
func replaceFile(name string, content []byte) error {
	f, target, err := createBeside(name)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// createBeside makes a file that is to replace another one, and returns the path of that. A symbolic
// link stays one.
func createBeside(name string) (f *os.File, target string, err error) {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to
	}
	f, err = os.OpenFile(fmt.Sprintf("%s.%d.tmp", name, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return f, name, err
}
