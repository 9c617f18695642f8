package inputwait

import (
	"bytes"
	"time"

	"golang.org/x/sys/unix"
)

// A look at one process.
type inspection struct {
	process
	st      *stat
	found   bool
	best    wait
	sleeper string // what one of its threads does besides
	runs    bool
	denied  bool
}

// inspect looks at a process that may read.
func (p *Prober) inspect(proc process, st *stat) {
	s := &p.s
	if st.stopped() {
		p.inspectStopped(proc, st)
		return
	}
	if s.found && s.best.certain() {
		if st.state == 'R' || st.state == 'D' { // Nobody waits better: what is left to know is who runs.
			s.runner = proc.pid
		}
		return
	}
	in := inspection{process: proc, st: st}
	var few [16]int
	tids := append(few[:0], proc.pid)
	if st.threads > 1 {
		tids = proc.numbers(tids[:0], "task", maxThreads)
	}
	for _, tid := range tids {
		p.thread(&in, tid)
	}
	if in.runs || !in.found && st.state == 'D' {
		s.runner = proc.pid
	}
	if in.denied && st.state == 'S' {
		s.denied = suspect{proc.pid, st.start, st.comm()}
	}
	if !in.found {
		return
	}
	if in.best.others == "" {
		in.best.others = in.sleeper
	}
	if !s.found || in.best.better(&s.best) {
		s.found, s.best = true, in.best
	}
}

// certain says that the wait is exact whatever else of its process.
func (w *wait) certain() bool {
	c := w.claim(false)
	return c.confidence == Exact && c.quiet == 0
}

// inspectStopped finds out whether it is a stopped process that would read.
func (p *Prober) inspectStopped(proc process, st *stat) {
	if proc.pid == p.target.Leader || st.group == p.s.group && proc.pid == p.s.group {
		p.s.stopped = true
		return
	}
	if p.best > full || !knowsCalls {
		return
	}
	in := inspection{process: proc, st: st}
	if c, ok := p.callOf(&in, proc.pid); ok {
		blocked := p.s.blocked
		p.decode(&in, proc.pid, c)
		p.s.blocked = blocked // It is stopped, whatever it was in.
	}
	p.s.stopped = p.s.stopped || in.found
}

// thread looks at one thread, as closely as it may.
func (p *Prober) thread(in *inspection, tid int) {
	if p.best <= full && knowsCalls {
		if c, ok := p.callOf(in, tid); ok {
			p.decode(in, tid, c)
			return
		}
	}
	if p.best <= sleep && p.asleep(in, tid) {
		return
	}
	in.denied = true
}

// callOf reads the system call that a thread is in. It returns false where that may not
// be read, or is of another architecture than the tables.
func (p *Prober) callOf(in *inspection, tid int) (call, bool) {
	var text []byte
	var err error
	if tid == in.pid {
		text, err = in.file(512, part{name: "syscall"})
	} else {
		text, err = in.file(512, part{name: "task"}, part{number: tid}, part{name: "syscall"})
	}
	if err == unix.ESRCH {
		return call{number: -1}, true // It has ended.
	}
	if err != nil {
		return call{}, false
	}
	c, ok := parseCall(text)
	if ok && c.number >= 0 && c.sp < 1<<32 && !p.native(in.process) {
		return call{}, false
	}
	return c, ok
}

// native says whether a program has the machine's word size. It is asked of those alone
// whose stack is where that of a 32-bit program is.
func (p *Prober) native(proc process) bool {
	text, err := proc.file(5, part{name: "exe"})
	const class, class64 = 4, 2 // EI_CLASS, ELFCLASS64
	return err != nil || len(text) <= class || text[class] == class64
}

// decode says what a system call waits for.
func (p *Prober) decode(in *inspection, tid int, c call) {
	if c.running {
		in.runs = true
		return
	}
	name := callOf(c.number)
	if name.kind == callRestart {
		name = p.restarted(in, tid)
	}
	switch name.kind {
	case callRead:
		p.decodeRead(in, tid, name.name, int(int32(c.args[0])))
	case callSendf:
		p.decodeRead(in, tid, name.name, int(int32(c.args[1])))
	case callWrite:
		if k := p.kindOf(in, int(int32(c.args[0]))); k == isInput && p.target.Terminal != nil || k == isOutput {
			p.s.blocked = true
		}
	case callSleep, callSocket:
		in.sleeper = "another of its threads is blocked in " + name.name
	case callPoll, callPpoll, callSelect, callPselect, callEpoll, callEpoll2:
		p.decodeSet(in, tid, name, c)
	}
}

func (p *Prober) decodeRead(in *inspection, tid int, name string, fd int) {
	switch p.kindOf(in, fd) {
	case isInput:
		in.add(&wait{tid: tid, call: name, reading: true, timeout: forever, seen: full})
	case isSocket:
		in.sleeper = "another of its threads reads a socket"
	}
}

// restarted tells what restart_syscall goes on with: a poll with a timeout that was
// stopped and continued still has its arguments.
func (p *Prober) restarted(in *inspection, tid int) callName {
	switch text := p.wchan(in, tid); {
	case bytes.Contains(text, []byte("poll")) && callOf(unix.SYS_PPOLL).kind == callPpoll:
		return callName{callPoll, "poll"}
	case bytes.Contains(text, []byte("nanosleep")):
		return callName{callSleep, "nanosleep"}
	}
	return callName{}
}

