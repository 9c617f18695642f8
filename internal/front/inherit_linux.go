package front

import (
	"math"

	"golang.org/x/sys/unix"
)

// CloseOnExec keeps the descriptors from first on from programs that this process executes: as long as another process
// holds the end of a client's pipe, the pipe does not end.
func CloseOnExec(first int) error {
	if unix.CloseRange(uint(first), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return closeOnExec("/proc/self/fd", first) // The kernel is older than 5.11.
}
