package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// CanonicalLineLimit is how many bytes of one line, the newline not counted, a
	// terminal in canonical mode keeps; it drops the rest and rings. It is MAX_CANON less
	// the newline.
	CanonicalLineLimit = 1023

	readTermios  = unix.TIOCGETA
	disabledChar = 0xff // _POSIX_VDISABLE
)

// openPair is Linux's short cut. Here the other side has to be found by its name, and the
// master takes non-blocking mode only once that is open.
func openPair() (master, slave *os.File, err error) { return nil, nil, errors.ErrUnsupported }

// Overtake sees to it that a signal key gets through to a job that does not read: what
// was typed before and not read is thrown away, as the kernel does itself when it sees
// such a key. Where the terminal makes no signal of key, or keeps its input (NOFLSH),
// nothing is done, and the key waits until what was typed before is read.
func (t *Terminal) Overtake(key byte) (sent bool, err error) {
	a, err := t.Attrs()
	if err != nil || a.signalOf(key) == 0 || a.NoFlush {
		return false, err
	}
	const read = 1 // FREAD of sys/fcntl.h: what is to be read by the job
	return false, t.control("flush the input of", func(fd int) error {
		return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, read)
	})
}
