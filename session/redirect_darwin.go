package session

import (
	"os"

	"golang.org/x/sys/unix"
)

// redirect makes a file the stdout and the stderr of this process.
func redirect(f *os.File) error {
	for fd := 1; fd <= 2; fd++ {
		if err := unix.Dup2(int(f.Fd()), fd); err != nil {
			return err
		}
	}
	return nil
}
