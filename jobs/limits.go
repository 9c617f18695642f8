package jobs

import (
	"sync/atomic"
	"time"

	"shelld/jobs/internal/keeper"
)

// A LimitName names a limit of a job.
type LimitName string

const (
	LimitProcesses   LimitName = "processes"
	LimitMemoryBytes LimitName = "memoryBytes"
	LimitCPUMs       LimitName = "cpuMs"
	LimitOpenFiles   LimitName = "openFiles"
	LimitOutputBytes LimitName = "outputBytes"
)

// JobLimits are the limits of a job. Zero means no limit.
type JobLimits struct {
	Processes   int64 // alive at the same time
	MemoryBytes int64
	CPUMs       int64
	OpenFiles   int64
	OutputBytes int64 // of all streams together
}

// A LimitKind describes how this system enforces a limit.
type LimitKind struct {
	Name LimitName
	By   string // server or rlimit
	Per  string // process or job
	Ends bool   // a job that exceeds the limit is ended; else the program is refused more
	Why  string // a description of its accuracy, for people
}

// A LimitInfo is a limit in effect.
type LimitInfo struct {
	LimitKind
	Max int64
}

// limitKinds lists all limits, each with the field that holds it.
var limitKinds = []struct {
	LimitKind
	of func(*JobLimits) *int64
}{
	{LimitKind{LimitProcesses, "server", "job", true,
		"the keeper counts several times a second, because the system's own limit is per user; shorter-lived processes are not counted"},
		func(l *JobLimits) *int64 { return &l.Processes }},
	{LimitKind{LimitMemoryBytes, "rlimit", "process", false,
		"RLIMIT_DATA: private memory that the process may write to; shared memory is not counted"},
		func(l *JobLimits) *int64 { return &l.MemoryBytes }},
	{LimitKind{LimitCPUMs, "rlimit", "process", true,
		"RLIMIT_CPU: whole seconds, rounded up; SIGXCPU, and SIGKILL a second later. It ends the process; if that is the leader, it ends the job"},
		func(l *JobLimits) *int64 { return &l.CPUMs }},
	{LimitKind{LimitOpenFiles, "rlimit", "process", false,
		"RLIMIT_NOFILE: no descriptor has this number or a higher one"},
		func(l *JobLimits) *int64 { return &l.OpenFiles }},
	{LimitKind{LimitOutputBytes, "server", "job", true,
		"exact: output beyond it is discarded"},
		func(l *JobLimits) *int64 { return &l.OutputBytes }},
}

// limitsPart ends a job that exceeds a limit or its lifetime.
type limitsPart struct {
	noPart
	j *Job

	budget        budget    // its limit of output
	killAt        time.Time // when it is ended; zero: never, or already done
	wroteTooMuch  bool      // so it is being ended
	manyProcesses bool      // so it is being ended
}

// LimitKinds returns the limits that the manager can enforce.
func (m *Manager) LimitKinds() (all []LimitKind) {
	for _, k := range limitKinds {
		if m.system.platform.limits() || k.Name == LimitOutputBytes {
			all = append(all, k.LimitKind)
		}
	}
	return all
}

// limits reports whether other limits than that of output are enforced, which needs a keeper.
func (p *PlatformInfo) limits() bool { return p.Tree == treeKeeper }

// checkLimits refuses limits that cannot be enforced.
func (s *Spec) checkLimits(p *PlatformInfo) *Error {
	for _, k := range limitKinds {
		if *k.of(&s.Limits) > 0 && !p.limits() && k.Name != LimitOutputBytes {
			e := errorf(CodeUnsupported, "limit %s is not supported on this system; capabilities.limits lists the supported ones", k.Name)
			e.Name, e.Pointer = string(k.Name), "/limits/"+string(k.Name)
			return e
		}
	}
	return nil
}

// maxLimitMs keeps a number of milliseconds within a time.Duration; 73 years.
const maxLimitMs = int64(1) << 41

