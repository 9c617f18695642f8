package inputwait

import (
	"bytes"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// An inspection holds the findings about one process.
type inspection struct {
	process
	st      *stat
	found   bool
	best    wait
	sleeper string // another thing that one of its threads does
	timed   bool   // one of its threads waits for a time
	runs    bool
	denied  bool
}

// inspect examines a process that may read.
func (p *Prober) inspect(proc process, st *stat) {
	s := &p.s
	p.files.pid = 0
	if st.stopped() {
		p.inspectStopped(proc, st)
		return
	}
	if s.found && s.best.certain() {
		if st.runs() || st.threads > 1 && p.threadRuns(proc) { // No process can be a better waiter. Only whether others run is still open.
			s.runner = proc.pid
		}
		return
	}
	in := inspection{process: proc, st: st}
	var few [16]int
	tids := append(few[:0], proc.pid)
	if st.threads > 1 {
		tids = p.threads(tids[:0], proc)
	}
	if st.headless {
		tids = slices.DeleteFunc(tids, func(tid int) bool { return tid == proc.pid })
	}
	p.scan(&in, tids)
	if in.runs || !in.found && st.state == 'D' {
		s.runner = proc.pid
	}
	if in.denied && st.state == 'S' {
		s.denied = suspect{proc.pid, st.start, st.comm()}
	}
	if !in.found {
		return
	}
	in.best.timed = in.timed
	if in.best.others == "" {
		in.best.others = in.sleeper
	}
	if !s.found || in.best.better(&s.best) {
		s.found, s.best = true, in.best
	}
}

// scan examines the threads of a process. The data about a wait is read in several steps. If the thread wakes up
// between two of them, the memory may have been reused for something else.
func (p *Prober) scan(in *inspection, tids []int) {
	before, counted := 0, false
	if len(tids) == 1 {
		before, counted = turns(in.process, tids[0])
	}
	for _, tid := range tids {
		if p.r.spent() {
			p.s.cut = true
			break
		}
		p.thread(in, tid)
	}
	switch {
	case !in.found:
	case counted:
		if after, _ := turns(in.process, tids[0]); after != before {
			in.found, in.runs = false, true // It may be waiting for anything.
		}
	case len(tids) > 1 && !in.runs:
		in.runs = p.moved(in, tids)
	}
}

// threadRuns reports whether a thread of the process runs.
func (p *Prober) threadRuns(proc process) bool {
	var few [16]int
	for _, tid := range p.threads(few[:0], proc) {
		if p.r.spent() {
			p.s.cut = true
			break
		}
		text, err := proc.file(1024, part{name: "task"}, part{number: tid}, part{name: "stat"})
		if err != nil {
			continue
		}
		if st, ok := parseStat(text); ok && st.runs() {
			return true
		}
	}
	return false
}

// moved reports whether a process with several threads has done anything while they were examined one after the other:
// a working thread may have finished, and woken the one that was seen waiting, before its turn came. So all are
// examined once more, and the waiting one must have slept all that time. Measured with npm init, where the threads of
// node's pool read files: without this, about one in a hundred answers went to a question that was yet to come.
func (p *Prober) moved(in *inspection, tids []int) bool {
	waits := in.best
	before, ok := turns(in.process, waits.tid)
	again := inspection{process: in.process, st: in.st}
	p.thread(&again, waits.tid)
	if !again.found || again.best.call != waits.call {
		return true
	}
	in.best = again.best // The first time it may have woken up in between.
	in.best.endless = waits.endless
	for _, tid := range tids {
		if p.s.cut = p.s.cut || p.r.spent(); p.s.cut {
			break // Then the verdict is not exact anyway.
		}
		if tid != waits.tid {
			p.thread(&again, tid)
		}
	}
	in.timed = in.timed || again.timed
	if again.sleeper != "" {
		in.besides(again.sleeper)
	}
	after, _ := turns(in.process, waits.tid)
	return again.runs || ok && before != after
}

// turns returns how often a thread was given a processor. ok is false if the kernel does not count that.
func turns(proc process, tid int) (n int, ok bool) {
	u := usage{tid: tid}
	ok = u.read(proc)
	return u.turns, ok
}

// read reads how long a thread has run and how often it was given a processor. It returns false if the kernel does not
// count that.
func (u *usage) read(proc process) bool {
	text, err := proc.file(128, part{name: "task"}, part{number: u.tid}, part{name: "schedstat"})
	return err == nil && u.parse(text)
}

func (u *usage) parse(text []byte) bool {
	first, rest := word(text)
	_, rest = word(rest) // the time that it waited to run
	third, _ := word(rest)
	var ok, counted bool
	u.time, ok = decimal(first)
	u.turns, counted = decimal(third)
	return ok && counted && u.turns > 0 // A kernel that does not count shows 0.
}

// certain reports whether no other process can be a better waiter. Then the remaining processes only matter if they
// run: not for their waits, nor if they are blocked on their output or cannot be seen.
func (w *wait) certain() bool {
	c := w.claim(false)
	return c.confidence == Exact && c.quiet == 0
}

// inspectStopped determines whether this is a stopped process that would read.
func (p *Prober) inspectStopped(proc process, st *stat) {
	if proc.pid == p.target.Leader || st.group == p.s.group && proc.pid == p.s.group {
		p.s.stopped = true
		return
	}
	if p.best > full || !knowsCalls {
		return
	}
	in := inspection{process: proc, st: st}
	if c, ok := p.currentCall(&in, proc.pid); ok {
		blocked := p.s.blocked
		p.decode(&in, proc.pid, c)
		p.s.blocked = blocked // It is stopped, so it does not count as blocked.
	}
	p.s.stopped = p.s.stopped || in.found
}

// thread examines one thread, as closely as permissions allow.
func (p *Prober) thread(in *inspection, tid int) {
	if p.best <= full && knowsCalls {
		if c, ok := p.currentCall(in, tid); ok {
			p.decode(in, tid, c)
			return
		}
	}
	if p.best <= sleep && p.asleep(in, tid) {
		return
	}
	in.denied = true
}

// currentCall reads the system call that a thread is in. It returns false if that may not be read, or if it belongs to
// another architecture than the tables.
func (p *Prober) currentCall(in *inspection, tid int) (call, bool) {
	var text []byte
	var err error
	if tid == in.pid && in.own == in.dir {
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

// native reports whether a program has the machine's word size. It is only called if the stack lies where that of a
// 32-bit program does.
func (p *Prober) native(proc process) bool {
	text, err := proc.file(5, part{name: "exe"})
	const class, class64 = 4, 2 // EI_CLASS, ELFCLASS64
	return err != nil || len(text) <= class || text[class] == class64
}

// decode evaluates a system call.
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
		in.besides("another of its threads is blocked in " + name.name)
	case callOther:
		if c.number >= 0 {
			in.besides("another of its threads is in a system call")
		}
	case callRing:
		in.besides("another of its threads waits for something that cannot be inspected")
		in.denied = true
	case callPoll, callPpoll, callSelect, callPselect, callEpoll, callEpoll2:
		p.decodeSet(in, tid, name, c)
	}
}

func (p *Prober) decodeRead(in *inspection, tid int, name string, fd int) {
	switch kind := p.kindOf(in, fd); {
	case kind == isInput:
		timeout := p.readTimeout()
		if timeout == 0 {
			in.runs = true // It does not block.
			return
		}
		in.add(&wait{tid: tid, call: name, reading: true, timeout: timeout, seen: full})
	case kind == isOwn, kind == isPipe && p.ownPipe(in, fd):
		p.own(in, fd) // Another thread wakes it up.
	case kind == isTimer:
		in.besides("another of its threads reads a timer")
	default:
		in.besides("another of its threads reads " + kindNames[kind])
	}
}

// readTimeout returns the time after which a read of the input ends by itself.
func (p *Prober) readTimeout() time.Duration {
	if t, ok := p.target.Terminal.(timedTerminal); ok {
		if timeout, ends := t.ReadTimeout(); ends {
			return timeout
		}
	}
	return forever
}

// restarted returns the call that restart_syscall continues. A poll with a timeout that was stopped and continued still
// has its arguments.
func (p *Prober) restarted(in *inspection, tid int) callName {
	switch text := p.wchan(in, tid); {
	case bytes.Contains(text, []byte("poll")):
		return restartedPoll
	case bytes.Contains(text, []byte("nanosleep")):
		return callName{callSleep, "nanosleep"}
	case bytes.Contains(text, []byte("futex")):
		return callName{callIdle, "futex"}
	}
	return callName{}
}

func (p *Prober) wchan(in *inspection, tid int) []byte {
	text, _ := in.file(256, part{name: "task"}, part{number: tid}, part{name: "wchan"}) // An error means an empty wchan.
	return text
}

// add notes a wait of the process. If several of its threads wait for the input, the weakest wait counts, since
// something else that the process does may wake that one up. In Go programs the thread that waits for timers also waits
// for files: if these include the input, and another thread waits for nothing else, as in fzf, the process still reads.
func (in *inspection) add(w *wait) {
	w.pid, w.start, w.name = in.pid, in.st.start, in.st.comm()
	if !in.found {
		in.found, in.best = true, *w
		return
	}
	most, least := &in.best, w
	if w.better(&in.best) {
		most, least = w, &in.best
	}
	least.endless = least.endless || most.endless || most.timeout == forever && most.others == ""
	in.best = *least
}

// besides notes another thing that a thread does, which is not waiting for the input.
func (in *inspection) besides(what string) {
	if in.sleeper == "" {
		in.sleeper = what
	}
}
