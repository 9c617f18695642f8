//go:build linux || darwin

package session

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// address returns the path by which a socket in the directory is reached. A path that is too long for the system leads
// over the open directory.
func (f *folder) address(name string) (string, error) {
	path := filepath.Join(f.path, name)
	switch {
	case len(path) <= maxAddress:
		return path, nil
	case runtime.GOOS == "linux":
		return fmt.Sprintf("/proc/self/fd/%d/%s", f.dir.Fd(), name), nil
	}
	return "", fmt.Errorf("the path of the socket %s is longer than %d bytes; name a directory with a shorter path with -dir", path, maxAddress)
}

// listen makes the socket. Any other one of that name is replaced by one that already listens.
func (f *folder) listen() (*net.UnixListener, fs.FileInfo, error) {
	const name = socketFile + fresh
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, f.absolute(err, name)
	}
	path, err := f.address(name)
	if err != nil {
		return nil, nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket in %s: %w; if its file system has no sockets, name another directory with -dir", f.path, cause(err))
	}
	l.SetUnlinkOnClose(false) // By then its path may be another one's.
	err = f.root.Chmod(name, 0o600)
	info, statErr := f.root.Lstat(name)
	if err = errors.Join(err, statErr); err == nil {
		err = f.root.Rename(name, socketFile)
	}
	if err != nil {
		return nil, nil, errors.Join(f.absolute(err, name), l.Close())
	}
	return l, info, nil
}

// dial connects to the host.
func (f *folder) dial() (*net.UnixConn, error) {
	path, err := f.address(socketFile)
	if err != nil {
		return nil, err
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, &os.PathError{Op: "connect", Path: filepath.Join(f.path, socketFile), Err: cause(err)}
	}
	if uid, err := peer(c); err != nil || uid != os.Geteuid() {
		_ = c.Close() // Nothing was sent.
		return nil, errorf(NotOurs, "the host of the session %s belongs to another user", f.name)
	}
	return c, nil
}

// cause returns the system's error in one of package net, whose text has the address twice.
func cause(err error) error {
	if s, ok := errors.AsType[*os.SyscallError](err); ok {
		return s.Err
	}
	return err
}
