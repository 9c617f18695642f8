package ports

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system reports listeners.
func Supported() bool { return supported() }

var supported = sync.OnceValue(func() bool {
	_, err := tableOf(os.Getpid(), ownSpace())
	_, links := os.Readlink("/proc/self/fd/0")
	return err == nil && (links == nil || os.IsNotExist(links)) // it may be closed
})

// ownSpace returns the network namespace of this process.
var ownSpace = sync.OnceValue(func() string { return spaceOf(os.Getpid()) })

// spaceOf returns the network namespace of a process; "" if it cannot be read.
func spaceOf(pid int) string {
	link, err := readlink(file(pid, "ns/net"))
	if err != nil {
		link, _ = readlink(living(pid) + "ns/net")
	}
	return link
}

// living returns the directory of a process in /proc. If the main thread has ended before others, it returns the
// directory of one of these: the main thread's own no longer shows the state of the process.
func living(pid int) string {
	own := file(pid, "")
	if !ended(own + "status") {
		return own
	}
	threads, _ := entries(own+"task", all)
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

// A Watch probes the listeners of one job, and remembers them, so that it searches the descriptors of the job's
// processes only for new listeners. The zero Watch remembers nothing. It must not be used by several goroutines at
// once.
type Watch struct {
	known  map[socket]Listener // PID is 0 if no process of the job has it
	beyond map[socket]bool     // the search for them reached the maximum of descriptors per probe
	looks  int                 // probes since all of that was forgotten
	rest   time.Time           // until then there is no further search for the same sockets
	most   int                 // descriptors; 0: mostDescriptors. Tests have fewer
}

// A socket is identified by its inode, which is unique over all namespaces; but a Watch may outlive a namespace.
type socket struct {
	space string
	inode uint64
}

// thorough is the number of probes after which the known listeners are forgotten: a socket of another process may have
// been passed to the job.
const thorough = 16

const (
	// mostDescriptors is the maximum number of descriptors that a probe reads: a quarter of a second of a processor.
	mostDescriptors = 1 << 16
	// firstFew is the number of descriptors read of every process before more are read of any: listeners are opened
	// early.
	firstFew = 1 << 10
	// share limits repeated searches for the same sockets to 1/share of a processor.
	share = 20
)

// Doubt forgets that no process of the job listens on a port: the next probe searches once more.
func (w *Watch) Doubt(port int) {
	maps.DeleteFunc(w.known, func(_ socket, l Listener) bool { return l.PID == 0 && l.Port == port })
}

// Look probes the listeners. leader is the job's command; if it is gone, the other listeners of all network namespaces
// of the job count. Look returns false if the job is over.
func (w *Watch) Look(members Members, leader int) (Found, bool) {
	pids, ok := members()
	if !ok {
		return Found{}, false
	}
	rests := time.Now().Before(w.rest)
	if w.looks++; w.looks >= thorough && !rests {
		w.known, w.looks = nil, 0
	}
	list, home := listeners(pids, leader)
	known, beyond, fresh := map[socket]Listener{}, map[socket]bool{}, map[uint64]bool{}
	for _, l := range list {
		s := socket{l.space, l.inode}
		if k, ok := w.known[s]; ok && (k.PID == 0 || slices.Contains(pids, k.PID)) {
			known[s] = k
		} else if rests && w.beyond[s] {
			beyond[s] = true
		} else {
			fresh[l.inode] = true
		}
	}
	s := search{fresh: fresh, owners: map[uint64]int{}, walked: map[int]bool{}, left: cmp.Or(w.most, mostDescriptors)}
	settled := true
	if len(fresh) > 0 {
		began := time.Now()
		settled = s.walk(pids, members)
		if now := time.Now(); !rests { // New sockets meanwhile do not make that longer.
			w.rest = now.Add(share * now.Sub(began))
		}
	}
	var found Found
	for _, l := range list {
		id := socket{l.space, l.inode}
		if beyond[id] {
			continue
		}
		k, ok := known[id]
		l.PID = k.PID
		if !ok {
			if l.PID = s.owners[l.inode]; l.PID == 0 && s.mayHave(l) {
				found.Maybe = append(found.Maybe, l) // and is checked again by the next probe
				continue
			}
			if l.PID == 0 && !settled {
				if s.failed {
					beyond[id] = true
				}
				continue
			}
			known[id] = l
		}
		switch {
		case l.PID != 0:
			found.Own = append(found.Own, l)
		case home == "" || l.space == home:
			found.Others = append(found.Others, l)
		}
	}
	w.known, w.beyond, found.Partial = known, beyond, len(beyond) > 0
	for _, list := range [][]Listener{found.Own, found.Maybe, found.Others} {
		slices.SortFunc(list, compare)
	}
	return found, true
}

// compare orders listeners by port, address and process, IPv4 first.
func compare(a, b Listener) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), a.Address.Compare(b.Address), cmp.Compare(a.PID, b.PID), cmp.Compare(a.inode, b.inode))
}

// listeners lists the listeners in the network namespaces of some processes. home is the leader's, "" if the leader is
// gone.
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
			continue // it has ended; another process may be in that namespace
		}
		seen[space] = true
		for _, l := range list {
			l.space = space
			all = append(all, l)
		}
	}
	return all, home
}

