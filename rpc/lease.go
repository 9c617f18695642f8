package rpc

import (
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// setLease adds the lease of a job to its info. The jobs of a server without sessions have none.
func setLease(w *schema.JobInfo, i *jobs.Info) {
	if !i.EndsAt.IsZero() {
		w.EndsAt = new(timestamp(i.EndsAt))
	}
	l := i.Lease
	if l == (jobs.Lease{}) {
		return
	}
	w.StartedBy, w.OnDetach = optional(l.Owner), new(schema.OnDetachKeep)
	if !l.Keep {
		w.OnDetach, w.DetachGraceMs = new(schema.OnDetachEnd), new(millis(l.Grace))
	}
}
