package rpc

import (
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// setLimits sets the limits of a job in its spec.
func setLimits(spec *jobs.Spec, p *schema.JobStartParams) {
	spec.KillAfter = milliseconds(p.KillAfterMs, 0)
	l := or(p.Limits, schema.JobLimits{})
	spec.Limits = jobs.JobLimits{
		Processes: or(l.Processes, 0), MemoryBytes: or(l.MemoryBytes, 0), CPUMs: or(l.CpuMs, 0),
		OpenFiles: or(l.OpenFiles, 0), OutputBytes: or(l.OutputBytes, 0),
	}
}

// limitInfo returns the limits of a job; nil: it has none.
func limitInfo(all []jobs.LimitInfo) map[string]schema.LimitInfo {
	if len(all) == 0 {
		return nil
	}
	w := map[string]schema.LimitInfo{}
	for _, l := range all {
		w[string(l.Name)] = schema.LimitInfo{Max: l.Max, By: schema.LimitBy(l.By), Per: schema.LimitPer(l.Per)}
	}
	return w
}

// limitSupport returns the limits that a manager can impose on a job.
func limitSupport(m *jobs.Manager) map[string]schema.LimitSupport {
	w := map[string]schema.LimitSupport{}
	for _, k := range m.LimitKinds() {
		w[string(k.Name)] = schema.LimitSupport{By: schema.LimitBy(k.By), Per: schema.LimitPer(k.Per), Ends: k.Ends, Why: optional(k.Why)}
	}
	return w
}

// ptyData returns the data of the error. It has the number of terminals if that was the reason.
func ptyData(e *jobs.Error, k string) schema.PtyUnavailableData {
	d := schema.PtyUnavailableData{Kind: k, Reason: optional(e.Errno), Retryable: optional(e.Retryable)}
	if e.Max > 0 {
		d.InUse, d.Max = &e.Length, &e.Max
	}
	return d
}
