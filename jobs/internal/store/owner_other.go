//go:build !unix

package store

import "io/fs"

// ours: a directory that was made a moment ago inherits who may use it.
func ours(info fs.FileInfo) bool { return info.IsDir() }
