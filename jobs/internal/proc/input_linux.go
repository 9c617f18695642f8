package proc

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ID identifies the job's side of the terminal.
func (t *Terminal) ID() (id FileID, err error) {
	err = t.withPeer("identify", func(slave int) error {
		id, err = fileID(slave)
		return err
	})
	return id, err
}

// Unread reports whether there is unconsumed input that the job would get if it read now. In canonical mode an
// incomplete line does not count.
//
// Written input is in transit within the kernel for a while, where neither FIONREAD nor TIOCOUTQ sees it. Unread uses
// poll(2) on the job's side, which makes the kernel deliver such input first.
func (t *Terminal) Unread() (unread bool, err error) {
	err = t.withPeer("inspect the input of", func(slave int) error {
		unread, err = pollsIn(slave)
		return err
	})
	return unread, err
}

// ReadTimeout returns the time after which a read from the terminal ends even if nothing more is typed. ok is false if
// a read does not end by itself: in canonical mode, and if it waits for a first byte without a timeout. If a read waits
// for several bytes with a timeout (VMIN > 1, VTIME > 0), the timeout begins with the first byte. Whether that has come
// is not known, so ReadTimeout returns the timeout. It then returns at least one second: such a program does not poll
// while nothing is typed, unlike one with a short timeout.
func (t *Terminal) ReadTimeout() (timeout time.Duration, ok bool) {
	_ = t.control("read the modes of", func(fd int) error { // After an error, ok is false.
		a, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil || a.Lflag&unix.ICANON != 0 {
			return err
		}
		least, tenths := a.Cc[unix.VMIN], time.Duration(a.Cc[unix.VTIME])*100*time.Millisecond
		switch {
		case least == 0:
			timeout, ok = tenths, true
		case least > 1 && tenths > 0:
			timeout, ok = max(tenths, time.Second), true
		}
		return nil
	})
	return timeout, ok
}

// withPeer opens the job's side during do. This has no visible effect: if the job closes its last descriptor meanwhile,
// the end of output comes when withPeer closes its own.
func (t *Terminal) withPeer(what string, do func(slave int) error) error {
	return t.control(what, func(master int) error {
		slave, err := peer(master, unix.O_NONBLOCK)
		if err != nil {
			var byName error
			if slave, byName = peerByName(master); byName != nil {
				return err
			}
		}
		defer func() { _ = unix.Close(slave) }() // Nothing was written through it.
		return do(slave)
	})
}

// peerByName opens the other side of a terminal's master by path, for kernels before 4.13.
func peerByName(master int) (int, error) {
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return -1, err
	}
	return unix.Open("/dev/pts/"+strconv.Itoa(number), unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}

func fileID(fd int) (FileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return FileID{}, os.NewSyscallError("fstat", err)
	}
	return FileID{Dev: uint64(st.Dev), Ino: st.Ino, Rdev: uint64(st.Rdev)}, nil
}

// ID identifies the pipe.
func (p *PipeInput) ID() (id FileID, err error) {
	err = p.sink.control("identify", func(fd int) error {
		id, err = fileID(fd)
		return err
	})
	return id, err
}

// Unread reports whether there are bytes in the pipe.
func (p *PipeInput) Unread() (unread bool, err error) {
	err = p.sink.control("inspect", func(fd int) error {
		n, err := readable(uintptr(fd))
		unread = n > 0
		return err
	})
	return unread, err
}

// Outputs identifies the pipes that the job prints to, except for those that the server has closed.
func (p *PipeInput) Outputs() (ids []FileID) {
	for _, s := range p.sources {
		_ = s.raw.Control(func(fd uintptr) { // It fails only if the source is closed.
			if id, err := fileID(int(fd)); err == nil {
				ids = append(ids, id)
			}
		})
	}
	return ids
}

// control calls f with the descriptor, which stays open during the call.
func (s *Sink) control(what string, f func(fd int) error) error {
	err := os.ErrClosed
	if controlErr := s.raw.Control(func(fd uintptr) { err = f(int(fd)) }); controlErr != nil {
		err = os.ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%s a pipe: %w", what, err)
	}
	return nil
}

// settled reports whether all output printed before the call is stored. It differs from Idle, which predicts the result
// of a Drain, at the end of a stream: settled is true there, since no more output can come.
func (s *Source) settled() (settled bool) {
	if s.closed.Load() || !s.held.TryLock() {
		return false
	}
	defer s.held.Unlock()
	err := s.raw.Control(func(fd uintptr) {
		more, err := pollsIn(int(fd))
		settled = err == nil && !more
	})
	return err == nil && settled
}

// pollsIn reports whether there is data to read. It retries after EINTR: a signal, such as the many that the Go runtime
// sends itself, interrupts even a poll that does not wait.
func pollsIn(fd int) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			return fds[0].Revents&unix.POLLIN != 0, os.NewSyscallError("poll", err)
		}
	}
}
