package proc

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A walk follows a path one name after the other, as the kernel does.
type walk struct {
	at    int      // O_PATH descriptor of the file reached so far
	rest  []string // the remaining names; "" requires a directory, as a trailing slash does
	links int      // number of symlinks followed
	dir   bool     // the end of the path must be a directory
}

// findWithout is findFD for kernels that cannot refuse the magic links of /proc. It looks up each name in the directory
// reached by the names before it, and reads each symlink itself.
func findWithout(path string, flags int) (int, error) {
	w := walk{rest: strings.Split(path, "/"), dir: flags&unix.O_DIRECTORY != 0}
	var err error
	if w.at, err = openFD(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_DIRECTORY, 0); err != nil {
		return -1, err
	}
	for err == nil && len(w.rest) > 0 {
		err = w.step()
	}
	if err == nil && w.dir {
		err = w.isDirectory()
	}
	if err != nil {
		_ = unix.Close(w.at)
		return -1, err
	}
	return w.at, nil
}

// step follows the next name.
func (w *walk) step() error {
	name := w.rest[0]
	w.rest = w.rest[1:]
	if name == "" {
		return w.isDirectory()
	}
	fd, err := w.open(name)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		defer func() { _ = unix.Close(fd) }()
		return w.follow(fd)
	}
	w.goTo(fd)
	return nil
}

// open opens a name with O_PATH, without following a symlink. If the name has to be a directory, it first tries with
// O_DIRECTORY, which makes the kernel mount file systems that are mounted on demand.
func (w *walk) open(name string) (int, error) {
	if w.dir || len(w.rest) > 0 {
		fd, err := openFD(w.at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
		if err != unix.ENOTDIR {
			return fd, err
		}
	}
	return openFD(w.at, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
}

// follow follows a symlink. It refuses a magic link of /proc that leads to an open file or directory of a process: any
// link in /proc that is not in its root, which has no magic links.
func (w *walk) follow(link int) error {
	if w.links++; w.links > maxLinks {
		return unix.ELOOP
	}
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := unix.Fstatfs(w.at, &fs); err != nil {
		return err
	}
	if err := unix.Fstat(w.at, &st); err != nil {
		return err
	}
	const rootInode = 1
	if fs.Type == unix.PROC_SUPER_MAGIC && st.Ino != rootInode {
		return ErrOfServer
	}
	target, err := readlinkAt(link, "")
	if err != nil {
		return err
	}
	w.rest = append(strings.Split(target, "/"), w.rest...)
	if !filepath.IsAbs(target) {
		return nil
	}
	root, err := openFD(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		w.goTo(root)
	}
	return err
}

func (w *walk) goTo(fd int) {
	_ = unix.Close(w.at) // Nothing was written through it.
	w.at = fd
}

// isDirectory returns ENOTDIR unless the file reached is a directory. This needs no permission for the directory.
func (w *walk) isDirectory() error {
	var st unix.Stat_t
	err := unix.Fstat(w.at, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	return err
}
