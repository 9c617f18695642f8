package jobs

// Stats say what a Manager's jobs take, in bytes where nothing else is said.
type Stats struct {
	Live, Known int   // jobs
	Memory      int64 // of all stored output
	Disk        int64 // in all output files
	Dropped     int64 // that came from these jobs and can't be read any more
	Jobs        []JobStats
}

// JobStats are those of one job that has started.
type JobStats struct {
	Job     *Job
	Status  Status // as of its last change
	Input   int64  // that the kernel has not taken yet
	Streams []StreamStats
}

// StreamStats are those of one stream.
type StreamStats struct {
	Name    Stream
	End     int64 // that have come
	Memory  int64
	Dropped int64
	Held    bool // the program's writes wait for who takes its output
}

// Stats looks at every job that is known, oldest first. It waits for no job's loop, and may
// have to for whoever reads stored output from a disk that hangs.
func (m *Manager) Stats() (s Stats) {
	all := m.All()
	m.registry.mu.Lock()
	s.Live, s.Known = m.registry.live, len(m.registry.jobs)
	m.registry.mu.Unlock()
	if m.settings.archive != nil {
		s.Disk = m.settings.archive.total.Used()
	}
	for _, j := range all {
		s.Add(j)
	}
	return s
}

// Add looks at one more job, which may be one that the Manager has forgotten.
func (s *Stats) Add(j *Job) {
	p := j.public.Load()
	if p == nil {
		return // it has no output yet
	}
	js := JobStats{Job: j, Status: p.Status, Input: j.input.queue.bytes.Load()}
	for _, st := range j.output.streams {
		u := st.spool.Usage()
		js.Streams = append(js.Streams, StreamStats{Name: st.name, End: st.spool.End(), Memory: u.Memory, Dropped: u.Dropped, Held: st.isHeld.Load()})
		s.Memory += u.Memory
		s.Dropped += u.Dropped
	}
	s.Jobs = append(s.Jobs, js)
}