func (p *Prober) wchan(in *inspection, tid int) []byte {
	text, _ := in.file(256, part{name: "task"}, part{number: tid}, part{name: "wchan"}) // Nothing says nothing.
	return text
}

// add notes a wait of the process.
func (in *inspection) add(w *wait) {
	w.pid, w.name = in.pid, in.st.comm()
	if !in.found || w.better(&in.best) {
		in.found, in.best = true, *w
	}
}

// decodeSet is about a call that waits for several descriptors.
func (p *Prober) decodeSet(in *inspection, tid int, name callName, c call) {
	set := sources{}
	timeout := unknownTimeout
	ok := true
	switch name.kind {
	case callPoll:
		ok = p.pollSet(in, &set, c.args[0], int(min(c.args[1], maxFiles)))
		timeout = milliseconds(c.args[2])
	case callPpoll:
		ok = p.pollSet(in, &set, c.args[0], int(min(c.args[1], maxFiles)))
		timeout = p.timeoutAt(in, c.args[2], time.Nanosecond)
	case callSelect, callPselect:
		ok = p.selectSets(in, &set, int(min(c.args[0], maxFiles)), c.args[1:4])
		unit := time.Nanosecond
		if name.kind == callSelect {
			unit = time.Microsecond
		}
		timeout = p.timeoutAt(in, c.args[4], unit)
	case callEpoll:
		p.epollSet(in, &set, int(int32(c.args[0])), 0)
		timeout = milliseconds(c.args[3])
	case callEpoll2:
		p.epollSet(in, &set, int(int32(c.args[0])), 0)
		timeout = p.timeoutAt(in, c.args[3], time.Nanosecond)
	}
	switch {
	case !ok:
		in.denied = !p.asleep(in, tid) // The memory may not be read.
	case set.blocked:
		p.s.blocked = true
	}
	switch {
	case ok && set.input:
		w := wait{tid: tid, call: name.name, timeout: timeout, seen: full}
		if set.other != "" {
			w.others = "on " + set.other
		}
		in.add(&w)
	case ok && set.other != "":
		in.sleeper = "another of its threads waits for " + set.other
	}
}

// milliseconds is a timeout as poll takes it.
func milliseconds(arg uint64) time.Duration {
	if n := int32(arg); n >= 0 {
		return time.Duration(n) * time.Millisecond
	}
	return forever
}

// timeoutAt reads a timespec or timeval; there is no timeout where there is none.
func (p *Prober) timeoutAt(in *inspection, at uint64, unit time.Duration) time.Duration {
	if at == 0 {
		return forever
	}
	var b [16]byte
	if n, err := in.memory(b[:], at); err != nil || n < len(b) {
		return unknownTimeout
	}
	return duration(b[:], unit)
}

func (p *Prober) pollSet(in *inspection, set *sources, at uint64, count int) bool {
	if count <= 0 {
		return true
	}
	var few [32 * pollSize]byte
	b := few[:]
	if need := count * pollSize; need > len(b) {
		b = make([]byte, need)
	} else {
		b = b[:need]
	}
	n, err := in.memory(b, at)
	if err != nil {
		return false
	}
	for b = b[:n/pollSize*pollSize]; len(b) > 0; b = b[pollSize:] {
		p.addSource(in, set, pollEntry(b), 0)
	}
	return true
}

// selectSets reads the sets of what is read, written and exceptional.
func (p *Prober) selectSets(in *inspection, set *sources, count int, at []uint64) bool {
	var b [3][maxFiles / 8]byte
	size := (count + 63) / 64 * 8 // The kernel takes whole words.
	for i := range b {
		if at[i] == 0 || size == 0 {
			continue
		}
		if _, err := in.memory(b[i][:size], at[i]); err != nil {
			return false
		}
	}
	for fd := range count {
		i := interest{fd: fd, in: inSet(b[0][:], fd), out: inSet(b[1][:], fd)}
		if !i.in && !i.out && inSet(b[2][:], fd) {
			set.exceptional(p, in, fd)
			continue
		}
		p.addSource(in, set, i, 0)
	}
	return true
}

// epollSet follows an epoll, and what it watches that is one itself.
func (p *Prober) epollSet(in *inspection, set *sources, fd, depth int) {
	if depth > maxNested {
		set.other = "an epoll within others"
		return
	}
	text, err := in.file(1<<16, part{name: "fdinfo"}, part{number: fd})
	if err != nil {
		return
	}
	var few [32]watched
	list := few[:0] // The text is gone with the next read.
	for w, rest, ok := nextWatched(text); ok && len(list) < maxFiles; w, rest, ok = nextWatched(rest) {
		list = append(list, w)
	}
	for _, w := range list {
		if !w.in && !w.out {
			continue
		}
		if w.named && w.ino != p.inode(in, w.fd) {
			set.other = "a file that it has no descriptor of any more"
			continue
		}
		p.addSource(in, set, w.interest, depth+1)
	}
}

const maxNested = 2

func (p *Prober) inode(in *inspection, fd int) uint64 {
	st, err := in.stat(fd, 0)
	if err != nil {
		return 0
	}
	return st.Ino
}
