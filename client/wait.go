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

// Input waits until the program waits for input.
func Input() Fact { return until(schema.Condition{Input: json.RawMessage("true")}) }

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

// ExitCode returns the exit code of a command that has ended with one. A command that has ended without, by a signal,
// has the reason in Job.Exit.
func (o *Outcome) ExitCode() (code int, ended bool) {
	if o.Job.Exit == nil || o.Job.Exit.Code == nil {
		return 0, false
	}
	return int(*o.Job.Exit.Code), true
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
	return j.seen(r.Outcome), nil
}

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
// has reached the NextOffset of the stream in Outcome.
func (j *Job) Question(ctx context.Context) (*Question, error) {
	o, err := j.Wait(ctx, Input())
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
// outcome has the output since then, without the echo of the line. If a Question or an Answer came before, nothing is
// typed unless the program still waits for the same input: the error then has the kind inputNotExpected, and so has that
// of each Answer until the next Question.
func (j *Job) Answer(ctx context.Context, line string, facts ...Fact) (*Outcome, error) {
	if len(facts) == 0 {
		facts = []Fact{Input()}
	}
	j.mu.Lock()
	waiting := j.waiting // It stays if this fails: the next Answer is for the same wait.
	j.mu.Unlock()
	r, err := Call[schema.JobWriteResult](ctx, j.client, "job/write", schema.JobWriteParams{
		Handle: handleID(j.Handle), Input: &line, AppendNewline: new(true), IfWaiting: waiting, Wait: wait(facts),
	})
	if err != nil {
		return nil, err
	}
	if r.Outcome == nil {
		return nil, errNoOutcome
	}
	return j.seen(*r.Outcome), nil
}

// seen notes the wait for input of an outcome, for the next Answer.
func (j *Job) seen(o schema.Outcome) *Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = nil
	if o.Reason == schema.OutcomeReasonInput && o.Job.WaitingForInput != nil {
		j.waiting = o.Job.WaitingForInput.WaitID
	}
	return &Outcome{o}
}
