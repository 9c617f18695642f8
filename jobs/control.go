package jobs

func (j *Job) onRemove(m removeMsg) {
	if j.st.status != StatusClosed {
		e := errorf(CodeJobRunning, "job %d is %s; end it with job/kill before it is removed", j.id, j.st.status)
		m.reply.fail(e.about(&j.base))
		return
	}
	j.manager.registry.remove(j)
	if m.keepFiles {
		j.actor.leaveWith(func() { m.reply.ok(struct{}{}) })
		return
	}
	j.actor.leaveWith(func() { j.files.discard(false, func(err error) { j.answerRemove(m, err) }) })
}

func (j *Job) answerRemove(m removeMsg, err error) {
	if err != nil {
		e := storeError(err, j.folder.Path())
		e.Message = "the job is forgotten, but not all of its files could be deleted (" + e.Error() + "); delete " + j.folder.Path() + " yourself"
		m.reply.fail(e)
		return
	}
	m.reply.ok(struct{}{})
}

// A SubscribeFunc changes which events and output a job's Sink, or a consumer behind it, receives from now on. It is
// called in a turn of the job, between the events before the change and those after it. Like the Sink it must not
// block, and must not call back into the job. info is the job's info at that moment. from holds the offset at which the
// output of each stream begins, and is nil if the request left that open. It returns whether the consumer answers the
// queries that the job's programs send to their terminal in the output after info. Its error refuses the request.
type SubscribeFunc func(info Info, from map[Stream]int64) (answers bool, err error)

// Sink returns the receiver of the job's events, as given in its Spec.
func (j *Job) Sink() Sink { return j.sink }

// subscribeMsg changes the subscription to the job.
type subscribeMsg struct {
	from Origin
	set  SubscribeFunc
	reply[struct{}]
}

func (j *Job) onSubscribe(m subscribeMsg) {
	var from map[Stream]int64
	if m.from.Kind != FromDefault {
		var err *Error
		if from, err = j.waits.origin(&WaitSpec{From: m.from}, FromNow); err != nil {
			m.reply.fail(err)
			return
		}
	}
	info := j.snapshot()
	answers, err := m.set(info, from)
	if err != nil {
		m.reply.fail(err)
		return
	}
	if j.heard != nil {
		j.display.leaveQueries(answers, info.Streams[0].NextOffset)
	}
	m.reply.ok(struct{}{})
}
