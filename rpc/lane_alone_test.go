package rpc

import "shelld.dev/shelld/jobs"

// A lane can be a job's Sink by itself, in tests.

func (l *lane) Started(j *jobs.Job, info jobs.Info) {
	newFeed(nil, l, attendee{}).of(j)
	l.start(j, info, 0)
}

func (l *lane) Event(e jobs.Event) {
	switch {
	case e.Secret != nil:
		l.secret(e)
	case l.closed == nil:
		l.event(laneEvent{Event: e})
	}
}

// openAlone opens a lane that has no job. The caller must hold out.mu.
func (l *lane) openAlone() {
	newFeed(nil, l, attendee{})
	l.openLocked(nil, jobs.Info{State: jobs.State{Handle: 1}}, nil)
}
