package inputwait

// Limited is New for a machine on which no more can be seen than in this tier.
func Limited(t Target, best int) *Prober {
	p := New(t)
	p.best = tier(best)
	return p
}

// Rests is how many looks rely on the last search.
func Rests(p *Prober) int { return p.rest.looks }

// WaitedLast makes a process with this pid, that was started at another time, the one that
// waited when somebody did last.
func WaitedLast(p *Prober, pid int) { p.last = suspect{pid: pid, start: 1} }

// Old makes it one on a kernel before 4.11.
func Old(p *Prober) { p.r.old = true }

// Work is what the last look has done, in system calls.
func Work(p *Prober) int { return p.r.work }
