//go:build unix

package safedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks bounds the number of symlinks followed on the way. It is the kernel's limit.
const maxLinks = 40

const (
	// ErrStrangers is the error for a directory or a link of another user.
	ErrStrangers = unsafeError("it belongs to another user, who could replace it; use a directory of your own")
	errAnybody   = unsafeError("any user may rename its entries; remove that right (chmod o-w), or set the sticky bit (chmod +t)")
)

// A way follows a path name by name.
type way struct {
	at    string   // the directory reached so far, without symlinks; other users cannot replace it
	rest  []string // the remaining names
	links int      // number of symlinks followed
	make  bool     // create missing directories; if not set, the way ends before the first missing one
	trust bool     // trust all users: nothing is checked
}

// Make creates a directory and its parents if they do not exist, and returns its path without symlinks.
//
// It checks each step by path, which is enough: if a directory belongs to this user or root, and lies in a directory in
// which no one else may rename it, the path leads to the same directory at the next access. So the check begins at /,
// which belongs to root, and ends with an error at the first directory or link for which this is not so: in a place
// such as /tmp another user may have created the directory, or a link, before this process. A group with write access to
// a directory is trusted: usually it is the user's own group.
//
// With trust, nothing of this is checked.
func Make(path string, trust bool) (string, error) {
	w := way{at: "/", rest: names(path), make: true, trust: trust}
	err := w.walk()
	return w.at, err
}

// Check returns the error with which Make would refuse a directory, which need not exist yet, or nil.
func Check(path string) error {
	w := way{at: "/", rest: names(path)}
	return w.walk()
}

func (w *way) walk() error {
	info, err := os.Lstat(w.at)
	if err == nil {
		err = w.enter(w.at, info)
	}
	for err == nil && len(w.rest) > 0 {
		err = w.step()
	}
	return err
}

func names(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}

// step follows the next name.
func (w *way) step() error {
	name := w.rest[0]
	w.rest = w.rest[1:]
	switch name {
	case ".":
		return nil
	case "..":
		w.at = filepath.Dir(w.at) // w.at has no symlinks.
		return nil
	}
	next := filepath.Join(w.at, name)
	info, err := os.Lstat(next)
	if errors.Is(err, fs.ErrNotExist) {
		if !w.make {
			w.rest = nil
			return nil
		}
		if info, err = made(next); err == nil && !w.trust && !Ours(info) {
			err = &fs.PathError{Op: "mkdir", Path: next, Err: ErrStrangers}
		}
	}
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(next, info)
	}
	return w.enter(next, info)
}

// enter goes on to the directory at a path and checks it. It examines path/. since that mounts a directory that is
// mounted on demand, which differs from the directory that it is mounted on.
func (w *way) enter(path string, info fs.FileInfo) error {
	w.at = path
	if !info.IsDir() {
		return &fs.PathError{Op: "use", Path: path, Err: syscall.ENOTDIR}
	}
	info, err := os.Lstat(strings.TrimSuffix(path, "/") + "/.")
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			p.Path = path
		}
		return err
	}
	if w.trust {
		return nil
	}
	return Judge(path, info)
}

// made creates a directory, and returns the info of the file at the path. That may be another file if another process
// was faster.
func made(path string) (fs.FileInfo, error) {
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.Lstat(path)
}

// follow follows a symlink. It refuses one that another user has made.
func (w *way) follow(link string, info fs.FileInfo) error {
	if !w.trust && !isTrusted(link, info) {
		return &fs.PathError{Op: "readlink", Path: link, Err: ErrStrangers}
	}
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "readlink", Path: link, Err: syscall.ELOOP}
	}
	target, err := os.Readlink(link)
	if err != nil {
		return err
	}
	if filepath.IsAbs(target) {
		w.at = "/"
	}
	w.rest = append(names(target), w.rest...)
	return nil
}

// Judge returns an error if another user could replace the files in a directory, of which info is the state.
func Judge(path string, info fs.FileInfo) error {
	var err error
	switch {
	case !info.IsDir():
		err = syscall.ENOTDIR
	case !isTrusted(path, info):
		err = ErrStrangers
	case info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0:
		err = errAnybody
	}
	if err != nil {
		return &fs.PathError{Op: "use", Path: path, Err: err}
	}
	return nil
}

// isTrusted reports whether a file belongs to this user, or to root, who has full control in any case. The path must
// not have symlinks before its last name.
func isTrusted(path string, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || st.Uid == 0 || isUnmapped(st.Uid) && isOfRoot(path, info))
}
