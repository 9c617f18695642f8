//go:build unix

package front

import (
	"os"
	"strconv"
	"syscall"
)

// closeOnExec sets the flag of the descriptors that a directory lists.
func closeOnExec(list string, first int) error {
	open, err := os.ReadDir(list)
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			syscall.CloseOnExec(fd)
		}
	}
	return err
}
