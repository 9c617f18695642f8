package inputwait

import (
	"bytes"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// asleep examines a thread whose system call may not be read: where it sleeps, and the descriptors of its process. It
// returns false if those may not be read either.
func (p *Prober) asleep(in *inspection, tid int) bool {
	fds, more := in.numbers(nil, "fd", maxFiles)
	if len(fds) == 0 && !in.mayList() {
		return false
	}
	p.s.cut = p.s.cut || more
	where := p.wchan(in, tid)
	is := func(name string) bool { return bytes.Contains(where, []byte(name)) }
	switch {
	case len(where) == 0 || string(where) == "0":
		in.runs = true
	case is("nanosleep"):
		in.besides("another of its threads sleeps")
	case is("epoll_wait") || is("ep_poll"):
		p.asleepInEpoll(in, tid, fds)
	case is("poll_schedule") || is("do_select") || is("do_poll") || is("do_sys_poll"):
		if readable, _ := p.inputAmong(in, fds); readable {
			w := wait{tid: tid, call: "poll", timeout: unknownTimeout, seen: sleep}
			if p.mayWaitForOthers(in, fds) {
				w.others = "perhaps on other things"
			}
			in.add(&w)
		}
	case is("wait_woken") && p.target.Terminal != nil, is("pipe_") && p.target.Terminal == nil:
		if readable, ambiguous := p.inputAmong(in, fds); readable {
			in.add(&wait{tid: tid, call: "read", reading: true, timeout: p.readTimeout(), seen: sleep, ambiguous: ambiguous})
		}
	}
	return true
}

// mayList reports whether the process's descriptors may be listed.
func (in *inspection) mayList() bool {
	fd, err := in.r.openat(in.own, in.r.join([]part{{name: "fd"}}), unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}

// asleepInEpoll examines all epolls of the process, because it cannot be seen in which of them the thread sleeps.
func (p *Prober) asleepInEpoll(in *inspection, tid int, fds []int) {
	for _, fd := range fds {
		if p.kindOf(in, fd) != isEpoll {
			continue
		}
		set := sources{}
		p.epollSet(in, &set, fd, 0)
		switch {
		case set.input:
			w := wait{tid: tid, call: "epoll_wait", timeout: set.timeout(unknownTimeout), seen: sleep}
			if set.other != "" {
				w.others = "on " + set.other
			}
			in.add(&w)
		case set.other != "":
			in.besides("another of its threads waits for " + set.other)
		}
	}
}

// inputAmong reports whether the process can read the input, and whether it may be reading something else instead.
func (p *Prober) inputAmong(in *inspection, fds []int) (readable, ambiguous bool) {
	for _, fd := range fds {
		switch p.kindOf(in, fd) {
		case isInput:
			if reads, _ := in.access(fd); reads {
				readable = true
			}
		case isSocket:
			ambiguous = true
		case isPipe:
			if reads, _ := in.access(fd); reads && p.target.Terminal == nil {
				ambiguous = true
			}
		}
	}
	return readable, ambiguous
}

// mayWaitForOthers reports whether the process has another descriptor open that a program would poll, since it cannot
// be seen which ones it does poll. Regular files do not count: they are always ready. A process that watches files may
// poll the terminal only for errors, as tail does.
func (p *Prober) mayWaitForOthers(in *inspection, fds []int) bool {
	for _, fd := range fds {
		switch kind := p.kindOf(in, fd); {
		case kind == isPidfd, kind == isEpoll, kind == isWatch:
			return true
		case kind == isSocket && !p.ownSocket(in, fd), kind == isPipe && !p.ownPipe(in, fd):
			return true
		}
	}
	return false
}

// A sample is a counter of a process at one time.
type sample struct {
	pid, tid int
	start    uint64
	count    int
	at       time.Time
}

// The minimum times between two samples, for a comparison.
const (
	cpuApart      = 100 * time.Millisecond
	switchesApart = 10 * time.Millisecond
	maxBurnt      = 50 // one part in this many
)

// busy returns how long to wait until a thread is known to have used no more than 2 % of a processor's time since the
// last output or input. 0: it is known.
func (p *Prober) busy(w *wait, quiet time.Duration) time.Duration {
	proc, err := p.r.open(w.pid)
	if err != nil {
		return soon
	}
	defer proc.close()
	text, err := proc.file(128, part{name: "task"}, part{number: w.tid}, part{name: "schedstat"})
	if err != nil {
		return 0 // The kernel does not count it: quiet has to be enough.
	}
	first, _ := word(text)
	count, _ := decimal(first)
	// An iteration of its loop must lie between the samples, or nothing of it is measured.
	apart := max(cpuApart, w.timeout+quietAfter)
	now := sample{pid: w.pid, tid: w.tid, count: count, at: time.Now()}
	age := now.at.Sub(p.burnt.at)
	switch {
	case p.burnt.pid != now.pid || p.burnt.tid != now.tid || age > quiet || now.count < p.burnt.count:
		p.burnt = now
		return apart
	case age < apart:
		return apart - age
	case time.Duration(now.count-p.burnt.count) > age/maxBurnt:
		p.burnt = now
		return later
	}
	if age > time.Second {
		p.burnt = now
	}
	return 0
}

// weighAlive evaluates a process of which only its sleep can be seen, such as one that runs as another user. It must
// not have woken up between two probes; then the terminal's modes decide.
func (p *Prober) weighAlive(v *Verdict, quiet time.Duration) {
	d := &p.s.denied
	kind, _ := p.target.kind()
	need, confidence := quietGuess, Guess
	if kind == Password { // Programs like sudo set terminals to raw mode, and then wait for the program that they run.
		need, confidence = switchesApart, Likely
	}
	missing := need - quiet
	if wait := p.stirs(d, quiet); wait > missing {
		missing = wait
	}
	if p.s.runner != 0 {
		missing = max(missing, quietRunning-quiet)
	}
	if missing > 0 {
		v.Again, v.Why = max(missing, soon), "it has not slept for long enough, as far as is known"
		return
	}
	v.Waiting, v.State, v.Kind, v.Confidence, v.PID = true, Reading, kind, confidence, d.pid
	v.Why = fmt.Sprintf("%s (pid %d) sleeps in the terminal's foreground; the server may not see what it waits for", d.name, d.pid)
	if p.target.Terminal == nil {
		v.Why = fmt.Sprintf("%s (pid %d) sleeps; the server may not see what it waits for", d.name, d.pid)
	}
}

// stirs returns how long to wait until a process is known not to have woken up.
func (p *Prober) stirs(d *suspect, quiet time.Duration) time.Duration {
	proc, err := p.r.open(d.pid)
	if err != nil {
		return soon
	}
	defer proc.close()
	text, err := proc.file(4096, part{name: "status"})
	count, ok := statusNumber(text, "voluntary_ctxt_switches:")
	if err != nil || !ok {
		return quietGuess - quiet
	}
	now := sample{pid: d.pid, start: d.start, count: count, at: time.Now()}
	age := now.at.Sub(p.awoken.at)
	if p.awoken.pid != now.pid || p.awoken.start != now.start || p.awoken.count != now.count {
		p.awoken = now
		return switchesApart
	}
	return max(switchesApart-age, 0)
}
