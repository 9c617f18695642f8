package inputwait

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Files of /proc are read with bare system calls and reused buffers, because probes run many times a second, and
// os.File would try to add each file to the poller.

// A reader reads files of /proc. The bytes that it returns are valid until its next read.
type reader struct {
	path [96]byte
	text []byte
	work int  // done in this probe, as an approximate number of system calls
	old  bool // the kernel has no statx

	failed error // why an existing file could not be opened: the server is out of descriptors or memory
}

// Limits of one probe, which then takes some milliseconds, and of the buffer kept between probes.
const (
	maxWork = 4096
	maxKept = 1 << 16
)

// spent reports whether a probe has reached its limit: what it has not seen by now is left out.
func (r *reader) spent() bool { return r.work >= maxWork }

// begin must be called before each probe.
func (r *reader) begin() {
	r.work, r.failed = 0, nil
	if len(r.text) > maxKept {
		r.text = nil
	}
}

// A process is a process's directory in /proc. While that is open, no other process is mistaken for this one, even if
// its pid is reused.
type process struct {
	r   *reader
	pid int
	dir int
	own int // directory for its descriptors and memory: dir, or that of one of its threads
}

// open returns an error if there is no such process, or if it is hidden.
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

// alive handles a process whose first thread has ended, and so shows no open files: it is then examined through its
// first living thread.
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

// where returns the directory that contains a file of the process.
func (p process) where(name string) int {
	if name == "task" {
		return p.dir
	}
	return p.own
}

// openat opens a path. The slice should have room for a NUL after it.
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

// file reads a file of the process, up to about limit bytes.
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
		r.work += 1 + max(n, 0)/256 // The kernel generates the text during the read.
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		}
		// One read returns the whole of a file of /proc, except for long lists, of which it returns about a page.
		if at += n; n == 0 || at >= limit || at < 2048 {
			return r.text[:at], nil
		}
		if at > len(r.text)-1024 {
			r.text = append(r.text, make([]byte, len(r.text))...)
		}
	}
}

// access reports how a descriptor was opened, from the permissions of its link.
func (p process) access(fd int) (reads, writes bool) {
	st, err := p.stat(fd, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.mode&0o400 != 0, err == nil && st.mode&0o200 != 0
}

// link returns the target of a descriptor's link.
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

// numbers appends the numeric names in a directory of the process, at most limit of them: its threads or its
// descriptors. more means that there are others.
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
		list = direntNumbers(list, buf[:n]) // A signal can cut a read short, so only an empty read is the end.
		if len(list) > limit {
			return list[:limit], true
		}
	}
	return list, false
}

// direntNumbers decodes linux_dirent64 records: inode, offset, length, type, name.
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

// memory reads the process's memory. It returns fewer bytes if the mapping ends.
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
