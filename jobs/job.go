package jobs

// A Job is one started command and every process that it starts. Its actor takes turns. The goroutine that holds the
// turn owns the parts, st and info. The documentation of the package lists the goroutines of a job.
type Job struct {
	base

	receiver Sink    // of all events; the sink of the base is the same
	listed   listing // guarded by the registry's mu
}

// A SubscribeFunc changes which events and output a job's Sink, or a consumer behind it, receives from now on. It is
// called in a turn of the job, between the events before the change and those after it. Like the Sink it must not
// block, and must not call back into the job. info is the job's info at that moment. from holds the offset at which the
// output of each stream begins, and is nil if the request left that open. It returns whether the consumer answers the
// queries that the job's programs send to their terminal in the output after info. Its error refuses the request.
type SubscribeFunc func(info Info, from map[Stream]int64) (answers bool, err error)

// Sink returns the receiver of the job's events, as given in its Spec.
func (j *Job) Sink() Sink { return j.receiver }

// A listing is the state that the registry keeps with a job.
type listing struct {
	namesake  *Job  // the job that had the name before
	textBytes int64 // length of its stdin text
}
