package proc

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Overtake sees to it that a signal key gets through to a job that does not read:
// what was typed before and not read is thrown away, as the kernel does itself when
// it sees such a key. The caller types the key next, unless sent says that its
// signal was sent already. Where the terminal makes no signal of key (any more),
// nothing is done.
//
// Without this the key can be lost in the crowd. Measured on Linux 6.18 with a job
// that does not read and 20 KiB typed (4 KiB in the line discipline, 16 KiB in the
// buffers behind it), canonical and not, echo on and off:
//
//   - the key alone: the write blocks, or the key lies behind the rest and nothing
//     comes of it until the job reads; its look at the key comes after the buffers.
//   - TCFLSH with TCOFLUSH on the master empties the buffers and not the line
//     discipline, which then still has no room for the key: nothing comes of it.
//   - TCFLSH with TCIFLUSH on the slave empties both. The key then takes effect in
//     0.3 ms, and what is typed later arrives as it is.
//   - TIOCSIG on the master sends the signal at once and flushes nothing. So it is
//     what there is where the terminal keeps its input (NOFLSH), and where the
//     slave cannot be opened.
//
// It may wait for a lock of the terminal's that a reader holds: it is for the
// goroutine that writes.
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

// flush throws away what was typed and not read. The slave is opened for a moment,
// through the master, since a path to it may not be there.
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

// peer opens the other side of a terminal's master, with flags beside those that it
// always has.
func peer(master, flags int) (int, error) {
	flags |= unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(flags))
	if errno != 0 {
		return -1, fmt.Errorf("open its other side: %w", os.NewSyscallError("ioctl", errno))
	}
	return int(fd), nil
}
