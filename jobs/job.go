package jobs

import (
	"time"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/turn"
)

// A Job is one started command and every process that it starts. Its actor takes turns. The goroutine that holds the
// turn owns the parts, st and info. The documentation of the package lists the goroutines of a job.
type Job struct {
	base

	manager *Manager
	listed  listing // guarded by the registry's mu

	actor    actor
	starting starting

	// The parts, each of which owns its state (parts.go):
	changes changesPart
	shell   shellPart
	limits  limitsPart
	waiting waitingPart
	ending  endingPart
	display displayPart
	input   inputPart
	waits   waitsPart
	reads   readsPart
	runs    runsPart
	kills   killsPart
	files   filesPart
	asking  askingPart
	idle    idlePart
}

// A watch is the object of a follower key: a client's pattern, or a condition of a wait.
type watch struct {
	id   int // the client's watchId; 0 for a condition
	spec WatchSpec
	wait *wait
	cond int
	room *patternRoom // of a client's watch

	typed *typedInput // the input of which the echo does not match; nil = none
}

func newJob(m *Manager, id ID, spec Spec) *Job {
	j := &Job{base: base{
		id: id, spec: spec, mgr: &m.services, sink: spec.Sink, log: m.log, epoch: time.Now(),
		vacant: make(chan struct{}),
		ended:  make(chan struct{}),
		done:   make(chan struct{}),
		mail:   turn.NewMailbox[message](),
		lock:   turn.NewLock(),
	}}
	j.manager, j.self = m, j
	j.newParts()
	j.actor = actor{j: j, timer: time.NewTimer(time.Hour)}
	j.turns = &j.actor
	j.output = outputs{j: &j.base, grew: make(chan struct{}, 1), ends: make(chan streamEnd), unread: map[Stream]int64{}, tape: &j.files}
	j.starting = starting{j: j}
	if j.sink == nil {
		j.sink = nullSink{}
	}
	j.output.budget.max = spec.Limits.OutputBytes
	j.display.queries.others = spec.SinkAnswers
	j.st.status = StatusStarting
	return j
}

func (o *outputs) stream(name Stream) *stream {
	for _, st := range o.streams {
		if st.name == name {
			return st
		}
	}
	return nil
}

// compile compiles a watch's pattern. It returns a *Error if the pattern is not valid.
func (w *WatchSpec) compile() *Error {
	p, err := match.Compile(w.Pattern, w.Flags)
	if err == nil {
		w.compiled = p
		return nil
	}
	se, ok := err.(*match.SyntaxError)
	if !ok { // the error is in the flags
		return Invalid(w.sibling("flags"), "%v", err)
	}
	e := errorf(CodeInvalidPattern, "the pattern is no ECMAScript regular expression: %s", se.Message)
	e.Pattern, e.Pointer, e.Position = w.Pattern, w.Pointer, &se.Pos
	return e
}

func (w *WaitSpec) compile() *Error {
	if w == nil {
		return nil
	}
	for i := range w.Until {
		if c := &w.Until[i]; c.Kind == UntilPattern {
			if err := c.Watch.compile(); err != nil {
				return err
			}
		}
	}
	return nil
}
