package jobs

// A SubscribeFunc tells a job's Sink, or whoever is behind it, what it is to hear from
// now on. It is called on the job's loop, between the events before it and those after
// it; like the Sink it must not block, and must not call back into the job. info is of
// that moment; from holds the offset at which the output of each stream is to begin,
// and is nil where that was left open. It returns whether who hears the job answers what
// its programs ask their terminal behind the output that info tells of; its error refuses
// the request.
type SubscribeFunc func(info Info, from map[Stream]int64) (answers bool, err error)

// Sink returns who hears of the job, as its Spec has it.
func (j *Job) Sink() Sink { return j.sink }

// subscribeMsg changes what is heard of the job.
type subscribeMsg struct {
	from Origin
	set  SubscribeFunc
	reply[struct{}]
}

func (m subscribeMsg) deliver(j *Job) { j.onSubscribe(m) }

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
	if j.display.heard != nil {
		j.display.leaveQueries(answers, info.Streams[0].NextOffset)
	}
	m.reply.ok(struct{}{})
}
