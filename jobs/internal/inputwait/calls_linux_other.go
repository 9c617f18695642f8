//go:build linux && !amd64 && !arm64

package inputwait

import "golang.org/x/sys/unix"

// The numbers of system calls are not known here: the first tier is not used, and
// nothing is asked of this table.

const knowsCalls = false

var calls [0]callName

// fstatat takes a path that ends with a NUL.
func fstatat(dir int, path []byte, st *unix.Stat_t, flags int) error {
	return unix.Fstatat(dir, string(path[:len(path)-1]), st, flags)
}
