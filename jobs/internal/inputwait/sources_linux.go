package inputwait

import (
	"bytes"
	"time"

	"golang.org/x/sys/unix"
)

// sources describes the descriptors that one call waits for.
type sources struct {
	input   bool          // the job's input
	other   string        // another thing that may wake it up; "": none
	blocked bool          // it waits for room for the job's output
	timers  bool          // a timer is set
	timer   time.Duration // the time until the first timer expires
	low     [3]interest   // the interests already added for the first descriptors
}

// A fileKind is the kind of file that a descriptor refers to.
type fileKind uint8

const (
	isOther  fileKind = iota
	isInput           // the job's input
	isOutput          // a pipe that the job prints to
	isOwn             // no other process can make it ready
	isSocket          //
	isPipe            // to other processes
	isEpoll           //
	isPidfd           //
	isWatch           // of files that other processes change
	isTimer           //
)

var kindNames = map[fileKind]string{
	isOther: "another file", isSocket: "a socket", isPipe: "a pipe", isPidfd: "a process", isWatch: "changes of files", isOutput: "its output",
}

// addSource adds a source of a call.
func (p *Prober) addSource(in *inspection, set *sources, i interest, depth int) {
	if i.fd >= 0 && !i.nothing() && p.worth(set, i) {
		p.addKind(in, set, i, p.kindOf(in, i.fd), depth)
	}
}

// worth reports whether to find out which file i is: not if that changes nothing or is known already, nor if the probe
// has reached its limit, unless i is probably the input.
func (p *Prober) worth(set *sources, i interest) bool {
	switch {
	case set.input && set.other != "" && !i.out:
		return false
	case i.fd < len(set.low):
		known := &set.low[i.fd]
		was := *known
		*known = interest{0, was.in || i.in, was.out || i.out, was.urgent || i.urgent}
		return *known != was
	case p.r.spent():
		set.add(unseen)
		return false
	}
	return true
}

const unseen = "more than one probe sees"

// add adds another source. Only the first one is reported.
func (set *sources) add(other string) {
	if set.other == "" {
		set.other = other
	}
}

func (p *Prober) addKind(in *inspection, set *sources, i interest, kind fileKind, depth int) {
	switch {
	case kind == isInput:
		set.input = set.input || i.in
		set.blocked = set.blocked || i.out && p.target.Terminal != nil
	case !i.in && !i.out && kind != isSocket && kind != isPipe && kind != isOther: // Errors alone never count here.
	case kind == isOutput && i.out:
		set.blocked = true
	case kind == isOwn:
		p.own(in, i.fd)
	case kind == isTimer:
		set.addTimer(in.timer(i.fd))
	case kind == isPipe && set.other == "" && p.ownPipe(in, i.fd): // The first foreign source is enough.
		p.own(in, i.fd)
	case kind == isSocket && set.other == "" && p.ownSocket(in, i.fd):
		p.own(in, i.fd)
	case kind == isEpoll:
		p.epollSet(in, set, i.fd, depth)
	default:
		set.add(kindNames[kind])
	}
}

// addTimer adds a timer. Like a timeout, it means that the process does something when it expires.
func (set *sources) addTimer(in time.Duration) {
	if in != forever {
		set.timer = sooner(set.timeout(forever), in)
		set.timers = true
	}
}

// timeout returns the effective timeout of a call with these sources.
func (set *sources) timeout(own time.Duration) time.Duration {
	if set.timers {
		return sooner(own, set.timer)
	}
	return own
}

// sooner returns the shorter of two timeouts. An unknown one may have any length, which matters unless the other is
// short.
func sooner(a, b time.Duration) time.Duration {
	switch {
	case a == forever:
		return b
	case b == forever:
		return a
	case a == unknownTimeout && b >= shortTimeout, b == unknownTimeout && a >= shortTimeout:
		return unknownTimeout
	case a == unknownTimeout:
		return b
	case b == unknownTimeout:
		return a
	}
	return min(a, b)
}

