package session

import (
	"math"

	"golang.org/x/sys/unix"
)

// keepFromChildren keeps what this process has inherited from the processes that it starts: as long as a host holds the
// end of another program's pipe, the pipe does not end.
func keepFromChildren() error {
	return unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
}
