package jobs

import (
	"sync/atomic"
	"time"
)

// idlePart records how long a job has had no output and no input.
type idlePart struct {
	noPart
	j *base

	waiting interface{ lastWrite() time.Time }

	wrote atomic.Pointer[time.Time] // when the program's input last accepted data; nil: never
}

// review stores the time for readers outside a turn.
func (p *idlePart) review(time.Time) {
	if at := p.waiting.lastWrite(); !at.IsZero() {
		p.wrote.Store(&at)
	}
}

func (p *idlePart) inform(info *Info) {
	info.ActiveAt = info.StartedAt
	if at := p.wrote.Load(); at != nil {
		info.ActiveAt = latest(info.ActiveAt, *at)
	}
	for _, st := range p.j.output.streams {
		info.ActiveAt = latest(info.ActiveAt, st.base.Add(time.Duration(st.last.Load())))
	}
}

// Idle returns the time since the last output or input; ok is false once the leader has ended.
func (i Info) Idle() (idle time.Duration, ok bool) {
	return max(time.Since(i.ActiveAt), 0), i.EndedAt.IsZero()
}
