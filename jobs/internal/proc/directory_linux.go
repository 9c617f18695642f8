package proc

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenDirectory looks a directory up and follows symlinks. The path must be absolute. The server needs no permission
// for the directory itself, only search permission for the directories on the way to it. The caller must close the
// Directory.
//
// The descriptor decides, not the path: the real path is the one that the kernel returns for the descriptor.
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
		err = unix.ENOENT // It was removed, and has no path any more.
	default:
		return d, nil
	}
	d.Close()
	return nil, err
}

// placeOf returns the path that the kernel reports for an open file.
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
		linkErr = unix.ENOENT // It lies outside of everything that this process can reach by a path.
	}
	return real, linkErr
}
