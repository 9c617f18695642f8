package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A tool runs commands for an agent. Its calls may come at the same time.
type tool struct {
	*client.Client
	mu   sync.Mutex
	jobs map[int64]*client.Job // what is left of each call; a Job knows which question an Input is for
}

// newTool starts a server for an agent. Only person is asked for passwords, and answers them; nil: nobody can.
func newTool(ctx context.Context, person func(context.Context, schema.ClientSecretParams) (string, error)) (*tool, error) {
	c, err := client.Start(ctx, client.Options{OnSecret: person, Initialize: schema.InitializeParams{Options: &schema.Options{
		SecretInput: new(schema.SecretInputClientOnly),
		Persist:     &schema.PersistOptions{DeleteOnExit: new(true)},
		Limits:      &schema.LimitOptions{MaxJobs: new(int64(20))},
	}}})
	if err != nil {
		return nil, err
	}
	return &tool{Client: c, jobs: map[int64]*client.Job{}}, nil
}

// A toolCall begins a command, or goes on with a job: it waits, or does one of Input, EOF and Stop before.
type toolCall struct {
	Command  string
	Terminal bool // a terminal, and not pipes, which keep stdout and stderr apart
	Job      int64
	Input    *string // answers the question of the last result
	EOF      bool    // ends the input, and waits for the end
	Stop     bool    // ends the job with everything that it has started
	Limit    time.Duration
}

// A toolResult has the output since the last call. If Ended is false, the command goes on: it asks for input, if there is a
// Prompt, or the time has run out.
type toolResult struct {
	Job                 int64
	Stdout, Stderr      string
	Truncated, TimedOut bool
	Prompt              *string
	Ended               bool
	ExitCode            *int64
	Signal, Reason      string // of the end: exited, signaled, killed, timeout, limit …
	Background          bool   // the command has ended, and processes of it live on; Stop ends them
}

func (t *tool) call(ctx context.Context, in toolCall) (*toolResult, error) {
	job, err := t.job(ctx, in)
	if err != nil {
		return nil, err
	}
	o, err := in.act(ctx, job)
	if err != nil && in.Command == "" {
		return nil, err // An inputNotExpected is the agent's to read: it has to look at the question first.
	}
	if err != nil {
		_ = job.Close() // Nobody has its handle.
		t.keep(job, false)
		return nil, err
	}
	r := &toolResult{Job: job.Handle, Stdout: o.Stdout(), Stderr: o.Stderr(), Truncated: o.Truncated(), TimedOut: o.TimedOut()}
	if q := o.Question(); q != nil {
		r.Prompt = &q.Prompt
	}
	if exit := o.Job.Exit; exit != nil {
		r.Ended, r.ExitCode, r.Signal, r.Reason = true, exit.Code, o.Signal(), string(exit.Reason)
		left, err := job.Wait(ctx, client.Closed(), client.Within(100*time.Millisecond))
		r.Background = err == nil && left.TimedOut()
	}
	t.keep(job, !r.Ended || r.Background)
	return r, nil
}

func (t *tool) job(ctx context.Context, in toolCall) (*client.Job, error) {
	if in.Command != "" {
		return t.Start(ctx, client.Line(in.Command), in.params)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if job := t.jobs[in.Job]; job != nil {
		return job, nil
	}
	return nil, fmt.Errorf("there is no job %d, or nothing of it is left: begin a command", in.Job)
}

func (t *tool) keep(job *client.Job, left bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left {
		t.jobs[job.Handle] = job
	} else {
		delete(t.jobs, job.Handle)
	}
}

func (in toolCall) params(p *schema.JobStartParams) {
	p.Profile = new(schema.ProfileNameAgent) // no pagers, editors and colours
	if !in.Terminal {
		p.Mode, p.Stdin = new(schema.ModePipe), json.RawMessage(`"open"`)
	}
}

func (in toolCall) act(ctx context.Context, job *client.Job) (*client.Outcome, error) {
	asks := client.Input(schema.InputKindLine, schema.InputKindRaw, schema.InputKindFullscreen) // A password is for the person.
	unread := func(w *schema.Wait) { w.From = json.RawMessage(`"unread"`) }
	facts := []client.Fact{asks, client.Within(in.Limit), unread}
	var err error
	switch {
	case in.Input != nil:
		return job.Answer(ctx, *in.Input, facts...)
	case in.EOF:
		facts[0], err = client.Exit(), job.EOF(ctx)
	case in.Stop:
		facts[0], err = client.Exit(), job.Close()
	}
	if err != nil {
		return nil, err
	}
	return job.Wait(ctx, facts...)
}

// An agent's shell tool: a call begins a command or answers its question, with a time limit, and its result is all that
// a model needs.
func Example_tool() {
	t := must(newTool(ctx, nil))
	defer t.Close()
	r := must(t.call(ctx, toolCall{Command: `echo careful >&2; printf 'Delete? '; read a; echo "you said $a"; exit 3`, Limit: time.Minute}))
	fmt.Printf("%q %q %q\n", r.Stdout, r.Stderr, *r.Prompt)
	r = must(t.call(ctx, toolCall{Job: r.Job, Input: new("yes"), Limit: time.Minute}))
	fmt.Printf("%q %v %d\n", r.Stdout, r.Ended, *r.ExitCode)
	// Output:
	// "Delete? " "careful\n" "Delete?"
	// "you said yes\n" true 3
}
