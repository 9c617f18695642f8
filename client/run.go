package client

import (
	"context"

	"shelld.dev/shelld/schema"
)

// A Command is the command of a job: see [Line], [Argv] and [Shell].
type Command struct {
	line, shell *string
	argv        []string
}

// Line is a command line for the default shell.
func Line(line string) Command { return Command{line: &line} }

// Argv is a program with its arguments, without a shell: each argument reaches it as it is.
func Argv(program string, args ...string) Command {
	return Command{argv: append([]string{program}, args...)}
}

// Shell is an interactive shell, such as bash, for Job.Exec.
func Shell(name string) Command { return Command{shell: &name} }

// A Result is the end of a command, and its output.
type Result struct {
	Code     int    // the exit status; -1: there is none
	Signal   string // the signal that has ended it; "": none
	Stdout   string // or the output of a terminal
	Stderr   string
	TimedOut bool
	Raw      schema.JobRunResult // all of the answer
}

// Err returns an *ExitError if the command has not ended by itself with status 0. A command that was killed, or has
// reached a limit, may end with 0 as well: Raw.Exit.Reason says which it was.
func (r *Result) Err() error {
	if exit := r.Raw.Exit; r.Code == 0 && !r.TimedOut && exit != nil && exit.Reason == schema.ExitReasonExited {
		return nil
	}
	return &ExitError{Result: r}
}

// maxOutput is how much of a stream Run returns by default: as much as a server gives.
const maxOutput = 1 << 20

// Run runs a command to its end, without a terminal. A status other than 0 is no error: see [Result.Err]. If ctx is
// done first, the command is ended with everything that it has started. If the command ends first, processes that it has
// left in the background live on, up to the end of the server: Job(r.Raw.Job.Handle).Close ends them.
//
// The params of job/run can be edited. By default there is no time limit but that of ctx, and the result has up to 1
// MiB of each stream: of more, head and tail, with a mark between them, and Raw.Truncated says how much is left out. For
// all of the output, use Start and Output. The end of ctx loses the output; TimeoutMs keeps it, in a result with
// TimedOut.
func (c *Client) Run(ctx context.Context, command Command, edit ...func(*schema.JobRunParams)) (*Result, error) {
	p := schema.JobRunParams{
		Command: command.line, Argv: command.argv, Shell: command.shell,
		TimeoutMs: schema.NullOf[int64](), MaxBytes: new(int64(maxOutput)),
	}
	for _, f := range edit {
		f(&p)
	}
	raw, err := Call[schema.JobRunResult](ctx, c, "job/run", p)
	if err != nil {
		return nil, err
	}
	r := &Result{Code: -1, Stdout: or(raw.Stdout, or(raw.Output, "")), Stderr: or(raw.Stderr, ""), TimedOut: raw.TimedOut, Raw: *raw}
	if raw.Exit != nil {
		r.Code, r.Signal = int(or(raw.Exit.Code, -1)), or(raw.Exit.Signal, "")
	}
	return r, nil
}
