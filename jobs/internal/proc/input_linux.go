package proc

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ID tells which file the job's side of the terminal is.
func (t *Terminal) ID() (id FileID, err error) {
	err = t.withPeer("identify", func(slave int) error {
		id, err = fileID(slave)
		return err
	})
	return id, err
}

// Unread says whether there is input that the job would get if it read now: what was
// written, and was not consumed. Part of a line does not count where lines are read.
//
// What was written is on its way through the kernel for a while, where neither FIONREAD
// nor TIOCOUTQ sees it. A poll(2) of the job's side is what brings it in first.
func (t *Terminal) Unread() (unread bool, err error) {
	err = t.withPeer("inspect the input of", func(slave int) error {
		unread, err = pollsIn(slave)
		return err
	})
	return unread, err
}

// ReadTimeout says after what time a read from the terminal ends although nothing more was
// typed. ok is false where it does not: where lines are read, and where there is a byte to
// wait for. A read of several ends some time after the first of them: whether that came is
// not known, and a time of under a second is told as one, since it is not for who looks
// around again and again while nothing is typed.
func (t *Terminal) ReadTimeout() (timeout time.Duration, ok bool) {
	_ = t.control("read the modes of", func(fd int) error { // What is not known is not told.
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

// withPeer opens the job's side for a moment, which nobody notices: the end of output
// comes when it is closed, as it comes when the job's last descriptor is.
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

// peerByName is for kernels before 4.13.
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

// ID tells which pipe it is.
func (p *PipeInput) ID() (id FileID, err error) {
	err = p.sink.control("identify", func(fd int) error {
		id, err = fileID(fd)
		return err
	})
	return id, err
}

// Unread says whether something is in the pipe.
func (p *PipeInput) Unread() (unread bool, err error) {
	err = p.sink.control("inspect", func(fd int) error {
		n, err := readable(uintptr(fd))
		unread = n > 0
		return err
	})
	return unread, err
}

// Outputs tell which pipes the job prints to, of those that are open.
func (p *PipeInput) Outputs() (ids []FileID) {
	for _, s := range p.sources {
		_ = s.raw.Control(func(fd uintptr) { // It fails only when closed.
			if id, err := fileID(int(fd)); err == nil {
				ids = append(ids, id)
			}
		})
	}
	return ids
}

// control calls f with the descriptor, which stays open meanwhile.
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

// settled says whether all that was printed until it was called is stored. It differs
// from Idle, which is about a Drain, at a stream's end: there nothing can come any more.
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

// pollsIn says whether there is something to read. A signal, of which the runtime sends
// itself many, interrupts even a poll that does not wait.
func pollsIn(fd int) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			return fds[0].Revents&unix.POLLIN != 0, os.NewSyscallError("poll", err)
		}
	}
}
