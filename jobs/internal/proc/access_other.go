//go:build !linux

package proc

import (
	"io/fs"
	"runtime"
)

// mayExecute goes by the mode, which is a guess: whose bit it is counts as well.
// Windows has no such bit.
func mayExecute(_ string, info fs.FileInfo) bool {
	return runtime.GOOS == "windows" || info.Mode()&0o111 != 0
}
