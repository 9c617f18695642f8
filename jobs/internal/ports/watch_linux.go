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

// A Watch looks at what one job listens on, and remembers it, so that only what is new is
// looked for in the descriptors of the job's processes. The zero Watch remembers nothing. It is
// not for use by several goroutines at once.
type Watch struct {
	known  map[socket]Listener // PID is 0 where nobody of the job has it
	beyond map[socket]bool     // were looked for among as many descriptors as one look reads
	looks  int                 // since all of that was forgotten
	rest   time.Time           // until then the same is not looked for again
	most   int                 // descriptors; 0: mostDescriptors. Tests have less
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

const (
	// mostDescriptors bounds what a look reads: a quarter of a second of a processor.
	mostDescriptors = 1 << 16
	// firstFew are read of every process before more are read of any: listeners are made early.
	firstFew = 1 << 10
	// share is how much of a processor goes into looking for the same again.
	share = 20
)

// Doubt forgets that nobody of the job listens on a port: it is looked for once more.
func (w *Watch) Doubt(port int) {
	maps.DeleteFunc(w.known, func(_ socket, l Listener) bool { return l.PID == 0 && l.Port == port })
}

// Look finds out who listens now. leader is the job's command; where it is gone, other
// listeners count in all network namespaces in which the job is. It returns false where the job
// is over.
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
		if now := time.Now(); !rests { // What is new meanwhile does not make that longer.
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
				found.Maybe = append(found.Maybe, l) // and is looked at anew the next time
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
	left   int     // how many descriptors may still be read
	one    bool    // nothing more is read when one has been found
	failed bool    // not all could be read: they are too many, or there was another reason
}

// rounds bounds how often processes are listed that forks make more of.
const rounds = 5

// walk looks at the descriptors of all, and of those that came meanwhile, until there is nobody
// new: a program that listens may fork and exit at any moment, as daemons do, and its child has
// the socket then. It returns false where that does not come to rest, or the job is over: then
// nobody may say that a socket is somebody else's.
func (s *search) walk(pids []int, members Members) (settled bool) {
	for range rounds {
		found := s.pass(pids)
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

// pass reads the descriptors of those who are new: the first few of each, and then the others.
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

// look reads the descriptors of a process but for the first ones, and says whether there are
// more than most of them.
func (s *search) look(pid, skip, most int) (found []socketOwner, more bool) {
	if most = min(most, s.left); most == 0 {
		return nil, true
	}
	dir := file(pid, "fd")
	names, err := entries(dir, skip+most+1)
	if len(names) == 0 { // It may be that its main thread has ended.
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
	default: // such as being short of descriptors
		s.failed = true
	}
	return found, more
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

// all entries are wanted.
const all = math.MaxInt

// entries lists a directory of /proc, with bare system calls: os.File would try it on the
// poller. It may stop at so many.
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
