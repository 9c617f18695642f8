package store

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Changes reports writes in a folder.
type Changes struct {
	events *os.File // of inotify; nil: no inotify instance or watch was available, and Wait polls
}

// Changes watches the folder from now on. The caller must close the result.
func (f *PastFolder) Changes() (*Changes, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return &Changes{}, nil
	}
	const what = syscall.IN_MODIFY | syscall.IN_CREATE | syscall.IN_MOVED_TO | syscall.IN_DELETE | syscall.IN_DELETE_SELF
	// This watches the directory that is open: its path may lead to another one by now.
	_, err = syscall.InotifyAddWatch(fd, fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), what|syscall.IN_ONLYDIR)
	if err != nil {
		_ = syscall.Close(fd) // It has no watch.
		return &Changes{}, nil
	}
	return &Changes{os.NewFile(uintptr(fd), "inotify")}, nil
}

// Wait returns when something was written since the last Wait, or when most has passed. Without inotify, it returns
// after restTime at the latest. If ctx is done, it returns the error of ctx.
func (c *Changes) Wait(ctx context.Context, most time.Duration) error {
	if c.events == nil {
		return rest(ctx, min(most, restTime))
	}
	if err := c.events.SetReadDeadline(time.Now().Add(most)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.events.SetReadDeadline(time.Unix(1, 0)) }) // It has worked before.
	defer stop()
	var b [4 << 10]byte // The content of the events is not needed.
	if _, err := c.events.Read(b[:]); err != nil && !os.IsTimeout(err) {
		return err
	}
	return ctx.Err()
}

// Close ends the watch.
func (c *Changes) Close() error {
	if c.events == nil {
		return nil
	}
	return c.events.Close()
}
