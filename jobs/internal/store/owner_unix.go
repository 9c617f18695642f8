//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether info is that of a directory that belongs to the effective user of this process.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(st.Uid) == os.Geteuid()
}
