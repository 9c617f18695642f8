//go:build !unix

package safedir

import "io/fs"

// Ours reports whether info is that of a directory. Its owner need not be checked: on this system new directories
// inherit their permissions.
func Ours(info fs.FileInfo) bool { return info.IsDir() }
