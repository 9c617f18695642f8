package jobs

import "shelld/screen"

// A program asks its terminal what it is, what it can do and what it shows, and waits
// for the answer, some for seconds and some for ever. The job answers, whoever watches:
//
//	readLoop -> display     what was asked, once the output with it is stored
//	         -> takeQueries in a turn: the answers, in order
//	         -> typeAnswer  into the input, as if typed
//
// A terminal types its answer in between what a person types, and never in the middle of
// a key. So an answer goes behind what is being written and before all that waits: the
// program may read nothing else before it has it. It is nobody's input: no request waits
// for it, no echo of it is looked for, and it takes no room in the input queue.

// mostAnswers is how many bytes of answers wait for a job to read; more are dropped. A
// program that asks without end and reads nothing must not take memory without end.
const mostAnswers = 16 << 10

// mostQueries is how many queries wait for an answer.
const mostQueries = mostAnswers / 16

// queries are what a job's programs have asked and nobody has answered yet. They belong
// to whoever has the turn.
type queries struct {
	waiting []screen.Query
	lost    bool         // some were dropped, and the log has it
	drawing int64        // the end of the query whose answer is being drawn
	drawn   *answeredMsg // which it was
}

// takeQueries answers what was asked by now.
func (j *Job) takeQueries() {
	if j.display == nil {
		return
	}
	asked, dropped := j.display.takeAsked()
	if !j.answers() {
		j.queries.waiting, j.queries.drawn = nil, nil
		return
	}
	if room := mostQueries - len(j.queries.waiting); len(asked) > room {
		dropped += len(asked) - room
		asked = asked[:room]
	}
	j.noteDropped(dropped)
	j.queries.waiting = append(j.queries.waiting, asked...)
	for len(j.queries.waiting) > 0 {
		q := j.queries.waiting[0]
		answer, ready := j.answerTo(q)
		if !ready {
			return // those behind it wait with it
		}
		j.queries.waiting = j.queries.waiting[1:]
		j.typeAnswer(answer)
	}
	j.queries.waiting = nil
}

// answers says whether anybody is to be answered: the leader, or who else reads the input
// while it lives.
func (j *Job) answers() bool {
	return !j.spec.Unanswered && j.input != nil && j.st.exit == nil && j.queue.closed == ""
}

// answerTo is what a terminal answers, if that is known yet.
func (j *Job) answerTo(q screen.Query) (answer []byte, ready bool) {
	if q.Screen {
		return j.answerFromScreen(q)
	}
	return q.Answer(screen.Display{Cols: j.info.Cols, Rows: j.info.Rows, Version: j.mgr.version}), true
}

// typeAnswer puts an answer into the input.
func (j *Job) typeAnswer(data []byte) {
	switch {
	case len(data) == 0:
		return // there is none
	case j.queue.answers+len(data) > mostAnswers:
		j.noteDropped(1)
		return
	}
	j.queue.answers += len(data)
	i := j.queue.afterFirst()
	if i > 0 && j.queue.items[i-1].answer && !(i == 1 && j.queue.writing) {
		j.queue.items[i-1].data = append(j.queue.items[i-1].data, data...)
		return
	}
	in := &queued{data: data, answer: true, before: j.queue.partial, reply: newReply[WriteResult]()}
	j.queue.insert(i, in)
	if i == len(j.queue.items)-1 {
		j.queue.partial = j.partialBehind(data)
	}
}

// partialBehind is how much of a line is typed once data is, too. A terminal that edits
// lines takes an answer for a part of one.
func (j *Job) partialBehind(data []byte) int {
	attrs, err := j.term.Attrs()
	if err != nil || !attrs.Canonical {
		return 0
	}
	partial, _ := lineLengths(data, j.queue.partial, attrs)
	return partial
}

// afterFirst is the place behind the item that is being written, if any, and behind the
// answers that are there.
func (q *inputQueue) afterFirst() (i int) {
	if len(q.items) > 0 && (q.writing || q.items[0].written > 0) {
		i = 1
	}
	for i < len(q.items) && q.items[i].answer {
		i++
	}
	return i
}

// noteDropped has the log say that answers were dropped, once for a job: there may be
// millions.
func (j *Job) noteDropped(n int) {
	if n > 0 && !j.queries.lost {
		j.queries.lost = true
		j.log.Debug("a program asks its terminal and does not read the answers: some are dropped", "job", j.id)
	}
}
