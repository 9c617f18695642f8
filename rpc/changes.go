package rpc

import (
	"shelld/jobs"
	"shelld/schema"
)

// stateChanged is a change as its notification.
func stateChanged(c *jobs.Changed, handle, seq int64) schema.JobStateChangedParams {
	p := schema.JobStateChangedParams{Handle: handle, Seq: seq}
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

// merged says whether a change went into the one that waits last, so that of a job
// whose title changes a million times a client that does not read is owed one event.
// One whose turn has come is left alone: its output is on its way, and must not be
// moved on for ever.
//
// The same holds of a screen: the last change tells it all. What else has changed then goes
// in front of it, or the two would keep each other apart.
func (l *lane) merged(e jobs.Event) bool {
	first := 0
	if l.turn {
		first = 1
	}
	last := len(l.queue) - 1
	if last < first {
		return false
	}
	if e.Screen != nil && l.queue[last].Screen != nil {
		l.queue[last].Event = e
		return true
	}
	if e.Changed != nil && l.queue[last].Screen != nil && last > first {
		last--
	}
	if e.Changed == nil || l.queue[last].Changed == nil {
		return false
	}
	l.queue[last].Join(e)
	return true
}
