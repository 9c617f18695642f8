//go:build !linux

package proc

import (
	"io/fs"
	"runtime"
)

// mayExecute reports whether the server probably may execute a file. It checks only the mode, and accepts an execute
// bit for anyone: the owner, the group or others. Windows has no such bit.
func mayExecute(_ string, info fs.FileInfo) bool {
	return runtime.GOOS == "windows" || info.Mode()&0o111 != 0
}
