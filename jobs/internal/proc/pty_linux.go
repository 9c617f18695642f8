package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// CanonicalLineLimit is how many bytes of one line, the newline not counted, a
	// terminal in canonical mode keeps; it drops the rest without a word.
	CanonicalLineLimit = 4095

	readTermios  = unix.TCGETS
	disabledChar = 0
)

// openPair asks the master for its other side, in a fifth of the system calls that
// finding it by name takes, and also where /dev/pts is another container's. Kernels
// before 4.13 cannot.
func openPair() (master, slave *os.File, err error) {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("open /dev/ptmx", err)
	}
	s, number := -1, 0
	if err = unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0); err == nil {
		if number, err = unix.IoctlGetInt(m, unix.TIOCGPTN); err == nil {
			s, err = peer(m, 0)
		}
	}
	if err != nil {
		_ = unix.Close(m)
		return nil, nil, err
	}
	return os.NewFile(uintptr(m), "/dev/ptmx"), os.NewFile(uintptr(s), "/dev/pts/"+strconv.Itoa(number)), nil
}
