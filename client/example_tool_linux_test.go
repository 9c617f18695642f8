package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A toolCall begins a command, or goes on with its job: by typing a line, or by waiting if Input is nil.
type toolCall struct {
	Command  string
	Terminal bool // the command gets a terminal, and not pipes, which keep stdout and stderr apart
	Job      int64
	Input    *string
	Limit    time.Duration
}

// A toolResult has all output since the last call. If it has neither ExitCode nor Signal, the command goes on: it waits
// for input, or the time has run out.
type toolResult struct {
	Stdout, Stderr      string
	Prompt, Signal      *string
	ExitCode            *int64
	Truncated, TimedOut bool
	Job                 int64
}

func shellTool(ctx context.Context, c *client.Client, in toolCall) (o *client.Outcome, err error) {
	job, facts := c.Job(in.Job), []client.Fact{client.Input(), client.Within(in.Limit), unread}
	if in.Job == 0 {
		if job, err = c.Start(ctx, client.Line(in.Command), in.streams); err != nil {
			return nil, err
		}
	}
	if in.Input != nil {
		return job.Answer(ctx, *in.Input, facts...)
	}
	return job.Wait(ctx, facts...)
}

func (in toolCall) streams(p *schema.JobStartParams) {
	if !in.Terminal {
		p.Mode, p.Stdin = new(schema.ModePipe), json.RawMessage(`"open"`)
	}
}

func unread(w *schema.Wait) { w.From = json.RawMessage(`"unread"`) }

func toolResultOf(o *client.Outcome) toolResult {
	r := toolResult{Stdout: o.Stdout(), Stderr: o.Stderr(), Truncated: o.Truncated(), TimedOut: o.TimedOut(), Job: o.Job.Handle}
	if q := o.Question(); q != nil {
		r.Prompt = &q.Prompt
	}
	if exit := o.Job.Exit; exit != nil {
		r.ExitCode, r.Signal = exit.Code, exit.Signal
	}
	return r
}

// An agent's shell tool: a call begins a command or answers its question, with a time limit, and its result is all that
// a model needs.
func Example_tool() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	call := toolCall{Command: `echo careful >&2; printf 'Delete? '; read a; echo "you said $a"; exit 3`, Limit: time.Minute}
	r := toolResultOf(must(shellTool(ctx, c, call)))
	fmt.Printf("%q %q %q %v %v\n", r.Stdout, r.Stderr, *r.Prompt, r.Truncated, r.TimedOut)
	r = toolResultOf(must(shellTool(ctx, c, toolCall{Job: r.Job, Input: new("yes"), Limit: time.Minute})))
	fmt.Printf("%q %d\n", r.Stdout, *r.ExitCode)

	r = toolResultOf(must(shellTool(ctx, c, toolCall{Command: "echo begun; sleep 0.5; echo done", Terminal: true, Limit: 100 * time.Millisecond})))
	fmt.Println(r.TimedOut, r.ExitCode == nil)
	r = toolResultOf(must(shellTool(ctx, c, toolCall{Job: r.Job, Limit: time.Minute})))
	fmt.Println(r.TimedOut, *r.ExitCode)
	// Output:
	// "Delete? " "careful\n" "Delete?" false false
	// "you said yes\n" 3
	// true true
	// false 0
}
