package inputwait

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// sources are what one call waits for.
type sources struct {
	input   bool   // the job's input
	other   string // something that may wake it up besides; "" for nothing
	blocked bool   // room for what the job prints
}

// A fileKind is what a descriptor is.
type fileKind uint8

const (
	isOther  fileKind = iota
	isInput           // the job's input
	isOutput          // a pipe that the job prints to
	isOwn             // nobody else can make it ready
	isSocket          //
	isPipe            // to others
	isEpoll           //
	isPidfd           //
)

var kindNames = map[fileKind]string{
	isOther: "another file", isSocket: "a socket", isPipe: "a pipe", isPidfd: "a process", isOutput: "its output",
}

// addSource adds what a call waits for.
func (p *Prober) addSource(in *inspection, set *sources, i interest, depth int) {
	if i.fd < 0 || !i.in && !i.out {
		return
	}
	switch kind := p.kindOf(in, i.fd); {
	case kind == isInput:
		set.input = set.input || i.in
		set.blocked = set.blocked || i.out && p.target.Terminal != nil
	case kind == isOutput && i.out:
		set.blocked = true
	case kind == isOwn:
	case kind == isPipe && p.ownPipe(in, i.fd):
	case kind == isEpoll:
		p.epollSet(in, set, i.fd, depth)
	default:
		set.other = kindNames[kind]
	}
}

// exceptional adds what select waits for in its third set alone: nothing of the input's.
func (set *sources) exceptional(p *Prober, in *inspection, fd int) {
	if kind := p.kindOf(in, fd); kind == isSocket {
		set.other = kindNames[kind]
	}
}

// kindOf says what a descriptor of a process is.
func (p *Prober) kindOf(in *inspection, fd int) fileKind {
	st, err := in.stat(fd, 0)
	if err != nil {
		return isOther
	}
	same := func(id ID) bool { return uint64(st.Dev) == id.Dev && st.Ino == id.Ino }
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		if same(p.id) || uint64(st.Rdev) == devTTY && p.target.Terminal != nil && in.st.tty == uint32(p.id.Rdev) {
			return isInput
		}
		return isOther
	case unix.S_IFSOCK:
		return isSocket
	case unix.S_IFIFO:
		if same(p.id) {
			return isInput
		}
		for _, id := range p.target.Outputs {
			if same(id) {
				return isOutput
			}
		}
		return isPipe
	case unix.S_IFDIR, unix.S_IFBLK:
		return isOther
	}
	var buf [64]byte
	return kindOfLink(in.link(fd, buf[:]))
}

// devTTY is /dev/tty, which is the controlling terminal of whoever has it open.
var devTTY = unix.Mkdev(5, 0)

// kindOfLink is about what has no place in any file system.
func kindOfLink(link []byte) fileKind {
	link, anonymous := bytes.CutPrefix(link, []byte("anon_inode:"))
	link = bytes.Trim(link, "[]")
	switch {
	case bytes.HasPrefix(link, []byte("pidfd")):
		return isPidfd
	case !anonymous:
		return isOther
	}
	switch string(link) {
	case "eventfd", "timerfd", "signalfd", "inotify":
		return isOwn
	case "eventpoll":
		return isEpoll
	}
	return isOther
}

// ownPipe says whether both ends of a pipe are this process's: it wakes itself up by it.
func (p *Prober) ownPipe(in *inspection, fd int) bool {
	reads, writes := in.access(fd)
	if reads && writes {
		return true
	}
	pipe, err := in.stat(fd, 0)
	if err != nil {
		return false
	}
	p.fds = in.numbers(p.fds[:0], "fd", maxFiles)
	for _, other := range p.fds {
		if other == fd {
			continue
		}
		st, err := in.stat(other, 0)
		if err != nil || st.Ino != pipe.Ino || st.Dev != pipe.Dev {
			continue
		}
		if r, w := in.access(other); r && writes || w && reads {
			return true
		}
	}
	return false
}
