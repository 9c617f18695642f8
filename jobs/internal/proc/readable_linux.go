package proc

import "golang.org/x/sys/unix"

// readable is how many bytes wait in a pipe. TIOCINQ is FIONREAD, under the name
// that it has for terminals.
func readable(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), unix.TIOCINQ) }
