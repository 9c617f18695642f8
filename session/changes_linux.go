package session

import (
	"os"

	"golang.org/x/sys/unix"
)

// changes reports new files in a directory.
type changes struct {
	events chan struct{}
	file   *os.File // of inotify; nil: there is none
}

// changes watches the directory. Without inotify, nothing is reported.
func (f *folder) changes() *changes {
	c := &changes{events: make(chan struct{}, 1)}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return c
	}
	c.file = os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, f.path, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
		return c
	}
	go c.read()
	return c
}

func (c *changes) read() {
	var b [4 << 10]byte // The content of the events is not needed.
	for {
		if _, err := c.file.Read(b[:]); err != nil {
			return
		}
		select {
		case c.events <- struct{}{}:
		default: // One is waiting.
		}
	}
}

func (c *changes) close() {
	if c.file != nil {
		_ = c.file.Close() // It was only read.
	}
}
