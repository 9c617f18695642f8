package client

import (
	"context"

	"shelld.dev/shelld/schema"
)

// An ExecResult is a command of a shell: its output, and its end if it has Finished.
type ExecResult struct{ schema.JobExecResult }

// Exec runs a command in a job that is a [Shell] (bash, zsh or fish), and returns its output and its end. The shell keeps
// its directory, variables and functions. If ctx is done first, the command is interrupted.
//
// The first command waits for the shell's start-up files, such as ~/.bashrc, and that time counts for its limit. The
// result has up to 16 KiB of output, unless the params set Wait.MaxBytes. The params can also have the request end when
// the command asks a question; then see [ExecResult.Question], Answer it, and wait for [Finished].
func (j *Job) Exec(ctx context.Context, command string, edit ...func(*schema.JobExecParams)) (*ExecResult, error) {
	p := schema.JobExecParams{Handle: handleID(j.Handle), Command: command, TimeoutMs: schema.NullOf[int64](), OnTimeout: new(schema.ExecTimeoutInterrupt)}
	for _, f := range edit {
		f(&p)
	}
	r, err := Call[schema.JobExecResult](ctx, j.client, "job/exec", p)
	if err != nil {
		return nil, err
	}
	if p.Wait != nil {
		j.seen(r.Outcome, p.Wait.Until)
	}
	return &ExecResult{*r}, nil
}

// TimedOut reports whether the time limit has passed before the command's end.
func (r *ExecResult) TimedOut() bool { return r.Outcome.Reason == schema.OutcomeReasonTimeout }

// Question returns the command's wait for input that has ended the request; nil: something else has.
func (r *ExecResult) Question() *Question {
	q := (&Outcome{r.Outcome}).Question()
	if q != nil {
		q.Text = r.Output
	}
	return q
}

// Err returns an *ExitError if the command has not ended by itself with status 0.
func (r *ExecResult) Err() error {
	if r.ExitCode != nil && *r.ExitCode == 0 && !r.TimedOut() {
		return nil
	}
	return &ExitError{Exec: r}
}
