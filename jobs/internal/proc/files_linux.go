package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symlinks are followed to a file that is to be made, as the
// kernel does.
const maxLinks = 40

// OpenInput opens a file for reading, symlinks followed. It has to be a regular
// file that allow does not refuse, or the null device. The path must be absolute.
//
// A path says nothing about what is opened under it a moment later. So the file is
// found first (O_PATH), which has no effect on it, whatever it is; what was found is
// looked at, and that is opened.
func OpenInput(path string, allow Allow) (*os.File, error) {
	fd, err := find(path, allow)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return reopen(fd, path, unix.O_RDONLY)
}

// OpenOutput opens a file for writing, as OpenInput does, or makes it, as > does in a
// shell: through symlinks, with what umask leaves of 0666. It empties nothing: see
// Empty. There is no O_APPEND, so that programs may seek in what they write; two
// writers need one file between them.
func OpenOutput(path string, allow Allow) (*os.File, error) {
	for range maxLinks {
		fd, err := find(path, allow)
		if err == nil {
			defer func() { _ = unix.Close(fd) }()
			return reopen(fd, path, unix.O_WRONLY)
		}
		if !errors.Is(err, unix.ENOENT) {
			return nil, err
		}
		f, next, err := create(path, allow)
		if f != nil || err != nil {
			return f, err
		}
		path = next
	}
	return nil, unix.ELOOP
}

// Empty cuts a file of OpenOutput to nothing.
func Empty(f *os.File) error {
	fi, err := f.Stat()
	if err == nil && fi.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	return err
}

// TextFile is a file in memory that holds a text, open for reading at its start.
// Nobody can change it.
//
// A pipe would need somebody who fills it: to be withdrawn where the job ends
// early, and to be waited for at the end of everything.
func TextFile(text string) (*os.File, error) {
	fd, err := memfd("shelld stdin")
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "stdin")
	defer func() { _ = f.Close() }()
	if _, err = f.WriteString(text); err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		return nil, fmt.Errorf("fill a file in memory: %w", err)
	}
	return reopen(fd, "stdin", unix.O_RDONLY)
}

// memfd asks for a file that cannot be executed, which kernels before 6.3 do not
// know of, and which others may be set up to insist on.
func memfd(name string) (fd int, err error) {
	for _, flag := range []int{unix.MFD_NOEXEC_SEAL, 0} {
		if fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|flag); err != unix.EINVAL {
			break
		}
	}
	return fd, err
}

// find returns a descriptor that stands for a file and does nothing to it.
func find(path string, allow Allow) (fd int, err error) {
	fd, err = findFD(path, 0)
	if err != nil {
		return -1, err
	}
	if err := check(fd, allow); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// findFD is O_PATH and flags, which does not go through the links of /proc that lead to what
// a process holds (fd/1, cwd, and /dev/stdout by way of them): the server's own would be
// used under a name that means something else to the job.
func findFD(path string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(unix.O_PATH | unix.O_CLOEXEC | flags), Resolve: unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.ENOSYS, unix.EPERM: // an old kernel, or a sandbox that does not know of it
			return findWithout(path, flags)
		case unix.ELOOP: // such a link, or too many of the others
			fd, err := openFD(unix.AT_FDCWD, path, unix.O_PATH|flags, 0)
			if err == unix.ELOOP {
				return -1, err
			}
			if err == nil {
				_ = unix.Close(fd)
			}
			return -1, ErrOfServer
		}
		return fd, err
	}
}

// check says whether what was found may be used.
func check(fd int, allow Allow) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3) {
		return nil // the null device holds nothing, wherever it is
	}
	real, err := readlinkFD(fd)
	switch {
	case err != nil:
		return err
	case st.Nlink == 0:
		return unix.ENOENT // it has no name any more
	case strings.HasPrefix(real, "/proc/"+strconv.Itoa(os.Getpid())+"/"):
		return ErrOfServer
	}
	if err := allow(real); err != nil {
		return err
	}
	switch kind {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return unix.EISDIR
	}
	return ErrNotRegular
}

// create makes a file that is not there. Where there is a symlink that leads
// nowhere, or somebody was faster, next is where to look.
func create(path string, allow Allow) (f *os.File, next string, err error) {
	dir, name := filepath.Split(path)
	if name == "" {
		return nil, "", unix.EISDIR
	}
	at, err := openFD(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = unix.Close(at) }()
	real, err := readlinkFD(at)
	if err != nil {
		return nil, "", err
	}
	if target, err := readlinkAt(at, name); err == nil {
		if !filepath.IsAbs(target) {
			target = real + "/" + target
		}
		return nil, target, nil
	}
	if err := allow(filepath.Join(real, name)); err != nil {
		return nil, "", err
	}
	fd, err := openFD(at, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOCTTY, 0o666)
	switch {
	case err == unix.EEXIST:
		return nil, path, nil
	case err != nil:
		return nil, "", err
	}
	return os.NewFile(uintptr(fd), path), "", nil
}

// readlinkAt reads a symlink; the error says that the name is none.
func readlinkAt(at int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(at, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// reopen opens what a descriptor stands for, anew.
func reopen(fd int, name string, flags int) (*os.File, error) {
	again, err := openFD(unix.AT_FDCWD, procFD(fd), flags|unix.O_NOCTTY, 0)
	if err == unix.ENOENT {
		err = ErrNoProc
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(again), name), nil
}

// readlinkFD is where an open file lies. Each has an entry there as long as it is open: that there
// is none says nothing of the file.
func readlinkFD(fd int) (string, error) {
	real, err := os.Readlink(procFD(fd))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		err = ErrNoProc
	}
	return real, err
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// openFD opens a file, close-on-exec. Slow file systems may be interrupted.
func openFD(at int, path string, flags int, mode uint32) (fd int, err error) {
	for {
		fd, err = unix.Openat(at, path, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
