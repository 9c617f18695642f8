package inputwait

import (
	"bytes"
	"slices"
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
	timed   bool   // one of them waits until a time has gone by
	runs    bool
	denied  bool
}

// inspect looks at a process that may read.
func (p *Prober) inspect(proc process, st *stat) {
	s := &p.s
	p.files.pid = 0
	if st.stopped() {
		p.inspectStopped(proc, st)
		return
	}
	if s.found && s.best.certain() {
		if st.runs() || st.threads > 1 && p.threadRuns(proc) { // Nobody waits better: what is left to know is who runs.
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

// scan looks at the threads of a process. What one waits for is read in several steps: where it
// has woken up between two, the memory that was read may have been used for something else.
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
			in.found, in.runs = false, true // It may wait for anything.
		}
	case len(tids) > 1 && !in.runs:
		in.runs = p.moved(in, tids)
	}
}

// threadRuns says whether one of a process's threads runs.
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

// moved says whether a process of several threads has done anything while they were looked
// at, one after the other: one that works may have ended that, and woken the one that was
// seen to wait, before its turn came. So they are looked at once more, and the one that
// waits must have slept all that time. Measured with npm init, where the threads of node's
// pool read files: one in some hundred answers went to a question that was yet to come.
func (p *Prober) moved(in *inspection, tids []int) bool {
	waits := in.best
	before, ok := turns(in.process, waits.tid)
	again := inspection{process: in.process, st: in.st}
	p.thread(&again, waits.tid)
	if !again.found || again.best.call != waits.call {
		return true
	}
	in.best = again.best // The first time it may have woken up meanwhile.
	in.best.endless = waits.endless
	for _, tid := range tids {
		if p.s.cut = p.s.cut || p.r.spent(); p.s.cut {
			break // Then it is not exact whatever they do.
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

// turns is how often a thread was given a processor. ok is false where the kernel does not
// count that.
func turns(proc process, tid int) (n int, ok bool) {
	u := usage{tid: tid}
	ok = u.read(proc)
	return u.turns, ok
}

// read tells how long a thread has run and how often it was given a processor. It returns
// false where the kernel does not count that.
func (u *usage) read(proc process) bool {
	text, err := proc.file(128, part{name: "task"}, part{number: u.tid}, part{name: "schedstat"})
	return err == nil && u.parse(text)
}

func (u *usage) parse(text []byte) bool {
	first, rest := word(text)
	_, rest = word(rest) // that it waited to run
	third, _ := word(rest)
	var ok, counted bool
	u.time, ok = decimal(first)
	u.turns, counted = decimal(third)
	return ok && counted && u.turns > 0 // A kernel that does not count says 0.
}

// certain says that nobody else waits better. Then it only counts who runs of the processes
// that are looked at later: not what they wait for, nor whether they are blocked on their
// output or show nothing.
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
	if c, ok := p.currentCall(&in, proc.pid); ok {
		blocked := p.s.blocked
		p.decode(&in, proc.pid, c)
		p.s.blocked = blocked // It is stopped, whatever it was in.
	}
	p.s.stopped = p.s.stopped || in.found
}

// thread looks at one thread, as closely as it may.
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

// currentCall reads the system call that a thread is in. It returns false where that may not
// be read, or is of another architecture than the tables.
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
		in.besides("another of its threads is blocked in " + name.name)
	case callOther:
		if c.number >= 0 {
			in.besides("another of its threads is in a system call")
		}
	case callRing:
		in.besides("another of its threads waits for what cannot be seen")
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

// readTimeout is in what time a read of the input ends by itself.
func (p *Prober) readTimeout() time.Duration {
	if t, ok := p.target.Terminal.(timedTerminal); ok {
		if timeout, ends := t.ReadTimeout(); ends {
			return timeout
		}
	}
	return forever
}

// restarted tells what restart_syscall goes on with: a poll with a timeout that was
// stopped and continued still has its arguments.
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
	text, _ := in.file(256, part{name: "task"}, part{number: tid}, part{name: "wchan"}) // Nothing says nothing.
	return text
}

// add notes a wait of the process. Where several of its threads wait for the input, the one
// that tells least tells what may be said: what wakes it up is something else that the
// process does. In programs of Go the one that waits for their timers waits for their files
// as well: if it is for the input, and another does nothing else, as in fzf, it still reads.
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

// besides notes what a thread does that does not wait for the input.
func (in *inspection) besides(what string) {
	if in.sleeper == "" {
		in.sleeper = what
	}
}
