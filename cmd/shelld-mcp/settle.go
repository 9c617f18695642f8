package main

import (
	"context"
	"encoding/json"
	"time"

	"shelld/schema"
)

// When there is nothing more to wait for: a program waits for input, or has said what it had to
// say.

// untilSettled are the conditions under which there is nothing more to wait for: the program
// waits for input, or it has written and then paused.
func (f *front) untilSettled() []schema.Condition {
	quiet := schema.Condition{QuietMs: new(settleQuiet.Milliseconds())}
	if !f.seesInput() {
		return []schema.Condition{quiet}
	}
	return []schema.Condition{onInput, quiet}
}

// untilInput are the conditions under which a program takes input again: it waits for that,
// or it takes some while it does other things. Where nobody can tell, a pause has to do.
func (f *front) untilInput() []schema.Condition {
	if f.seesInput() {
		return []schema.Condition{onInput, {Input: json.RawMessage(`{"listening":true}`)}}
	}
	return []schema.Condition{{QuietMs: new(int64(1000))}}
}

// listeningQuiet is the silence after which a program that takes input while it does other
// things, such as a debugger with its program, has said what it had to say.
const listeningQuiet = 500 * time.Millisecond

// settled goes on with a wait for untilInput that has ended because the program listens:
// that says nothing of whether it is done. It returns the outcome of all of it, which began
// at began.
func (c *call) settled(ctx context.Context, j *job, o *schema.Outcome, began, maxBytes int64, end time.Time) (_ *schema.Outcome, listens bool, err error) {
	if w := o.Job.WaitingForInput; o.Reason != schema.OutcomeReasonInput || w == nil || w.State == nil || *w.State != schema.InputStateListening {
		return o, false, nil
	}
	o, err = c.wait(ctx, schema.JobWaitParams{
		Handle: j.id(), From: from(began), MaxBytes: new(maxBytes), StripEcho: new(true),
		Until: []schema.Condition{onInput, {QuietMs: new(listeningQuiet.Milliseconds())}}, TimeoutMs: millis(max(time.Until(end), 0)),
	})
	return o, err == nil && o.Reason == schema.OutcomeReasonQuietMs, err
}

// awaitOutput waits until there is output that was not told yet and it pauses, or until the
// program waits for input, has ended, or the time is over.
func (c *call) awaitOutput(ctx context.Context, j *job, limit time.Duration) (*schema.JobState, error) {
	end := time.Now().Add(limit)
	w := schema.JobWaitParams{
		Handle: j.id(), From: from(j.untold()), MaxBytes: new(int64(0)), TimeoutMs: millis(limit),
		Until: []schema.Condition{{Bytes: new(int64(1))}},
	}
	if c.front.seesInput() {
		w.Until = append([]schema.Condition{onInput}, w.Until...)
	}
	o, err := c.wait(ctx, w)
	if err != nil || o.Reason != schema.OutcomeReasonBytes {
		return stateOf(o), err
	}
	w.Until, w.TimeoutMs = c.front.untilSettled(), millis(max(time.Until(end), 0))
	o, err = c.wait(ctx, w)
	return stateOf(o), err
}

func stateOf(o *schema.Outcome) *schema.JobState {
	if o == nil {
		return nil
	}
	return &o.Job
}
