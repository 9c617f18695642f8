package inputwait

// Limited is New for a machine that shows no more than this tier.
func Limited(t Target, best int) *Prober {
	p := New(t)
	p.best = tier(best)
	return p
}

// Rests returns the number of probes that rely on the last search.
func Rests(p *Prober) int { return p.rest.looks }

// WaitedLast sets the last waiter to a process with this pid and another start time.
func WaitedLast(p *Prober, pid int) { p.last = suspect{pid: pid, start: 1} }

// Old makes p behave as on a kernel before 4.11.
func Old(p *Prober) { p.r.old = true }

// Work returns the work of the last probe, in system calls.
func Work(p *Prober) int { return p.r.work }
