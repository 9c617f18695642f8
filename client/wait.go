package client

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"shelld.dev/shelld/schema"
)

// A Fact is a condition or an option of a wait. The first condition that holds ends the wait. The end of the job's
// command ends every wait except one for Closed.
type Fact func(*schema.Wait)

func until(c schema.Condition) Fact {
	return func(w *schema.Wait) { w.Until = append(w.Until, c) }
}

// Exit waits for the end of the command, after its last output.
func Exit() Fact { return until(schema.Condition{Exit: new(true)}) }

// Closed waits until nothing of the job is alive.
func Closed() Fact { return until(schema.Condition{Closed: new(true)}) }

// Input waits until the program waits for input of one of some kinds; without any, of every kind. With all kinds but
// schema.InputKindPassword, the wait goes on while a person types a password: see Options.OnSecret.
func Input(kinds ...schema.InputKind) Fact {
	which := json.RawMessage("true")
	if len(kinds) > 0 {
		which, _ = json.Marshal(schema.InputCondition{Kinds: kinds}) // Strings always encode.
	}
	return until(schema.Condition{Input: which})
}

// Pattern waits for a match in the output, of an ECMAScript regular expression. flags are those of ECMAScript: i, m, s,
// u.
func Pattern(expression string, flags ...string) Fact {
	return until(withFlags(schema.Condition{Pattern: &expression}, flags))
}

// OnScreen waits for a match on the screen of the terminal. With the flag m, ^ and $ are the edges of a row.
func OnScreen(expression string, flags ...string) Fact {
	return until(withFlags(schema.Condition{Pattern: &expression, On: new(schema.PatternTargetScreen)}, flags))
}

func withFlags(c schema.Condition, flags []string) schema.Condition {
	if all := strings.Join(flags, ""); all != "" {
		c.Flags = &all
	}
	return c
}

// Port waits until a process of the job listens on a TCP port; 0: any. If another process has the port, the reason of
// the outcome is portInUse.
func Port(port int) Fact { return until(schema.Condition{Port: new(int64(port))}) }

// Quiet waits until nothing was written for a time.
func Quiet(d time.Duration) Fact { return until(schema.Condition{QuietMs: new(d.Milliseconds())}) }

// Bytes waits for so many bytes of output.
func Bytes(n int64) Fact { return until(schema.Condition{Bytes: &n}) }

// Finished waits for the end of a command of Job.Exec, by its CommandID.
func Finished(commandID int64) Fact { return until(schema.Condition{Command: &commandID}) }

// Within limits the wait: then the reason of the outcome is timeout. Without it only the context does, which makes an
// error.
func Within(d time.Duration) Fact {
	return func(w *schema.Wait) { w.TimeoutMs = schema.ValueOf(d.Milliseconds()) }
}

// AsScreen has the outcome contain the screen in place of the output.
func AsScreen() Fact {
	return func(w *schema.Wait) { w.Format, w.StripEcho = new(schema.WaitFormatScreen), nil }
}

// wait puts the facts of a wait together.
func wait(facts []Fact) *schema.Wait {
	w := &schema.Wait{TimeoutMs: schema.NullOf[int64](), StripEcho: new(true)}
	for _, f := range facts {
		f(w)
	}
	return w
}

// An Outcome is the end of a wait: Reason says which fact has held.
type Outcome struct{ schema.Outcome }

// Text returns the output that the wait has covered, without escape sequences; with AsScreen, the screen.
func (o *Outcome) Text() string {
	if o.Screen != nil {
		return strings.Join(o.Screen.Lines, "\n")
	}
	var text strings.Builder
	for _, stream := range streams {
		text.WriteString(or(o.Output[string(stream)].Text, ""))
	}
	return text.String()
}

// Stdout returns the part of Text that is from the program's stdout, or from its terminal, which joins both streams.
// With AsScreen it is empty.
func (o *Outcome) Stdout() string {
	return or(o.Output[string(schema.StreamPty)].Text, or(o.Output[string(schema.StreamStdout)].Text, ""))
}

// Stderr returns the part of Text that is from stderr. It is empty for a job on a terminal.
func (o *Outcome) Stderr() string { return or(o.Output[string(schema.StreamStderr)].Text, "") }

// Truncated reports whether the middle of a stream's output is left out: up to 16 KiB of each are returned, unless a
// Fact sets MaxBytes.
func (o *Outcome) Truncated() bool {
	for _, output := range o.Output {
		if output.Truncated != nil {
			return true
		}
	}
	return false
}

// TimedOut reports whether the time of Within has ended the wait. The job goes on.
func (o *Outcome) TimedOut() bool { return o.Reason == schema.OutcomeReasonTimeout }

// ExitCode returns the exit code of a command that has ended with one. A command that has ended without has a Signal in
// most cases. Job.Exit has the reason: a command that was killed may have ended with 0.
func (o *Outcome) ExitCode() (code int, ended bool) {
	if o.Job.Exit == nil || o.Job.Exit.Code == nil {
		return 0, false
	}
	return int(*o.Job.Exit.Code), true
}

// Signal returns the signal that has ended the command, such as SIGKILL; "": none has.
func (o *Outcome) Signal() string {
	if o.Job.Exit == nil {
		return ""
	}
	return or(o.Job.Exit.Signal, "")
}

// Question returns the program's wait for input that has ended this wait; nil: something else has.
func (o *Outcome) Question() *Question {
	w := o.Job.WaitingForInput
	if o.Reason != schema.OutcomeReasonInput || w == nil {
		return nil
	}
	return &Question{Prompt: or(w.Prompt, ""), Kind: or(w.Kind, ""), Text: o.Text(), Raw: *w, Outcome: o}
}

// Wait waits for the first of some facts, and returns the output since the last wait.
func (j *Job) Wait(ctx context.Context, facts ...Fact) (*Outcome, error) {
	w := wait(facts)
	r, err := Call[schema.JobWaitResult](ctx, j.client, "job/wait", schema.JobWaitParams{
		Handle: handleID(j.Handle), Until: w.Until, From: w.From, TimeoutMs: w.TimeoutMs, MaxBytes: w.MaxBytes,
		Format: w.Format, Mark: w.Mark, StripEcho: w.StripEcho,
	})
	if err != nil {
		return nil, err
	}
	return j.seen(r.Outcome, w.Until), nil
}
