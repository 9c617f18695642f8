package main

import (
	"context"
	"encoding/json"
	"time"

	"shelld.dev/shelld/schema"
)

// This file decides when a wait is over: if the program waits for input, or has finished its output for now.

// untilSettled returns the conditions for the end of a wait: the program waits for input, or its output has paused.
func (f *front) untilSettled() []schema.Condition {
	quiet := schema.Condition{QuietMs: new(settleQuiet.Milliseconds())}
	if !f.seesInput() {
		return []schema.Condition{quiet}
	}
	return []schema.Condition{onInput, quiet}
}

// untilInput returns the conditions for a program that takes input again: it waits for input, or takes input while it
// does other work. If this cannot be detected, the condition is a pause of its output.
func (f *front) untilInput() []schema.Condition {
	if f.seesInput() {
		return []schema.Condition{onInput, {Input: json.RawMessage(`{"listening":true}`)}}
	}
	return []schema.Condition{{QuietMs: new(int64(1000))}}
}

// listeningQuiet is the silence after which a program that takes input while it does other work, such as a debugger
// with its program, has finished its output.
const listeningQuiet = 500 * time.Millisecond

// settled continues a wait for untilInput that has ended because the program is listening: that does not mean that the
// program is done. It returns the outcome of the whole wait, which started at offset began. listens reports that the
// wait has ended with silence.
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

// awaitOutput waits until there is unread output and it pauses, the program waits for input, or the program ends, but
// at most for limit.
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
