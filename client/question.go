package client

import (
	"context"
	"slices"
	"sync"

	"shelld.dev/shelld/schema"
)

// A Question is a wait of a program for input.
type Question struct {
	Prompt string           // the line in front of the cursor
	Kind   schema.InputKind // a line, a password, single keys, or single keys on a full screen
	Text   string           // the output since the last wait, up to here
	Raw    schema.WaitingForInput

	Outcome *Outcome // the end of the wait; in Outcome.Output, the NextOffset of each stream is the end of Text in it
}

// Question waits until the program waits for input, whatever its prompt looks like. The error is a *QuestionError if it
// has ended instead. A loop over Output may get the text in front of the question only later: it has all of it when it
// has reached the NextOffset of the stream in Outcome. With Options.OnSecret, a password is no question here.
func (j *Job) Question(ctx context.Context) (*Question, error) {
	o, err := j.Wait(ctx, j.client.asks())
	if err != nil {
		return nil, err
	}
	q := o.Question()
	if q == nil {
		return nil, &QuestionError{Outcome: o}
	}
	return q, nil
}

// Answer types a line, and waits for some facts; by default until the program waits for input again, or has ended. The
// outcome has the output since then, without the echo of the line.
//
// The first Answer may come before any question. Once a Question, an Answer or a Wait with Input was made with this Job, a
// line is typed only if the program still waits for the input that was reported last, and no Answer has answered it:
// otherwise the error has the kind inputNotExpected. So a line never answers a question that came after a timeout, and
// that nobody has seen. Call Question to see it, or use Write to type ahead.
func (j *Job) Answer(ctx context.Context, line string, facts ...Fact) (*Outcome, error) {
	if len(facts) == 0 {
		facts = []Fact{j.client.asks()}
	}
	waiting, err := j.questions.next(j.Handle)
	if err != nil {
		return nil, err
	}
	w := wait(facts)
	r, err := Call[schema.JobWriteResult](ctx, j.client, "job/write", schema.JobWriteParams{
		Handle: handleID(j.Handle), Input: &line, AppendNewline: new(true), IfWaiting: waiting, Wait: w,
	})
	if err != nil {
		return nil, err // The next Answer is for the same question, which is over if the line was typed.
	}
	if r.Outcome == nil {
		return nil, errNoOutcome
	}
	j.questions.answered()
	return j.seen(*r.Outcome, w.Until), nil
}

// asks waits until the program asks the caller: not for a password that a person types.
func (c *Client) asks() Fact {
	if c.secret {
		return Input(schema.InputKindLine, schema.InputKindRaw, schema.InputKindFullscreen)
	}
	return Input()
}

// seen notes the question of an outcome, for the next Answer.
func (j *Job) seen(o schema.Outcome, until []schema.Condition) *Outcome {
	j.questions.note(o, until)
	return &Outcome{o}
}

// questions are what the callers of a Job know of its program's waits for input.
type questions struct {
	mu      sync.Mutex
	guarded bool    // a question was asked for, or answered
	waiting *string // the wait that was reported last, and has no answer
}

// next returns the wait for input that an Answer is for; nil: any, since no question was asked for yet.
func (q *questions) next(handle int64) (*string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.guarded && q.waiting == nil {
		return nil, refuse(schema.KindInputNotExpected, codeInputNotExpected,
			"the last outcome has no question, and nothing was typed: call Question (or Wait with Input()) first, or use Write to type ahead",
			schema.InputNotExpectedData{Kind: string(schema.KindInputNotExpected), Handle: handle})
	}
	q.guarded = true
	return q.waiting, nil
}

// codeInputNotExpected is the code of inputNotExpected in the protocol.
const codeInputNotExpected = -32023

func (q *questions) answered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = nil
}

// note takes the question of an outcome. An outcome without one leaves an older question as it is: if it is over, the
// server refuses its answer.
func (q *questions) note(o schema.Outcome, until []schema.Condition) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch w := o.Job.WaitingForInput; {
	case o.Job.Exit != nil:
		q.guarded, q.waiting = false, nil // The server refuses all input, and says why.
	case o.Reason == schema.OutcomeReasonInput && w != nil && w.WaitID != nil:
		q.guarded, q.waiting = true, w.WaitID
	case slices.ContainsFunc(until, func(c schema.Condition) bool { return c.Input != nil }):
		q.guarded = true
	}
}
