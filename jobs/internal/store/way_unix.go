//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symlinks are followed on the way, as the kernel does.
const maxLinks = 40

const (
	errStrangers = unsafeError("it belongs to another user, who could replace it; use a directory of your own")
	errAnybody   = unsafeError("any user may rename its entries; remove that right (chmod o-w), or set the sticky bit (chmod +t)")
)

// A way is how far a path was followed.
type way struct {
	at    string   // a directory, without symlinks, of which nothing can be swapped
	rest  []string // the names that are still to come
	links int
	make  bool // what is not there; else the way ends before it
	trust bool // whoever may change it: nothing is judged
}

// makeWay makes a directory where it is not there, with those above it, and returns its path
// without symlinks.
//
// Each step is looked at by name, and that is enough: what belongs to us or root, in a
// directory in which nobody else may rename it, is the same at the next look. So the look is
// begun at the root, which belongs to root, and ends at the first that does not hold:
// another user may have made the directory, or a link, before us, in a place such as /tmp.
// A group that may write to a directory is trusted: it is the user's own as a rule.
//
// With trust nothing of this is looked at.
func makeWay(path string, trust bool) (string, error) {
	w := way{at: "/", rest: names(path), make: true, trust: trust}
	err := w.walk()
	return w.at, err
}

// Check says whether makeWay would refuse a directory, of which there may be nothing yet.
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

// step goes on by one name.
func (w *way) step() error {
	name := w.rest[0]
	w.rest = w.rest[1:]
	switch name {
	case ".":
		return nil
	case "..":
		w.at = filepath.Dir(w.at) // There is no link in it.
		return nil
	}
	next := filepath.Join(w.at, name)
	info, err := os.Lstat(next)
	if errors.Is(err, fs.ErrNotExist) {
		if !w.make {
			w.rest = nil
			return nil
		}
		if info, err = made(next); err == nil && !w.trust && !ours(info) {
			err = &fs.PathError{Op: "mkdir", Path: next, Err: errStrangers}
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

// enter goes on to what is found under a name. A directory is looked at from within: one that
// is mounted on demand is there only then, and is another than the one that it lies on.
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
	return judge(path, info)
}

// made is a directory that is made anew, unless somebody has made something of that name
// meanwhile.
func made(path string) (fs.FileInfo, error) {
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.Lstat(path)
}

// follow goes where a link leads, which nobody else may have made.
func (w *way) follow(link string, info fs.FileInfo) error {
	if !w.trust && !isTrusted(link, info) {
		return &fs.PathError{Op: "readlink", Path: link, Err: errStrangers}
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

// judge says whether nobody else can put something into the place of what is in a directory.
func judge(path string, info fs.FileInfo) error {
	var err error
	switch {
	case !info.IsDir():
		err = syscall.ENOTDIR
	case !isTrusted(path, info):
		err = errStrangers
	case info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0:
		err = errAnybody
	}
	if err != nil {
		return &fs.PathError{Op: "use", Path: path, Err: err}
	}
	return nil
}

// isTrusted says whether something belongs to us, or to root, who could do anything to us
// in any case. The path has no symlinks before its last name.
func isTrusted(path string, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Geteuid() || st.Uid == 0 || isUnmapped(st.Uid) && isOfRoot(path, info))
}
