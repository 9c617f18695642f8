package inputwait

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A status is what a look asks about a file.
type status struct {
	ID
	mode uint32
}

// is says whether it is this file.
func (s *status) is(id ID) bool { return s.Dev == id.Dev && s.Ino == id.Ino }

// inode is the ID without the device that the file stands for.
func (s *status) inode() ID { return ID{Dev: s.Dev, Ino: s.Ino} }

// stat tells which file a descriptor is, or, with AT_SYMLINK_NOFOLLOW, about the link. It
// asks for what the kernel has at hand: the server of a file system that is asked for more
// may never answer.
func (p process) stat(fd, flags int) (status, error) {
	path := append(p.r.join([]part{{name: "fd"}, {number: fd}}), 0)
	p.r.work++
	if !p.r.old {
		st, err := statx(p.own, path, flags|unix.AT_STATX_DONT_SYNC)
		if err != unix.ENOSYS && err != unix.EPERM { // which is what a filter of system calls says
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

// statOld is for kernels before 4.11, which ask the file system. What has no name in any
// does not, nor does a device. Of all else no more is told than that it is a file.
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
