package proc

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenDirectory finds a directory, symlinks followed. The path must be absolute. It needs no
// right to the directory itself, but those on the way to it. Close it.
//
// What counts is what the descriptor leads to, and not the name: the place is what the
// kernel tells of the descriptor.
func OpenDirectory(path string) (*Directory, error) {
	fd, err := findFD(path, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	d := &Directory{file: os.NewFile(uintptr(fd), path)}
	if d.info, err = d.file.Stat(); err == nil {
		d.real, err = placeOf(d.file)
	}
	switch {
	case err != nil:
	case ofProcess(d.real, strconv.Itoa(os.Getpid())):
		err = ErrOfServer
	case !d.IsAt(d.real):
		err = unix.ENOENT // It was removed, and has no name any more.
	default:
		return d, nil
	}
	d.Close()
	return nil, err
}

// placeOf asks the kernel where an open file lies.
func placeOf(f *os.File) (string, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var real string
	var linkErr error
	if err := raw.Control(func(fd uintptr) { real, linkErr = readlinkFD(int(fd)) }); err != nil {
		return "", err
	}
	if linkErr == nil && !strings.HasPrefix(real, "/") {
		linkErr = unix.ENOENT // It lies outside of all that this process can name.
	}
	return real, linkErr
}
