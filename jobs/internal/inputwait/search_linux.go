package inputwait

import (
	"errors"

	"golang.org/x/sys/unix"
)

// A search holds the findings of one probe among a job's processes.
type search struct {
	found   bool
	best    wait
	runner  int     // pid of a running process; 0: none
	denied  suspect // a process of which only its sleep can be seen
	hidden  bool    // some processes cannot be seen at all
	blocked bool    // a process is blocked writing the job's output
	stopped bool    // a process that would read is stopped
	cut     bool    // there is more than one probe may examine
	resting bool    // the usage of all threads is noted

	unknown error // why it is unknown whether the input was consumed; nil: it is known
	group   int   // the foreground process group
}

func (s *search) reset() { *s = search{} }

// A suspect is a process that may be waiting.
type suspect struct {
	pid   int
	start uint64
	name  string
}

// A member is a process that the search has met.
type member struct {
	pid     int
	threads int
	aside   bool // not in the foreground: examined only if no foreground process waits
}

// Limits of one probe.
const (
	maxProcesses = 512
	maxThreads   = 256
	maxFiles     = 1024    // per process, to find the other end of a pipe; per epoll
	maxSources   = 1 << 17 // per poll
)

// search searches the job for a waiting process. still means that the job may be resting.
func (p *Prober) search(still bool) {
	s := &p.s
	p.seen, p.used, p.ends = p.seen[:0], p.used[:0], p.ends[:0]
	s.resting = still
	if p.target.Terminal != nil {
		var err error
		if s.group, err = p.target.Terminal.ForegroundGroup(); err != nil {
			s.group = 0
		}
		if s.group > 0 {
			p.visit(s.group, func(st *stat) bool { return st.group == s.group && st.tty == uint32(p.id.Rdev) })
		}
	}
	if p.last.pid != 0 && p.met(p.last.pid) == nil {
		p.visit(p.last.pid, func(st *stat) bool { return st.start == p.last.start })
	}
	p.walk()
	for i := 0; i < len(p.seen) && !s.found; i++ {
		if p.seen[i].aside {
			p.visitAside(p.seen[i].pid)
		}
	}
}

// visit inspects a process, and notes that it was met. If is is not nil, it must confirm that this is the process
// meant: a process that was not found through its parent may have ended, and its pid may belong to a process outside
// the job.
func (p *Prober) visit(pid int, is func(*stat) bool) {
	proc, st, ok := p.enter(pid)
	if !ok {
		return
	}
	defer proc.close()
	if is != nil && !is(&st) {
		return
	}
	m := member{pid: pid, threads: st.threads}
	if p.s.resting && !st.gone() {
		p.track(proc, &st)
	}
	switch {
	case st.gone():
	case p.target.Terminal == nil || st.group == p.s.group:
		p.inspect(proc, &st)
	default:
		// The process has left the session, and reads without job control; or it is stopped, perhaps because it wanted
		// to read. All others are in the background.
		m.aside = st.tty != uint32(p.id.Rdev) || st.stopped()
	}
	p.seen = append(p.seen, m)
}

func (p *Prober) visitAside(pid int) {
	proc, st, ok := p.enter(pid)
	if !ok {
		return
	}
	defer proc.close()
	if !st.gone() {
		p.inspect(proc, &st)
	}
}

// enter opens a process and reads its stat.
func (p *Prober) enter(pid int) (proc process, st stat, ok bool) {
	proc, err := p.r.open(pid)
	if err != nil {
		// With hidepid the process exists, but its directory is not there.
		p.s.hidden = p.s.hidden || pid == p.s.group && errors.Is(unix.Kill(pid, 0), unix.EPERM)
		return proc, st, false
	}
	text, err := proc.file(1024, part{name: "stat"})
	if err == nil {
		st, ok = parseStat(text)
	} else if isDenied(err) {
		p.s.hidden = true
	}
	switch {
	case !ok:
		proc.close()
	case st.state == 'Z' && st.threads > 1:
		st.headless = true
		proc.alive(&st)
	}
	return proc, st, ok
}

func isDenied(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
}

// walk visits the job's tree, parents before their children.
func (p *Prober) walk() {
	root := p.target.Root
	if root == 0 {
		root = p.target.Leader
		if p.met(root) == nil {
			p.visit(root, nil)
		}
	}
	var queue [64]int
	next := append(queue[:0], root)
	for at := 0; at < len(next); at++ {
		if p.r.spent() {
			p.s.cut = true
			return
		}
		threads := 1 // a keeper has more threads, but only the first one forks
		if at > 0 || p.target.Root == 0 {
			m := p.met(next[at])
			if m == nil {
				p.visit(next[at], nil)
				m = p.met(next[at])
			}
			if m == nil {
				continue
			}
			threads = m.threads
		}
		next = p.children(next, next[at], threads)
	}
}

func (p *Prober) met(pid int) *member {
	for i := range p.seen {
		if p.seen[i].pid == pid {
			return &p.seen[i]
		}
	}
	return nil
}

// threads appends the threads of a process.
func (p *Prober) threads(list []int, proc process) []int {
	list, more := proc.numbers(list, "task", maxThreads)
	p.s.cut = p.s.cut || more
	return list
}

// children appends the children of all threads: a child belongs to the thread that forked it.
func (p *Prober) children(list []int, pid, threads int) []int {
	proc, err := p.r.open(pid)
	if err != nil {
		return list
	}
	defer proc.close()
	var few [16]int
	tids := append(few[:0], pid)
	if threads > 1 {
		tids = p.threads(tids[:0], proc)
	}
	for _, tid := range tids {
		text, err := proc.file(1<<16, part{name: "task"}, part{number: tid}, part{name: "children"})
		if err != nil {
			continue
		}
		for first, rest := word(text); len(first) > 0; first, rest = word(rest) {
			kid, ok := decimal(first)
			switch {
			case !ok:
			case len(list) < maxProcesses:
				list = append(list, kid)
			default:
				p.s.cut = true
				return list
			}
		}
	}
	return list
}
