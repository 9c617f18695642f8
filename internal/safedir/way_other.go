//go:build !unix

package safedir

import (
	"io/fs"
	"os"
)

// Make creates a directory and its parents if they do not exist, and returns its path. It checks nothing: on this
// system new directories inherit the permissions of their parent, and there is no temporary directory that all users
// share.
func Make(path string, _ bool) (string, error) { return path, os.MkdirAll(path, dirMode) }

// Judge returns nil; see Make.
func Judge(string, fs.FileInfo) error { return nil }

// Check returns an error if Make would refuse a directory because of other users, which never happens on this
// system.
func Check(string) error { return nil }
