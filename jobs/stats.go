package jobs

// Stats describe the resources that a Manager's jobs use. Figures are in bytes if no other unit is given.
type Stats struct {
	Live, Known int   // jobs
	Memory      int64 // of all stored output
	Disk        int64 // in all output files
	Dropped     int64 // output of these jobs that can no longer be read
	Jobs        []JobStats
}

// JobStats are the Stats of one job that has started.
type JobStats struct {
	Job     *Job
	Status  Status // as of its last change
	Input   int64  // accepted input that the kernel has not taken yet
	Streams []StreamStats
}

// StreamStats are the Stats of one stream.
type StreamStats struct {
	Name    Stream
	End     int64 // output so far
	Memory  int64
	Dropped int64
	Held    bool // the program's writes wait for a consumer of its output (hold.go)
}

// Stats returns figures for every known job, oldest first. It does not wait for job loops. It may wait for a read of
// stored output if the disk stalls.
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

// Add adds the figures of one more job, which the Manager may have forgotten.
func (s *Stats) Add(j *Job) {
	p := j.public.Load()
	if p == nil {
		return // the job has no output yet
	}
	js := JobStats{Job: j, Status: p.Status, Input: j.queued.Load()}
	for _, st := range j.output.streams {
		u := st.spool.Usage()
		js.Streams = append(js.Streams, StreamStats{Name: st.name, End: st.spool.End(), Memory: u.Memory, Dropped: u.Dropped, Held: st.isHeld.Load()})
		s.Memory += u.Memory
		s.Dropped += u.Dropped
	}
	s.Jobs = append(s.Jobs, js)
}
