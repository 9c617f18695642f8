package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"shelld.dev/shelld/schema"
)

// A Job is a started command with everything that it starts.
type Job struct {
	Handle int64
	Info   schema.JobInfo // as of the start

	client *Client
	events []schema.EventName // that it was started with, for OnEvent

	questions questions
}

// Start starts a job, on a terminal unless the params are edited to say otherwise. If ctx is done while the server
// starts it, it is not left running.
func (c *Client) Start(ctx context.Context, command Command, edit ...func(*schema.JobStartParams)) (*Job, error) {
	p := schema.JobStartParams{Command: command.line, Argv: command.argv, Shell: command.shell}
	for _, f := range edit {
		f(&p)
	}
	events := p.Events
	if p.Events == nil {
		events = c.base
		if or(p.WhenSlow, schema.WhenSlowSpool) == schema.WhenSlowBlock {
			p.Events = with(events, schema.EventNameOutput) // A program waits only for a client that has asked for its output.
		}
	}
	var r schema.JobStartResult
	if err := c.conn.call(ctx, "job/start", p, &r, callHooks{late: c.endLate}); err != nil {
		c.abandon(err)
		return nil, err
	}
	j := &Job{Handle: r.Job.Handle, Info: r.Job, client: c, events: events}
	if r.Outcome != nil && p.Wait != nil {
		j.seen(*r.Outcome, p.Wait.Until)
	}
	return j, nil
}

// endLate ends the job of a start that was given up, if the server starts it all the same.
func (c *Client) endLate(sent *SentCall) {
	var r schema.JobStartResult
	if err := sent.Await(context.Background(), &r); err != nil {
		c.abandon(err)
		return
	}
	_ = c.Job(r.Job.Handle).Close() // Its caller has the error of the start.
}

// abandon ends a job that was started although the request has failed: its wait was cancelled, or the answer was too
// long. The caller has no handle of it. Errors of other kinds name other jobs.
func (c *Client) abandon(err error) {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != schema.KindCanceled && e.Kind != schema.KindLimitExceeded {
		return
	}
	var data struct{ Handle int64 }
	if json.Unmarshal(e.Data, &data) == nil && data.Handle != 0 {
		_ = c.Job(data.Handle).Close() // The other error is the reason.
	}
}

// Job returns a job of this server by its handle: that of an event, of job/list, or of the result of Run (Raw.Job.Handle),
// whose background processes live on. Its Info is empty; that of job/get is not. It does not know the questions that
// another Job has seen: keep the Job of Start to lead a dialogue. Nor does it know the events that the params of its start
// may have named: once its Output was read, OnEvent gets those of every job.
func (c *Client) Job(handle int64) *Job { return &Job{Handle: handle, client: c, events: c.base} }

// Write types text, as it is.
func (j *Job) Write(ctx context.Context, text string, edit ...func(*schema.JobWriteParams)) error {
	p := schema.JobWriteParams{Handle: handleID(j.Handle), Input: &text}
	for _, f := range edit {
		f(&p)
	}
	return j.client.Call(ctx, "job/write", p, nil)
}

// Press presses keys of the terminal, such as Enter, Up and Ctrl-C.
func (j *Job) Press(ctx context.Context, keys ...string) error {
	return j.client.Call(ctx, "job/write", schema.JobWriteParams{Handle: handleID(j.Handle), Keys: keys}, nil)
}

// EOF ends the input: a terminal gets its end-of-file character, as by Ctrl-D, and an open stdin of pipes is closed.
func (j *Job) EOF(ctx context.Context) error {
	return j.client.Call(ctx, "job/write", schema.JobWriteParams{Handle: handleID(j.Handle), Eof: new(true)}, nil)
}

// Signal sends a signal, such as INT, to the terminal's foreground processes; of a job on pipes, see job/signal.
func (j *Job) Signal(ctx context.Context, name string) error {
	return j.client.Call(ctx, "job/signal", schema.JobSignalParams{Handle: handleID(j.Handle), Signal: name}, nil)
}

// Screen returns the screen of the terminal, as text.
func (j *Job) Screen(ctx context.Context) (*schema.JobScreenResult, error) {
	return Call[schema.JobScreenResult](ctx, j.client, "job/screen", schema.JobScreenParams{Handle: handleID(j.Handle)})
}

// Screenshot returns the screen of the terminal, as a picture in PNG.
func (j *Job) Screenshot(ctx context.Context) ([]byte, error) {
	r, err := Call[schema.JobScreenResult](ctx, j.client, "job/screen", schema.JobScreenParams{Handle: handleID(j.Handle), Format: new(schema.ScreenFormatPng)})
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(or(r.Png, ""))
}

// Kill ends the job with everything that it has started: TERM, and after grace KILL. The result lists the
// processes that were ended, and survivors that could not be.
func (j *Job) Kill(ctx context.Context, grace time.Duration) (*schema.JobKillResult, error) {
	return Call[schema.JobKillResult](ctx, j.client, "job/kill", schema.JobKillParams{Handle: handleID(j.Handle), GraceMs: new(grace.Milliseconds())})
}

const (
	closeGrace = 500 * time.Millisecond
	closeTime  = 30 * time.Second
)

// Close ends the job with everything that it has started, as Kill does, with a grace of half a second. It is no error
// if the job, or the server, has ended already; it is one if a process could not be ended.
func (j *Job) Close() error {
	ctx, stop := context.WithTimeout(context.Background(), closeTime)
	defer stop()
	r, err := j.Kill(ctx, closeGrace)
	switch {
	case errors.Is(err, ErrServerGone), KindOf(err) == schema.KindJobNotFound, KindOf(err) == schema.KindShuttingDown:
		return nil
	case err != nil:
		return err
	case len(r.Survivors) > 0:
		s := r.Survivors[0]
		return fmt.Errorf("process %d (%s) of job %d is still alive: %s", s.PID, s.Command, j.Handle, s.Why)
	}
	return nil
}

// errNoOutcome is the error for a server that breaks the contract.
var errNoOutcome = errors.New("the server's answer has no outcome, although the request had a wait")

// handleID returns a handle as the params of requests have it.
func handleID(handle int64) json.RawMessage { return strconv.AppendInt(nil, handle, 10) }
