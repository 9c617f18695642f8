//go:build !unix

package store

import (
	"io/fs"
	"os"
)

// makeWay creates a directory and its parents if they do not exist, and returns its path. It checks nothing: on this
// system new directories inherit the permissions of their parent, and there is no temporary directory that all users
// share.
func makeWay(path string, _ bool) (string, error) { return path, os.MkdirAll(path, dirMode) }

// judge returns nil; see makeWay.
func judge(string, fs.FileInfo) error { return nil }

// Check returns an error if makeWay would refuse a directory because of other users, which never happens on this
// system.
func Check(string) error { return nil }
