package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"shelld/jobs/internal/shellmark"
)

// The start-up files of a shell are in a directory of their own until the first prompt, below the one
// for such files. The server holds it locked: a server that is killed leaves it without a lock,
// and the next one to start a shell removes it.

const (
	placePrefix = "shelld-shell-"

	// placeTime is how old a directory without a lock is at least that nobody wants any more: its server
	// locks it when it has made it.
	placeTime = time.Minute
)

// makePlace makes the directory, and locks it. Where there are no locks, nobody removes it either.
func (f *shellFiles) makePlace() (err error) {
	if f.dir, err = os.MkdirTemp("", placePrefix); err != nil {
		return err
	}
	if f.held, err = openPlace(f.dir); err != nil {
		f.close()
		return err
	}
	_ = lockPlace(f.held)
	return nil
}

func openPlace(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}

// lockPlace locks a directory until it is closed, which the end of this server does as well.
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

// sweepPlaces removes what servers have left that were killed: directories of this user, for
// nobody else, that are as old as that and that no server holds. All is best effort: what cannot be removed
// harms nobody.
func sweepPlaces(below string, before time.Time) {
	entries, _ := os.ReadDir(below)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), placePrefix) && e.IsDir() {
			sweepPlace(filepath.Join(below, e.Name()), before)
		}
	}
}

// sweepPlace removes one, and nothing that no server has put there: files by their names, in the directory
// that was looked at, and the directory where it is empty then.
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
