package proc

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Overtake prepares the terminal for a signal key, so that the key takes effect even if the job does not read: it
// discards the unread input, as the kernel itself does for such a key. The caller types the key next, unless sent
// reports that its signal was sent already. If the terminal does not turn key into a signal (any more), Overtake does
// nothing.
//
// Without this the key can get stuck behind other input. Measured on Linux 6.18 with a job that does not read and 20
// KiB typed (4 KiB in the line discipline, 16 KiB in the buffers behind it), in canonical mode and not, with echo on
// and off:
//
//   - The key alone: the write blocks, or the key lies behind the other input and has no effect until the job reads.
//     The line discipline processes the key only after the buffers.
//   - TCFLSH with TCOFLUSH on the master empties the buffers, but not the line discipline, which then still has no room
//     for the key: it has no effect.
//   - TCFLSH with TCIFLUSH on the slave empties both. The key then takes effect within 0.3 ms, and later input arrives
//     unchanged.
//   - TIOCSIG on the master sends the signal at once and discards nothing. It is used if the terminal keeps its input
//     (NOFLSH), or if the slave cannot be opened.
//
// Overtake may wait for a lock of the terminal that a reader holds. So only the writing goroutine should call it.
func (t *Terminal) Overtake(key byte) (sent bool, err error) {
	a, err := t.Attrs()
	if err != nil {
		return false, err
	}
	sig := a.signalOf(key)
	if sig == 0 {
		return false, nil
	}
	if !a.NoFlush {
		if err = t.flush(); err == nil {
			return false, nil
		}
	}
	if sigErr := t.control("send a signal through", func(fd int) error {
		return unix.IoctlSetInt(fd, unix.TIOCSIG, int(sig))
	}); sigErr != nil {
		return false, sigErr
	}
	return true, err
}

// flush discards the typed and unread input. It opens the slave for a moment, through the master, since there may be no
// path to the slave.
func (t *Terminal) flush() error {
	return t.control("flush the input of", func(fd int) error {
		slave, err := peer(fd, unix.O_NONBLOCK)
		if err != nil {
			return err
		}
		err = unix.IoctlSetInt(slave, unix.TCFLSH, unix.TCIFLUSH)
		_ = unix.Close(slave) // Nothing was written through it.
		return err
	})
}

// peer opens the other side of a terminal's master, with flags in addition to the usual ones.
func peer(master, flags int) (int, error) {
	flags |= unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(flags))
	if errno != 0 {
		return -1, fmt.Errorf("open its other side: %w", os.NewSyscallError("ioctl", errno))
	}
	return int(fd), nil
}
