//go:build linux || darwin

package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// OpenTerminal opens a new terminal of the given size. The caller gives the slave, which is blocking and close-on-exec,
// to the keeper and closes it. The error wraps the kernel's error.
func OpenTerminal(cols, rows int) (t *Terminal, slave *os.File, err error) {
	if err := checkSize(cols, rows); err != nil {
		return nil, nil, err
	}
	master, slave, err := openPair()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
		master, slave, err = openByName()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	if t, err = newTerminal(master); err == nil {
		err = t.Resize(cols, rows)
	}
	if err != nil {
		_, _ = master.Close(), slave.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return t, slave, nil
}

// openByName opens a terminal by its number. creack/pty leaves the master in blocking mode, with an os.File outside of
// the poller, so that Close would not end a Read. It leaves the slave in non-blocking mode. So openByName creates new
// files from duplicates of both descriptors.
func openByName() (master, slave *os.File, err error) {
	m, s, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _, _ = m.Close(), s.Close() }()
	if master, err = duplicate(m, true); err != nil {
		return nil, nil, err
	}
	if slave, err = duplicate(s, false); err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

func newTerminal(master *os.File) (*Terminal, error) {
	source, err := newSource(master, true)
	if err != nil {
		return nil, err
	}
	sink, err := newSink(master, true)
	if err != nil {
		return nil, err
	}
	// Read and Write wait in the poller, and deadlines wake them. This call fails if the terminal is not in the poller:
	// not all versions of macOS support that.
	if err := master.SetDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("wait for it: %w", err)
	}
	return &Terminal{file: master, source: source, sink: sink}, nil
}

// duplicate returns a new os.File with a descriptor of its own for the same open terminal. If it is non-blocking,
// os.NewFile adds it to the poller.
func duplicate(f *os.File, nonblocking bool) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	controlErr := raw.Control(func(old uintptr) {
		if fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3); err == nil {
			err = unix.SetNonblock(fd, nonblocking)
		}
	})
	if err == nil {
		err = controlErr
	}
	if err != nil {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func checkSize(cols, rows int) error {
	if cols < 1 || rows < 1 || cols > 0xffff || rows > 0xffff {
		return fmt.Errorf("size a terminal to %d columns and %d rows: %w", cols, rows, syscall.EINVAL)
	}
	return nil
}

// Resize sets the size. If it changes, the kernel sends WINCH to the foreground group.
func (t *Terminal) Resize(cols, rows int) error {
	if err := checkSize(cols, rows); err != nil {
		return err
	}
	return t.control("resize", func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
}

// Attrs returns the terminal's present modes.
func (t *Terminal) Attrs() (a Attrs, err error) {
	err = t.control("read the modes of", func(fd int) error {
		tio, err := unix.IoctlGetTermios(fd, readTermios)
		if err == nil {
			a = attrsOf(tio)
		}
		return err
	})
	return a, err
}

func attrsOf(t *unix.Termios) Attrs {
	return Attrs{
		Canonical: t.Lflag&unix.ICANON != 0,
		Echo:      t.Lflag&unix.ECHO != 0,
		Signals:   t.Lflag&unix.ISIG != 0,
		NoFlush:   t.Lflag&unix.NOFLSH != 0,
		CRToNL:    t.Iflag&unix.ICRNL != 0,
		EOF:       char(t, unix.VEOF), EOL: char(t, unix.VEOL),
		Intr: char(t, unix.VINTR), Quit: char(t, unix.VQUIT), Susp: char(t, unix.VSUSP),
		Kill: char(t, unix.VKILL), Erase: char(t, unix.VERASE),
		Shown: echoAttrsOf(t),
	}
}

// char returns one of the terminal's special characters, or 0 if it is disabled.
func char(t *unix.Termios, which int) byte {
	if c := t.Cc[which]; c != disabledChar {
		return c
	}
	return 0
}

// ForegroundGroup returns the id of the terminal's foreground process group.
func (t *Terminal) ForegroundGroup() (group int, err error) {
	err = t.control("read the foreground group of", func(fd int) error {
		var err error
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group, err
}

// control calls ioctl with the master's descriptor. It does not use File.Fd, which would end the non-blocking mode.
func (t *Terminal) control(what string, ioctl func(fd int) error) error {
	var err error
	if t.source.raw.Control(func(fd uintptr) { err = ioctl(int(fd)) }) != nil {
		err = os.ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%s a terminal: %w", what, err)
	}
	return nil
}

// signalOf returns the signal that the terminal sends for a key, or 0.
func (a Attrs) signalOf(key byte) syscall.Signal {
	switch {
	case !a.IsSignal(key):
		return 0
	case key == a.Intr:
		return syscall.SIGINT
	case key == a.Quit:
		return syscall.SIGQUIT
	}
	return syscall.SIGTSTP
}
