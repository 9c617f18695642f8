package inputwait

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A status is the part of a file's status that a probe needs.
type status struct {
	ID
	mode uint32
}

// is reports whether this is the file with that ID.
func (s *status) is(id ID) bool { return s.Dev == id.Dev && s.Ino == id.Ino }

// inode returns the ID without the device number that the file stands for.
func (s *status) inode() ID { return ID{Dev: s.Dev, Ino: s.Ino} }

// stat returns the status of a descriptor's file or, with AT_SYMLINK_NOFOLLOW, of its link. It requests only cached
// values: a request to the server of a network file system may never be answered.
func (p process) stat(fd, flags int) (status, error) {
	path := append(p.r.join([]part{{name: "fd"}, {number: fd}}), 0)
	p.r.work++
	if !p.r.old {
		st, err := statx(p.own, path, flags|unix.AT_STATX_DONT_SYNC)
		if err != unix.ENOSYS && err != unix.EPERM { // as a seccomp filter returns
			return st, err
		}
		p.r.old = true
	}
	return p.statOld(fd, flags)
}

func statx(dir int, path []byte, flags int) (status, error) {
	const wanted = unix.STATX_TYPE | unix.STATX_MODE | unix.STATX_INO
	var st unix.Statx_t
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(dir), uintptr(unsafe.Pointer(&path[0])), uintptr(flags), wanted, uintptr(unsafe.Pointer(&st)), 0)
	if errno != 0 {
		return status{}, errno
	}
	id := ID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino, Rdev: unix.Mkdev(st.Rdev_major, st.Rdev_minor)}
	return status{id, uint32(st.Mode)}, nil
}

// statOld is for kernels before 4.11, whose stat asks the file system. For files outside file systems and for devices
// that is harmless. For all others it does not ask, and returns only that it is a file.
func (p process) statOld(fd, flags int) (status, error) {
	var buf [64]byte
	link := p.link(fd, buf[:])
	if bytes.HasPrefix(link, []byte("/")) && !bytes.HasPrefix(link, []byte("/dev/")) && flags&unix.AT_SYMLINK_NOFOLLOW == 0 {
		return status{mode: unix.S_IFREG}, nil
	}
	var st unix.Stat_t
	err := unix.Fstatat(p.own, string(p.r.join([]part{{name: "fd"}, {number: fd}})), &st, flags)
	return status{ID{Dev: uint64(st.Dev), Ino: st.Ino, Rdev: uint64(st.Rdev)}, st.Mode}, err
}
