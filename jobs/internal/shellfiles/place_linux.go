package shellfiles

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/shellmark"
)

// The start-up files of a shell are in a directory of their own, below the directory for temporary files, until the
// first prompt. The server keeps a lock on that directory. If a server is killed, its directory remains without a
// lock, and the next server that starts a shell removes it.

const (
	placePrefix = "shelld-shell-"

	// placeTime is the minimum age at which a directory without a lock is considered abandoned: a server locks its
	// directory only after it has made it.
	placeTime = time.Minute
)

// makePlace makes the directory and locks it. If the file system has no locks, no server removes the directory either.
func (f *Files) makePlace() (err error) {
	if f.Dir, err = os.MkdirTemp("", placePrefix); err != nil {
		return err
	}
	if f.held, err = openPlace(f.Dir); err != nil {
		f.Close()
		return err
	}
	_ = lockPlace(f.held)
	return nil
}

func openPlace(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}

// lockPlace locks a directory until it is closed. The end of this server also closes it.
func lockPlace(d *os.File) error {
	c, err := d.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	if err := c.Control(func(fd uintptr) { locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) }); err != nil {
		return err
	}
	return locked
}

// Sweep removes the directories of the start-up files that killed servers have left behind.
func Sweep() { sweepPlaces(os.TempDir(), time.Now().Add(-placeTime)) }

// sweepPlaces removes the directories that killed servers have left: those of this user, with no access for others,
// that were last changed before the given time and that no server has locked. It is best effort: a directory that
// cannot be removed does no harm.
func sweepPlaces(below string, before time.Time) {
	entries, _ := os.ReadDir(below)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), placePrefix) && e.IsDir() {
			sweepPlace(filepath.Join(below, e.Name()), before)
		}
	}
}

// sweepPlace removes one such directory, and only files that a server has made: it removes the known file names in the
// directory that it has checked, and then the directory if it is empty.
func sweepPlace(path string, before time.Time) {
	d, err := openPlace(path)
	if err != nil {
		return
	}
	defer d.Close()
	is, err := d.Stat()
	if err != nil {
		return
	}
	of, ok := is.Sys().(*syscall.Stat_t)
	if !ok || int(of.Uid) != os.Geteuid() || is.Mode().Perm() != 0o700 || !is.ModTime().Before(before) || lockPlace(d) != nil {
		return
	}
	c, err := d.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		for _, name := range shellmark.FileNames {
			_ = syscall.Unlinkat(int(fd), name)
		}
	})
	_ = syscall.Rmdir(path)
}
