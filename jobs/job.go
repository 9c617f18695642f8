package jobs

import (
	"shelld/jobs/internal/match"
)

// A Job is one started command and every process that it starts. Its actor takes turns. The goroutine that holds the
// turn owns the parts, st and info. The documentation of the package lists the goroutines of a job.
type Job struct {
	base

	receiver Sink    // of all events; the sink of the base is the same
	listed   listing // guarded by the registry's mu
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

// A SubscribeFunc changes which events and output a job's Sink, or a consumer behind it, receives from now on. It is
// called in a turn of the job, between the events before the change and those after it. Like the Sink it must not
// block, and must not call back into the job. info is the job's info at that moment. from holds the offset at which the
// output of each stream begins, and is nil if the request left that open. It returns whether the consumer answers the
// queries that the job's programs send to their terminal in the output after info. Its error refuses the request.
type SubscribeFunc func(info Info, from map[Stream]int64) (answers bool, err error)

// Sink returns the receiver of the job's events, as given in its Spec.
func (j *Job) Sink() Sink { return j.receiver }