// timer returns the time until a timer expires. A periodic one counts as if it had just expired: as with other
// timeouts, the elapsed time is ignored.
func (in *inspection) timer(fd int) time.Duration {
	text, err := in.file(1024, part{name: "fdinfo"}, part{number: fd})
	if err != nil {
		return unknownTimeout
	}
	return timerIn(text)
}

// timerIn is timer with the text of its fdinfo. A timer that has expired, and was not read yet, counts as about to
// expire: its reader is about to read it.
func timerIn(text []byte) time.Duration {
	value, interval, ok := parseTimer(text)
	switch {
	case !ok:
		return unknownTimeout
	case value == 0 && interval == 0 && !bytes.Contains(text, []byte("\nticks: 0\n")):
		return 0
	case value == 0 && interval == 0:
		return forever
	}
	return max(value, interval)
}

// kindOf returns the kind of file of a descriptor.
func (p *Prober) kindOf(in *inspection, fd int) fileKind {
	st, err := in.stat(fd, 0)
	if err != nil {
		return isOther
	}
	return p.kindOfFile(in, fd, &st)
}

func (p *Prober) kindOfFile(in *inspection, fd int, st *status) fileKind {
	switch st.mode & unix.S_IFMT {
	case unix.S_IFCHR:
		if st.is(p.id) || st.Rdev == devTTY && p.target.Terminal != nil && in.st.tty == uint32(p.id.Rdev) {
			return isInput
		}
		return isOther
	case unix.S_IFSOCK:
		return isSocket
	case unix.S_IFIFO:
		return p.kindOfPipe(st)
	case unix.S_IFDIR, unix.S_IFBLK:
		return isOther
	}
	var buf [64]byte
	return kindOfLink(in.link(fd, buf[:]))
}

func (p *Prober) kindOfPipe(st *status) fileKind {
	if st.is(p.id) {
		return isInput
	}
	for _, id := range p.target.Outputs {
		if st.is(id) {
			return isOutput
		}
	}
	return isPipe
}

// devTTY is /dev/tty, which is the controlling terminal of the process that opens it.
var devTTY = unix.Mkdev(5, 0)

// kindOfLink returns the kind of a file outside file systems, from its link.
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
	case "eventfd", "signalfd":
		return isOwn
	case "inotify":
		return isWatch
	case "timerfd":
		return isTimer
	case "eventpoll":
		return isEpoll
	}
	return isOther
}

// ownPipe reports whether this process has both ends of a pipe: it uses that to wake itself up.
func (p *Prober) ownPipe(in *inspection, fd int) bool {
	reads, writes := in.access(fd)
	if reads && writes {
		return true
	}
	pipe, err := in.stat(fd, 0)
	if err != nil {
		return false
	}
	return p.has(in, fd, pipe.inode(), func(fd int) bool {
		r, w := in.access(fd)
		return r && writes || w && reads
	})
}

// files are the open files of a process.
type files struct {
	pid  int // 0: unknown
	fds  []int
	list []openFile
}

type openFile struct {
	fd int
	id ID
}

// has searches for another descriptor of a file. It first tries those next to fd, since pipe(2) and socketpair(2)
// usually put the other end there.
func (p *Prober) has(in *inspection, fd int, id ID, other func(fd int) bool) bool {
	is := func(fd int) bool {
		st, err := in.stat(fd, 0)
		return err == nil && st.is(id) && other(fd)
	}
	if is(fd+1) || fd > 0 && is(fd-1) {
		return true
	}
	if p.files.pid != in.pid {
		p.listFiles(in)
	}
	for _, f := range p.files.list {
		if f.id == id && other(f.fd) {
			return true
		}
	}
	return false
}

// listFiles lists the process's open files, once per process and probe, because there may be many. It returns false if
// it could not list all of them.
func (p *Prober) listFiles(in *inspection) (all bool) {
	f := &p.files
	var more bool
	f.fds, more = in.numbers(f.fds[:0], "fd", maxFiles)
	f.pid, f.list = in.pid, f.list[:0]
	for _, fd := range f.fds {
		if p.r.spent() {
			return false
		}
		if st, err := in.stat(fd, 0); err == nil {
			f.list = append(f.list, openFile{fd, st.inode()})
		}
	}
	return !more && (len(f.fds) > 0 || in.mayList())
}
