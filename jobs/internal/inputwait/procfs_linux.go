package inputwait

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reading /proc is done with bare system calls and buffers that are used again: a look
// is taken many times a second, and os.File would try each file on the poller.

// A reader reads files of /proc. What it returns is valid until its next read.
type reader struct {
	path [96]byte
	text []byte
	work int  // what was done in this look: about so many system calls
	old  bool // the kernel has no statx

	failed error // why something was not opened that is there: who looks has no room for it
}

// Bounds of what one look does, which is some milliseconds, and of what is kept until the
// next one.
const (
	maxWork = 4096
	maxKept = 1 << 16
)

// spent says that a look has done enough: what it has not seen by now it does not see.
func (r *reader) spent() bool { return r.work >= maxWork }

// begin is called before each look.
func (r *reader) begin() {
	r.work, r.failed = 0, nil
	if len(r.text) > maxKept {
		r.text = nil
	}
}

// A process is the directory of one in /proc. While it is open no other process is
// taken for it, even if its pid is used again.
type process struct {
	r   *reader
	pid int
	dir int
	own int // the directory of what it has open and its memory: dir, or that of a thread
}

// open returns an error if there is no such process, or it is hidden.
func (r *reader) open(pid int) (process, error) {
	b := append(r.path[:0], "/proc/"...)
	b = strconv.AppendInt(b, int64(pid), 10)
	dir, err := r.openat(unix.AT_FDCWD, b, unix.O_PATH|unix.O_DIRECTORY)
	return process{r, pid, dir, dir}, err
}

func (p process) close() {
	if p.own != p.dir {
		_ = unix.Close(p.own)
	}
	_ = unix.Close(p.dir)
}

// alive makes a process of which the first thread has ended, and so has nothing open any
// more, one that is seen through the first of its threads that lives.
func (p *process) alive(st *stat) {
	var few [16]int
	tids, _ := p.numbers(few[:0], "task", maxThreads)
	for _, tid := range tids {
		text, err := p.file(1024, part{name: "task"}, part{number: tid}, part{name: "stat"})
		if err != nil {
			continue
		}
		if thread, ok := parseStat(text); ok && thread.state != 'Z' && thread.state != 'X' {
			own, err := p.r.openat(p.dir, p.r.join([]part{{name: "task"}, {number: tid}}), unix.O_PATH|unix.O_DIRECTORY)
			if err == nil {
				p.own, st.state = own, thread.state
				return
			}
		}
	}
}

// where is the directory in which a file of the process is.
func (p process) where(name string) int {
	if name == "task" {
		return p.dir
	}
	return p.own
}

// openat opens a path that has room for a NUL behind it.
func (r *reader) openat(dir int, path []byte, flags int) (int, error) {
	path = append(path, 0)
	r.work++
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&path[0])),
			uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
		if errno == 0 {
			return int(fd), nil
		}
		switch errno {
		case unix.EINTR:
			continue
		case unix.EMFILE, unix.ENFILE, unix.ENOMEM:
			r.failed = errno
		}
		return -1, errno
	}
}

// file reads a file of the process up to limit bytes.
func (p process) file(limit int, name ...part) ([]byte, error) {
	return p.r.slurp(p.where(name[0].name), p.r.join(name), limit)
}

// A part of a path is a name or, if it is empty, a number.
type part struct {
	name   string
	number int
}

func (r *reader) join(parts []part) []byte {
	b := r.path[:0]
	for i, p := range parts {
		if i > 0 {
			b = append(b, '/')
		}
		if p.name != "" {
			b = append(b, p.name...)
		} else {
			b = strconv.AppendInt(b, int64(p.number), 10)
		}
	}
	return b
}

func (r *reader) slurp(dir int, path []byte, limit int) ([]byte, error) {
	fd, err := r.openat(dir, path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	if r.text == nil {
		r.text = make([]byte, 4096)
	}
	for at := 0; ; {
		n, err := unix.Read(fd, r.text[at:])
		r.work += 1 + max(n, 0)/256 // The kernel writes the text while it is read.
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		}
		// Files of /proc give all that they have to one read, but for long lists, of which
		// one gives about a page.
		if at += n; n == 0 || at >= limit || at < 2048 {
			return r.text[:at], nil
		}
		if at > len(r.text)-1024 {
			r.text = append(r.text, make([]byte, len(r.text))...)
		}
	}
}

// access tells how a descriptor is open: its link has the rights of it.
func (p process) access(fd int) (reads, writes bool) {
	st, err := p.stat(fd, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.mode&0o400 != 0, err == nil && st.mode&0o200 != 0
}

// link reads what a descriptor is called.
func (p process) link(fd int, buf []byte) []byte {
	path := append(p.r.join([]part{{name: "fd"}, {number: fd}}), 0)
	p.r.work++
	n, _, errno := unix.Syscall6(unix.SYS_READLINKAT, uintptr(p.own), uintptr(unsafe.Pointer(&path[0])),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	if errno != 0 {
		return nil
	}
	return buf[:n]
}

// numbers appends the names of a directory of the process that are numbers, at most
// limit of them: its threads, or its descriptors. more says that there are others.
func (p process) numbers(list []int, name string, limit int) (_ []int, more bool) {
	fd, err := p.r.openat(p.where(name), p.r.join([]part{{name: name}}), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return list, false
	}
	defer func() { _ = unix.Close(fd) }()
	var buf [4096]byte
	for {
		n, err := unix.ReadDirent(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		p.r.work += 1 + n/128
		list = direntNumbers(list, buf[:n]) // A signal cuts what is read short: the end is where nothing is.
		if len(list) > limit {
			return list[:limit], true
		}
	}
	return list, false
}

// direntNumbers takes linux_dirent64s apart: inode, offset, length, type, name.
func direntNumbers(list []int, buf []byte) []int {
	const name = 19
	for len(buf) > name {
		length := int(*(*uint16)(unsafe.Pointer(&buf[16])))
		if length <= name || length > len(buf) {
			break
		}
		text := buf[name:length]
		if end := bytes.IndexByte(text, 0); end >= 0 {
			text = text[:end]
		}
		if n, ok := decimal(text); ok {
			list = append(list, n)
		}
		buf = buf[length:]
	}
	return list
}

// memory reads the process's memory. It returns fewer bytes where there are no more.
func (p process) memory(buf []byte, at uint64) (int, error) {
	fd, err := p.r.openat(p.own, p.r.join([]part{{name: "mem"}}), unix.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Pread(fd, buf, int64(at))
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}
