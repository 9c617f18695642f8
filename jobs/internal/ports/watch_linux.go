package ports

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Supported says whether this system tells who listens.
func Supported() bool { return supported() }

var supported = sync.OnceValue(func() bool {
	_, err := tableOf(os.Getpid(), ownSpace())
	_, links := os.Readlink("/proc/self/fd/0")
	return err == nil && (links == nil || os.IsNotExist(links)) // it may be closed
})

// ownSpace is the network namespace of this process.
var ownSpace = sync.OnceValue(func() string { return spaceOf(os.Getpid()) })

// spaceOf is the network namespace of a process; "" where that cannot be seen.
func spaceOf(pid int) string {
	link, err := readlink(file(pid, "ns/net"))
	if err != nil {
		link, _ = readlink(living(pid) + "ns/net")
	}
	return link
}

// living is the directory in /proc of a process. Where its main thread has ended before others,
// it is that of one of these: what the process has is not to be seen in its own any more.
func living(pid int) string {
	own := file(pid, "")
	if !ended(own + "status") {
		return own
	}
	threads, _ := entries(own + "task")
	for _, tid := range threads {
		if dir := own + "task/" + tid + "/"; !ended(dir + "status") {
			return dir
		}
	}
	return own
}

func ended(status string) bool {
	text, err := os.ReadFile(status)
	if err != nil {
		return os.IsNotExist(err) || errors.Is(err, unix.ESRCH)
	}
	_, alive := parseStatus(text)
	return !alive
}

// A Watch looks at what one job listens on, and remembers it, so that only what is new is
// looked for in the descriptors of the job's processes. The zero Watch remembers nothing. It is
// not for use by several goroutines at once.
type Watch struct {
	known map[socket]Listener // PID is 0 where nobody of the job has it
	looks int
}

// A socket is named by its inode, which is one number for all namespaces; but a Watch may
// outlive a namespace.
type socket struct {
	space string
	inode uint64
}

// thorough is after how many looks one forgets what was known: a socket that nobody of the job
// had may have been handed over to it.
const thorough = 16

// Look finds out who listens now. leader is the job's command; where it is gone, other
// listeners count in all network namespaces in which the job is. It returns false where the job
// is over.
func (w *Watch) Look(members Members, leader int) (Found, bool) {
	pids, ok := members()
	if !ok {
		return Found{}, false
	}
	if w.looks++; w.looks%thorough == 0 {
		w.known = nil
	}
	list, home := listeners(pids, leader)
	known, fresh := map[socket]Listener{}, map[uint64]bool{}
	for _, l := range list {
		s := socket{l.space, l.inode}
		if k, ok := w.known[s]; ok && (k.PID == 0 || slices.Contains(pids, k.PID)) {
			known[s] = k
		} else {
			fresh[l.inode] = true
		}
	}
	s := search{fresh: fresh, owners: map[uint64]int{}, walked: map[int]bool{}}
	settled := len(fresh) == 0 || s.walk(pids, members)
	var found Found
	for _, l := range list {
		k, ok := known[socket{l.space, l.inode}]
		l.PID = k.PID
		if !ok {
			if l.PID = s.owners[l.inode]; l.PID == 0 && s.mayHave(l) {
				found.Maybe = append(found.Maybe, l) // and is looked at anew the next time
				continue
			}
			if l.PID == 0 && !settled {
				continue
			}
			known[socket{l.space, l.inode}] = l
		}
		switch {
		case l.PID != 0:
			found.Own = append(found.Own, l)
		case home == "" || l.space == home:
			found.Others = append(found.Others, l)
		}
	}
	w.known = known
	for _, list := range [][]Listener{found.Own, found.Maybe, found.Others} {
		slices.SortFunc(list, compare)
	}
	return found, true
}

// compare orders listeners by port, address and process, IPv4 first.
func compare(a, b Listener) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), a.Address.Compare(b.Address), cmp.Compare(a.PID, b.PID), cmp.Compare(a.inode, b.inode))
}

// listeners lists who listens in the network namespaces of some processes. home is that of the
// leader, "" where it is gone.
func listeners(pids []int, leader int) (all []Listener, home string) {
	seen := map[string]bool{}
	for _, pid := range pids {
		space := spaceOf(pid)
		if space == "" {
			space = ownSpace() // a setuid program, most likely
		}
		if pid == leader {
			home = space
		}
		if seen[space] {
			continue
		}
		list, err := tableOf(pid, space)
		if err != nil {
			continue // it has ended; another one may be in there
		}
		seen[space] = true
		for _, l := range list {
			l.space = space
			all = append(all, l)
		}
	}
	return all, home
}

// tableOf lists who listens in the network namespace of a process.
func tableOf(pid int, space string) ([]Listener, error) {
	if space == ownSpace() {
		if list, err := diagTable(); err == nil {
			return list, nil
		}
	}
	return fileTable(pid)
}

func fileTable(pid int) (all []Listener, err error) {
	if all, err = fileTableIn(file(pid, "")); err != nil {
		all, err = fileTableIn(living(pid))
	}
	return all, err
}

