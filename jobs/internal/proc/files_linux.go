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

// maxLinks bounds the number of symlinks followed to a file that must be created. It is the kernel's limit.
const maxLinks = 40

// OpenInput opens a file for reading and follows symlinks. It must be a regular file that allow accepts, or the null
// device. The path must be absolute.
//
// A different file may be at the path a moment after a check. So OpenInput first gets an O_PATH descriptor, which has
// no effect on any kind of file, then checks that descriptor, and then opens the file through it.
func OpenInput(path string, allow Allow) (*os.File, error) {
	fd, err := find(path, allow)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return reopen(fd, path, unix.O_RDONLY)
}

// OpenOutput opens a file for writing under the same rules as OpenInput. If there is none, it creates it, as > does in
// a shell: through symlinks, with mode 0666 less the umask. It does not truncate: see Empty. It does not set O_APPEND,
// so that programs may seek in their output; two writers must share one open file.
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

// Empty truncates a file from OpenOutput to length 0, unless it is the null device.
func Empty(f *os.File) error {
	fi, err := f.Stat()
	if err == nil && fi.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	return err
}

// TextFile returns a file in memory that holds a text, open for reading at its start. It is sealed: no process can
// change it.
//
// A pipe would need a goroutine that fills it. That goroutine would have to be stopped if the job ends early, and
// awaited at shutdown.
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

// memfd creates a file in memory, if possible one that cannot be executed: kernels before 6.3 do not support that, and
// newer ones may be configured to require it.
func memfd(name string) (fd int, err error) {
	for _, flag := range []int{unix.MFD_NOEXEC_SEAL, 0} {
		if fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|flag); err != unix.EINVAL {
			break
		}
	}
	return fd, err
}

// find returns an O_PATH descriptor of a file that may be used. It has no effect on the file.
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

// findFD opens a path with O_PATH and flags. It does not follow the magic links of /proc that lead to the open files
// and directories of a process (fd/1, cwd, and /dev/stdout through them): it would get the server's own under a path
// that refers to something else in the job.
func findFD(path string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(unix.O_PATH | unix.O_CLOEXEC | flags), Resolve: unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.ENOSYS, unix.EPERM: // an old kernel, or a sandbox that does not know this system call
			return findWithout(path, flags)
		case unix.ELOOP: // a magic link, or too many ordinary ones
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

// check returns an error unless the file of a descriptor may be used.
func check(fd int, allow Allow) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3) {
		return nil // The null device holds no data, wherever it is.
	}
	real, err := readlinkFD(fd)
	switch {
	case err != nil:
		return err
	case st.Nlink == 0:
		return unix.ENOENT // It was removed, and has no path any more.
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

// create creates a file that does not exist. If there is a dangling symlink, or another process was faster, it returns
// no file but the path next, which the caller must try instead.
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

// readlinkAt returns the target of a symlink. It returns an error if the name is not a symlink.
func readlinkAt(at int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(at, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// reopen opens the file of a descriptor again, with other flags.
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

// readlinkFD returns the path that the kernel reports for an open file. Every open file has an entry in /proc/self/fd,
// so a missing entry means that /proc is missing, not the file.
func readlinkFD(fd int) (string, error) {
	real, err := os.Readlink(procFD(fd))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		err = ErrNoProc
	}
	return real, err
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// openFD opens a file with close-on-exec. It retries if a signal interrupts the call, which happens on slow file
// systems.
func openFD(at int, path string, flags int, mode uint32) (fd int, err error) {
	for {
		fd, err = unix.Openat(at, path, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
