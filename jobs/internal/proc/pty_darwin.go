package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// CanonicalLineLimit is the number of bytes of one line, without the newline, that a terminal in canonical mode
	// keeps. It drops the rest and rings the bell. The limit is MAX_CANON less the newline.
	CanonicalLineLimit = 1023

	readTermios  = unix.TIOCGETA
	disabledChar = 0xff // _POSIX_VDISABLE
)

// openPair returns errors.ErrUnsupported: on this system the slave must be opened by name, and the master accepts
// non-blocking mode only once the slave is open.
func openPair() (master, slave *os.File, err error) { return nil, nil, errors.ErrUnsupported }

// Overtake prepares the terminal for a signal key, so that the key takes effect even if the job does not read: it
// discards the unread input, as the kernel itself does for such a key. The caller types the key next. If the terminal
// does not turn key into a signal, or keeps its input (NOFLSH), Overtake does nothing, and the key waits until the
// input before it is read.
func (t *Terminal) Overtake(key byte) (sent bool, err error) {
	a, err := t.Attrs()
	if err != nil || a.signalOf(key) == 0 || a.NoFlush {
		return false, err
	}
	const read = 1 // FREAD of sys/fcntl.h: the input that the job has not read
	return false, t.control("flush the input of", func(fd int) error {
		return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, read)
	})
}