func fileTableIn(dir string) (all []Listener, err error) {
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		text, err := os.ReadFile(dir + name)
		if err != nil && name == "net/tcp" { // there may be no IPv6
			return nil, err
		}
		all = append(all, parseTable(text)...)
	}
	return all, nil
}

// A search looks for sockets among the descriptors of processes.
type search struct {
	fresh  map[uint64]bool // the inodes that are looked for
	owners map[uint64]int  // and who was found to have them
	walked map[int]bool
	hidden []int64 // the users of those whose descriptors may not be read; anybody: -1
	failed bool    // descriptors could not be read for another reason
}

// rounds bounds how often processes are listed that forks make more of.
const rounds = 5

// walk looks at the descriptors of all, and of those that came meanwhile, until there is nobody
// new: a program that listens may fork and exit at any moment, as daemons do, and its child has
// the socket then. It returns false where that does not come to rest, or the job is over: then
// nobody may say that a socket is somebody else's.
func (s *search) walk(pids []int, members Members) (settled bool) {
	for range rounds {
		var found []socketOwner
		for _, pid := range pids {
			if !s.walked[pid] {
				s.walked[pid] = true
				found = append(found, s.look(pid)...)
			}
		}
		after, ok := members()
		if !ok {
			return false
		}
		for _, f := range found { // A pid may be a stranger's by now, unless it still is among them.
			if s.owners[f.inode] == 0 && slices.Contains(after, f.pid) {
				s.owners[f.inode] = f.pid
			}
		}
		if !slices.ContainsFunc(after, func(pid int) bool { return !s.walked[pid] }) {
			return !s.failed
		}
		pids = after
	}
	return false
}

type socketOwner struct {
	inode uint64
	pid   int
}

// look reads the descriptors of a process.
func (s *search) look(pid int) (found []socketOwner) {
	dir := file(pid, "fd")
	names, err := entries(dir)
	if len(names) == 0 { // It may be that its main thread has ended.
		dir = living(pid) + "fd"
		names, err = entries(dir)
	}
	for _, name := range names {
		link, failed := readlink(dir + "/" + name)
		if failed == unix.EACCES {
			err = failed
		}
		if inode, ok := socketInode(link); ok && s.fresh[inode] {
			found = append(found, socketOwner{inode, pid})
		}
	}
	switch err {
	case nil, unix.ENOENT, unix.ESRCH:
	case unix.EACCES, unix.EPERM:
		if user, alive := userOf(pid); alive {
			s.hidden = append(s.hidden, user)
		}
	default: // such as being short of descriptors
		s.failed = true
	}
	return found
}

// mayHave says whether a process that cannot be looked into may have a socket.
func (s *search) mayHave(l Listener) bool {
	return slices.Contains(s.hidden, l.User) || slices.Contains(s.hidden, -1)
}

// socketInode reads "socket:[N]".
func socketInode(link string) (uint64, bool) {
	text, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64)
	return n, err == nil
}

// userOf is as whom a process runs, -1 where that is hidden; alive is false where it has ended.
func userOf(pid int) (user int64, alive bool) {
	text, err := os.ReadFile(living(pid) + "status")
	if err != nil {
		return -1, !os.IsNotExist(err)
	}
	return parseStatus(text)
}

// parseStatus reads the state and the effective user of /proc/PID/status.
func parseStatus(text []byte) (user int64, alive bool) {
	user = -1
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(line, []byte{':'})
		fields := bytes.Fields(value)
		switch string(key) {
		case "State":
			if len(fields) > 0 && (string(fields[0]) == "Z" || string(fields[0]) == "X") {
				return -1, false
			}
		case "Uid":
			if len(fields) > 1 {
				if n, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
					user = n
				}
			}
		}
	}
	return user, true
}

// Identify finds out which process has somebody else's socket, among all that can be seen.
func Identify(l Listener) Listener {
	names, _ := entries("/proc")
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		s := search{fresh: map[uint64]bool{l.inode: true}}
		if len(s.look(pid)) > 0 {
			l.PID = pid
			return l.withCommand()
		}
	}
	return l
}

// mostCommand is how many bytes of a command line are told.
const mostCommand = 256

// withCommand adds the command line of the process that has it.
func (l Listener) withCommand() Listener {
	text, err := os.ReadFile(file(l.PID, "cmdline"))
	if len(text) == 0 {
		text, err = os.ReadFile(living(l.PID) + "cmdline")
	}
	if err != nil {
		return l
	}
	text = bytes.TrimRight(text[:min(len(text), mostCommand)], "\x00")
	l.Command = strings.ToValidUTF8(string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})), "?")
	return l
}

func file(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

func readlink(path string) (string, error) {
	var buf [64]byte // a socket's is shorter
	n, err := unix.Readlink(path, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// entries lists a directory of /proc, with bare system calls: os.File would try it on the poller.
func entries(dir string) (list []string, err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }() // Nothing was written.
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return list, err
		}
		_, _, list = unix.ParseDirent(buf[:n], -1, list)
	}
}
