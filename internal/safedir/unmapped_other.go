//go:build unix && !linux

package safedir

import "io/fs"

// isUnmapped returns false: this system has no user namespaces, so that every user has a uid.
func isUnmapped(uint32) bool { return false }

func isOfRoot(string, fs.FileInfo) bool { return false }
