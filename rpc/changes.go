package rpc

import (
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// stateChanged returns the notification for a change.
func stateChanged(c *jobs.Changed, handle, seq int64, n *int64) schema.JobStateChangedParams {
	p := schema.JobStateChangedParams{Handle: handle, Seq: seq, N: n}
	has := func(w jobs.Change, name schema.Change) bool {
		if c.What&w == 0 {
			return false
		}
		p.Changed = append(p.Changed, name)
		return true
	}
	if has(jobs.ChangeStatus, schema.ChangeStatus) {
		status := schema.Status(c.Status)
		p.Status, p.Signal = &status, optional(c.Signal)
	}
	if has(jobs.ChangeTitle, schema.ChangeTitle) {
		p.Title = &c.Title
	}
	if has(jobs.ChangeDirectory, schema.ChangeCwd) {
		p.Cwd = &c.Directory
	}
	if has(jobs.ChangeBell, schema.ChangeBell) {
		p.Bell = &c.Bells
	}
	if has(jobs.ChangeSize, schema.ChangeSize) {
		p.Size = &schema.Size{Cols: int64(c.Cols), Rows: int64(c.Rows)}
	}
	if has(jobs.ChangeForeground, schema.ChangeForeground) {
		p.Foreground = schema.NullOf[schema.Process]()
		if f := process(c.Foreground); f != nil {
			p.Foreground = schema.ValueOf(*f)
		}
	}
	if has(jobs.ChangeOutputFile, schema.ChangeOutputFile) {
		p.OutputFileError = &schema.OutputFileError{Path: c.OutputFile.Path, Reason: c.OutputFile.Reason}
	}
	if has(jobs.ChangeIntegration, schema.ChangeShellIntegration) {
		p.ShellIntegration = schema.NullOf[string]()
		if c.Integration != "" {
			p.ShellIntegration = schema.ValueOf(c.Integration)
		}
	}
	return p
}

func process(p *jobs.Process) *schema.Process {
	if p == nil {
		return nil
	}
	return &schema.Process{PID: int64(p.PID), Command: p.Command}
}

// merged reports whether a change was merged into the last queued event. So if a job's title changes a million times
// while the client does not read, the client gets one event. An event whose turn has come is not changed: its output is
// being sent, and it must not be postponed for ever.
//
// Changes of the screen are merged, too: the last one says everything. Another change then goes in front of a queued
// screen change. Otherwise alternating changes of both sorts would never merge.
func (l *lane) merged(e laneEvent) bool {
	first := 0
	if l.turn {
		first = 1
	}
	last := len(l.queue) - 1
	if last < first {
		return false
	}
	if e.Screen != nil && l.queue[last].Screen != nil {
		l.queue[last].Event = e.Event
		return true
	}
	if e.Changed != nil && l.queue[last].Screen != nil && last > first {
		last--
	}
	if e.Changed == nil || l.queue[last].Changed == nil {
		return false
	}
	l.queue[last].Join(e.Event)
	l.queue[last].n = e.n
	return true
}
