package rpc

import (
	"cmp"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

func (s *Server) serverStats(r *request) error {
	var p schema.ServerStatsParams
	if err := r.decode(&p); err != nil {
		return err
	}
	r.await(func() (any, error) { return s.stats(), nil }) // A hung disk may delay the statistics of stored output.
	return nil
}

func (s *Server) stats() schema.ServerStatsResult {
	all := s.mgr.Stats()
	known := len(all.Jobs)
	for _, j := range s.out.othersThan(all.Jobs) {
		if !s.mgr.Knows(j.ID()) { // Otherwise it is new.
			all.Add(j)
		}
	}
	limits := s.mgr.Limits()
	res := schema.ServerStatsResult{
		UptimeMs: millis(time.Since(s.began)),
		Jobs:     schema.StatsJobs{Live: int64(all.Live), Known: int64(all.Known), Max: int64(limits.MaxJobs)},
		Spool: schema.StatsSpool{
			MemoryBytes: all.Memory, DiskBytes: all.Disk, DiskMaxBytes: limits.SpoolTotal, DroppedBytes: all.Dropped,
		},
		Process:    processStats(),
		Connection: schema.StatsConnection{RequestsMax: maxInFlight},
	}
	s.mu.Lock()
	res.Connection.RequestsInFlight = int64(len(s.inFlight))
	s.mu.Unlock()
	s.out.mu.Lock()
	c := &res.Connection
	c.QueuedMessages, c.QueuedBytes, c.JobsToSend = int64(len(s.out.control)), int64(s.out.bytes), int64(len(s.out.ready))
	for i, j := range all.Jobs {
		w, more := s.jobStatsLocked(&j)
		if i >= known {
			w.Name = nil // The name may belong to another job by now.
		}
		if more || j.Status != jobs.StatusClosed {
			res.PerJob = append(res.PerJob, w)
		}
	}
	s.out.mu.Unlock()
	slices.SortFunc(res.PerJob, func(a, b schema.JobStats) int { return cmp.Compare(a.Handle, b.Handle) })
	return res
}

// jobStatsLocked returns the statistics of one job, and whether some of its output or events are still to be sent. The
// caller must hold out.mu.
func (s *Server) jobStatsLocked(j *jobs.JobStats) (w schema.JobStats, more bool) {
	w = schema.JobStats{
		Handle: int64(j.Job.ID()), Name: optional(j.Job.Name()), Status: schema.Status(j.Status),
		InputQueueBytes: j.Input, Streams: schema.Map[schema.StreamStats]{},
	}
	l := j.Job.Sink().(*feed).laneOf(s.out)
	heard := l != nil && l.open
	if heard {
		w.QueuedEvents = int64(len(l.queue) + len(l.held))
		more = w.QueuedEvents > 0
	}
	for _, st := range j.Streams {
		ws := schema.StreamStats{NextOffset: st.End, MemoryBytes: st.Memory, DroppedBytes: st.Dropped, Held: optional(st.Held)}
		if heard && l.want.events[schema.EventNameOutput] {
			if f := l.flowLocked(st.Name); f != nil {
				sent, lag := f.sent, max(st.End-f.sent, 0)
				ws.SentOffset, ws.LagBytes = &sent, &lag
				more = more || lag > 0
				if s.out.acks.Load() {
					unacked := f.unacked()
					ws.UnackedBytes = &unacked
				}
			}
		}
		w.Streams[string(st.Name)] = ws
	}
	return w, more
}

// processStats returns the runtime's statistics of the process; it does not stop any goroutine.
func processStats() schema.StatsProcess {
	all := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
	}
	metrics.Read(all)
	of := func(i int) int64 { return int64(all[i].Value.Uint64()) }
	return schema.StatsProcess{MemoryBytes: of(0) - of(1), HeapBytes: of(2), Goroutines: int64(runtime.NumGoroutine())}
}