// kept returns the limits that the keeper enforces.
func (l JobLimits) kept() keeper.Limits {
	return keeper.Fit(keeper.Limits{
		OpenFiles: l.OpenFiles, Memory: l.MemoryBytes, Processes: l.Processes,
		CPU: time.Duration(min(l.CPUMs, maxLimitMs)) * time.Millisecond,
	})
}

// inEffect returns the limits in effect, by name.
func (l JobLimits) inEffect() (all []LimitInfo) {
	k := l.kept()
	l.OpenFiles, l.MemoryBytes, l.CPUMs = k.OpenFiles, k.Memory, k.CPU.Milliseconds()
	for _, kind := range limitKinds {
		if n := *kind.of(&l); n > 0 {
			all = append(all, LimitInfo{kind.LimitKind, n})
		}
	}
	return all
}

// A budget is a job's limit of output. The job's readLoops take from it.
type budget struct {
	max  int64 // 0: no limit
	used atomic.Int64
}

// take returns how many of n bytes may be kept. Those are the first of them.
func (b *budget) take(n int) int {
	if b.max == 0 {
		return n
	}
	over := b.used.Add(int64(n)) - b.max
	return n - int(min(max(over, 0), int64(n)))
}

func (b *budget) isOver() bool { return b.max > 0 && b.used.Load() > b.max }

// lifetime returns how long the job may live. 0 means no limit.
func (p *limitsPart) lifetime() time.Duration {
	own, all := p.j.spec.KillAfter, p.j.mgr.settings.limits.JobTimeout
	if own == 0 || all > 0 && all < own {
		return all
	}
	return own
}

// begin sets the limits of a job that runs, including its lifetime.
func (p *limitsPart) begin() {
	if life := p.lifetime(); life > 0 {
		p.j.info.KillAfter, p.killAt = life, p.j.info.StartedAt.Add(life)
	}
	p.j.info.Limits = p.j.spec.Limits.inEffect()
}

// review ends a job that has exceeded its lifetime or its limit of output. It acts on each only once: the server may
// not be permitted to signal the processes that survive.
func (p *limitsPart) review(now time.Time) {
	if !p.killAt.IsZero() && !now.Before(p.killAt) {
		p.killAt = time.Time{}
		p.j.ending.end(ReasonTimeout, KillOptions{Grace: p.j.mgr.settings.limits.ShutdownGrace})
	}
	if !p.wroteTooMuch && p.budget.isOver() {
		p.wroteTooMuch = true
		p.endBeyond(LimitOutputBytes, p.j.mgr.settings.limits.ShutdownGrace)
	}
}

// onLimited handles the keeper's report that the job has too many processes. A second report says that their number
// does not fall: then waiting is useless.
func (p *limitsPart) onLimited() {
	grace := p.j.mgr.settings.limits.ShutdownGrace
	if p.manyProcesses {
		grace = 0
	}
	p.manyProcesses = true
	p.endBeyond(LimitProcesses, grace)
}

// endBeyond ends a job because of a limit.
func (p *limitsPart) endBeyond(limit LimitName, grace time.Duration) {
	p.j.st.intendLimit(limit)
	p.j.ending.end(ReasonLimit, KillOptions{Grace: grace})
}

// intendLimit does the same as intend for a limit.
func (s *state) intendLimit(limit LimitName) {
	if s.undecided() {
		s.limit = limit
		s.intend(ReasonLimit, false)
	}
}

// tellOutput changes the reason of a leader that ended by itself to the limit, if the job has written more than may be
// kept. So output is never cut silently, no matter which came first.
func (p *limitsPart) tellOutput() {
	if e := *p.j.st.exit; p.budget.isOver() && (e.Reason == ReasonExited || e.Reason == ReasonSignaled) {
		e.Reason, e.Limit = ReasonLimit, LimitOutputBytes
		p.j.st.exit = &e
	}
}

func (p *limitsPart) due(time.Time) time.Time { return p.killAt }
