package session

import (
	"os"
	"strconv"
	"syscall"
)

// keepFromChildren keeps what this process has inherited from the processes that it starts: as long as a host holds the
// end of another program's pipe, the pipe does not end.
func keepFromChildren() error {
	open, err := os.ReadDir("/dev/fd")
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return err
}
