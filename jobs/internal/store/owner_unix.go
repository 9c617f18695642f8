//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// ours says whether a directory belongs to whom this process acts for.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(st.Uid) == os.Geteuid()
}
