//go:build unix

package safedir

import (
	"io/fs"
	"os"
	"syscall"
)

// Ours reports whether info is that of a directory that belongs to the effective user of this process.
func Ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(st.Uid) == os.Geteuid()
}
