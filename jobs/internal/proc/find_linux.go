package proc

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A walk is how far a path was followed, one name after the other, as the kernel does it.
type walk struct {
	at    int      // what was reached, held by O_PATH
	rest  []string // the names that are still to come; "" asks for a directory, as a / at the end does
	links int
	dir   bool // what is reached in the end has to be a directory
}

// findWithout is findFD where the kernel does not refuse the links of /proc itself: each name is
// looked up in the directory that was reached by the ones before it, and each link is read.
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

// step goes on by one name.
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

// open finds a name, without following it. A directory is asked for as one where it has to be
// one: that mounts what is mounted on demand.
func (w *walk) open(name string) (int, error) {
	if w.dir || len(w.rest) > 0 {
		fd, err := openFD(w.at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
		if err != unix.ENOTDIR {
			return fd, err
		}
	}
	return openFD(w.at, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
}

// follow goes where a link leads, unless it is one of those of /proc that lead to what a
// process holds. In the root of /proc there are none.
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
	_ = unix.Close(w.at) // Nothing was done by it.
	w.at = fd
}

// isDirectory is no more than a look: no right to the directory is needed.
func (w *walk) isDirectory() error {
	var st unix.Stat_t
	err := unix.Fstat(w.at, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	return err
}
