//go:build !unix

package store

import "io/fs"

// ours reports whether info is that of a directory. Its owner need not be checked: on this system new directories
// inherit their permissions.
func ours(info fs.FileInfo) bool { return info.IsDir() }