// tableOf lists the listeners in the network namespace of a process.
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

// A search searches the descriptors of processes for sockets.
type search struct {
	fresh  map[uint64]bool // the wanted inodes
	owners map[uint64]int  // the process found to have each
	walked map[int]bool
	hidden []int64 // users of the processes whose descriptors may not be read; -1: any user
	left   int     // number of descriptors that may still be read
	one    bool    // stop after the first one found
	failed bool    // some could not be read: there are too many, or another error occurred
}

// rounds is the maximum number of times that processes are listed while forks add new ones.
const rounds = 5

// walk searches the descriptors of all processes, and of those started meanwhile, until there is no new process: a
// program that listens may fork and exit at any moment, as daemons do, and then its child has the socket. It returns
// false if new processes keep coming, or the job is over: then no socket may be assigned to another process.
func (s *search) walk(pids []int, members Members) (settled bool) {
	for range rounds {
		found := s.pass(pids)
		after, ok := members()
		if !ok {
			return false
		}
		for _, f := range found { // The pid may be reused by a stranger, unless it is still among them.
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

// pass reads the descriptors of new processes: the first few of each, and then the others.
func (s *search) pass(pids []int) (found []socketOwner) {
	var long []int
	for _, pid := range pids {
		if s.walked[pid] {
			continue
		}
		s.walked[pid] = true
		some, more := s.look(pid, 0, firstFew)
		if found = append(found, some...); more {
			long = append(long, pid)
		}
		if s.one && len(found) > 0 {
			return found
		}
	}
	for _, pid := range long {
		some, more := s.look(pid, firstFew, s.left)
		found = append(found, some...)
		s.failed = s.failed || more
	}
	return found
}

// look reads the descriptors of a process, at most most of them after the first skip ones, and reports whether there
// are more.
func (s *search) look(pid, skip, most int) (found []socketOwner, more bool) {
	if most = min(most, s.left); most == 0 {
		return nil, true
	}
	dir := file(pid, "fd")
	names, err := entries(dir, skip+most+1)
	if len(names) == 0 { // Its main thread may have ended.
		dir = living(pid) + "fd"
		names, err = entries(dir, skip+most+1)
	}
	names = names[min(skip, len(names)):]
	if more = len(names) > most; more {
		names = names[:most]
	}
	s.left -= len(names)
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
	default: // such as a lack of descriptors
		s.failed = true
	}
	return found, more
}

// mayHave reports whether a process with unreadable descriptors may have a socket.
func (s *search) mayHave(l Listener) bool {
	return slices.Contains(s.hidden, l.User) || slices.Contains(s.hidden, -1)
}

// socketInode parses "socket:[N]".
func socketInode(link string) (uint64, bool) {
	text, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64)
	return n, err == nil
}

// userOf returns the user of a process, -1 if it is hidden; alive is false if the process has ended.
func userOf(pid int) (user int64, alive bool) {
	text, err := os.ReadFile(living(pid) + "status")
	if err != nil {
		return -1, !os.IsNotExist(err)
	}
	return parseStatus(text)
}

// parseStatus returns the effective user of /proc/PID/status, and whether the process is alive.
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

// Identify adds the process that has a socket, among all processes that can be read, and its command line.
func Identify(l Listener) Listener {
	names, _ := entries("/proc", all)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	have := func(pids ...int) []socketOwner {
		s := search{fresh: map[uint64]bool{l.inode: true}, walked: map[int]bool{}, left: mostDescriptors, one: true}
		return s.pass(pids)
	}
	if found := have(pids...); len(found) > 0 {
		l.PID = eldest(found[0].pid, parentOf, func(pid int) bool { return len(have(pid)) > 0 })
		return l.withCommand()
	}
	return l
}

// eldest returns the first of a process and its ancestors that has a socket, given one that has it. A child that was
// forked just now has it too until it executes something else, and may have the lower number.
func eldest(pid int, parentOf func(int) int, has func(int) bool) int {
	for parent := parentOf(pid); parent > 0 && has(parent); parent = parentOf(pid) {
		pid = parent
	}
	return pid
}

// parentOf returns 0 if it is not known.
func parentOf(pid int) int {
	text, _ := os.ReadFile(file(pid, "status")) // Without it nothing is found.
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("PPid:")); ok {
			parent, _ := strconv.Atoi(string(bytes.TrimSpace(value))) // 0 if it is no number
			return parent
		}
	}
	return 0
}

// mostCommand is the maximum reported length of a command line, in bytes.
const mostCommand = 256

// withCommand adds the command line of the listener's process.
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
	var buf [64]byte // the link of a socket is shorter
	n, err := unix.Readlink(path, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// all is the limit for all entries.
const all = math.MaxInt

// entries lists a directory of /proc, with bare system calls: os.File would try to register it with the poller. It may
// stop after most entries.
func entries(dir string, most int) (list []string, err error) {
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
		if _, _, list = unix.ParseDirent(buf[:n], -1, list); len(list) >= most {
			return list, nil
		}
	}
}
