package client_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// onPipes starts a job without a terminal.
func onPipes(p *schema.JobStartParams) { p.Mode = new(schema.ModePipe) }

// TestFlood: 100 MB of output come whole through the loop, in little memory.
func TestFlood(t *testing.T) {
	all := 100_000_000
	if testing.Short() {
		all = 20_000_000
	}
	c := start(t, client.Options{})
	j, err := c.Start(t.Context(), client.Line(fmt.Sprintf("seq 13000000 | head -c %d", all)), onPipes, client.Lossless)
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.New()
	numbers(want, all)
	got, n, most := sha256.New(), 0, uint64(0)
	var memory runtime.MemStats
	for chunk, err := range j.Output(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Gap != nil {
			t.Fatalf("a gap from %d to %d", chunk.Gap.From, chunk.Gap.To)
		}
		_, _ = io.WriteString(got, chunk.Text)
		if n += len(chunk.Text); n>>23 != (n-len(chunk.Text))>>23 {
			runtime.ReadMemStats(&memory)
			most = max(most, memory.HeapInuse)
		}
	}
	equal(t, "bytes", n, all)
	equal(t, "checksum", fmt.Sprintf("%x", got.Sum(nil)), fmt.Sprintf("%x", want.Sum(nil)))
	if most > 40<<20 {
		t.Errorf("%d MiB of memory were in use", most>>20)
	}
}

// numbers writes the first n bytes of the output of seq.
func numbers(h hash.Hash, n int) {
	var buf []byte
	for i := 1; n > 0; i++ {
		buf = fmt.Appendln(buf, i)
		if len(buf) >= 1<<16 || len(buf) >= n {
			k := min(n, len(buf))
			_, _ = h.Write(buf[:k])
			n, buf = n-k, buf[:0]
		}
	}
}

// TestSlowReader: a program whose output is not read waits, and goes on when the loop is left.
func TestSlowReader(t *testing.T) {
	c := start(t, client.Options{})
	j, err := c.Start(t.Context(), client.Line("yes | head -c 50000000; echo done >&2"), onPipes, client.Lossless)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range j.Output(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := j.Wait(t.Context(), client.Exit(), client.Within(300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "while nothing is read", o.Reason, schema.OutcomeReasonTimeout)
		if next := o.Job.Streams["stdout"].NextOffset; next > 10<<20 {
			t.Errorf("the program has written %d bytes", next)
		}
		break
	}
	o, err := j.Wait(t.Context(), client.Exit())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "after the loop", o.Reason, schema.OutcomeReasonExit)
}

// TestOutputAgain: the output of a job can be read several times, during it and after its end; also by a client that
// gets its events.
func TestOutputAgain(t *testing.T) {
	for _, onEvent := range []func(client.Event){nil, func(client.Event) {}} {
		c := start(t, client.Options{OnEvent: onEvent})
		j, err := c.Start(t.Context(), client.Line(`printf 'one\ntwo\n'; read x; printf '\377three'`))
		if err != nil {
			t.Fatal(err)
		}
		for line, err := range j.Lines(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "first line", line, "one")
			break
		}
		if _, err := j.Question(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Answer(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			got := slices.Collect(lines(t, j))
			if want := []string{"one", "two", "", "\xffthree"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if _, err := j.Wait(t.Context(), client.Closed()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func lines(t *testing.T, j *client.Job) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line, err := range j.Lines(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(line) {
				return
			}
		}
	}
}

// TestOutputEnds: a loop over output ends with an error when its context or the server ends, and a second loop at a
// time is refused.
func TestOutputEnds(t *testing.T) {
	c := start(t, client.Options{})
	j, err := c.Start(t.Context(), client.Line("echo begin; sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	last := func(ctx context.Context, during func()) (last error) {
		for _, err := range j.Output(ctx) {
			if err == nil {
				during()
			}
			last = err
		}
		return last
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := last(ctx, cancel); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	err = last(t.Context(), func() {
		if err := last(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), "once at a time") {
			t.Error(err)
		}
		go c.Close()
	})
	if err != nil && !errors.Is(err, client.ErrServerGone) { // The end of the job may come first.
		t.Error(err)
	}
}

// TestCancelledCalls: a thousand cancelled calls leave no process, goroutine or descriptor.
func TestCancelledCalls(t *testing.T) {
	c := start(t, client.Options{})
	if _, err := c.Run(t.Context(), client.Argv("true")); err != nil {
		t.Fatal(err)
	}
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	calls := 1000
	if testing.Short() {
		calls = 100
	}
	var all sync.WaitGroup
	for i := range calls {
		if i%50 == 0 {
			all.Wait()
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%20)*time.Millisecond)
			defer cancel()
			_, err := c.Run(ctx, client.Line("sleep 1000 & sleep 1001"))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	all.Wait()
	for { // The ends of the last jobs.
		r, err := client.Call[schema.JobListResult](t.Context(), c, "job/list", schema.JobListParams{})
		if err != nil {
			t.Fatal(err)
		}
		live := slices.IndexFunc(r.Jobs, func(j schema.JobInfo) bool { return j.Status != schema.StatusClosed })
		if live < 0 {
			break
		}
		if _, err := c.Job(r.Jobs[live].Handle).Wait(t.Context(), client.Closed()); err != nil {
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, before it were %d", n, goroutines)
	}
	equal(t, "descriptors", descriptors(t), files)
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestQuestionOnPipes: a job on pipes with an open stdin asks, and its streams are separate. The end of the text of a
// question is an offset of Output.
func TestQuestionOnPipes(t *testing.T) {
	c := start(t, client.Options{})
	j, err := c.Start(t.Context(), client.Line("echo warning >&2; printf 'Name? '; read n; echo Hello, $n"), func(p *schema.JobStartParams) {
		p.Mode, p.Stdin = new(schema.ModePipe), json.RawMessage(`"open"`)
	})
	if err != nil {
		t.Fatal(err)
	}
	q, err := j.Question(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "text", q.Text, "Name? warning\n")
	equal(t, "end", q.Outcome.Output["stdout"].NextOffset, 6)
	o, err := j.Answer(t.Context(), "Ada", client.Pattern("Hello.*\n"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "end", o.Output["stdout"].NextOffset, 17)
	got := map[schema.Stream]string{}
	for chunk, err := range j.Output(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got[chunk.Stream] += chunk.Text
	}
	equal(t, "stdout", got["stdout"], "Name? Hello, Ada\n")
	equal(t, "stderr", got["stderr"], "warning\n")
}

// TestTimeLimit: a time limit of Run keeps the output, and a long output has its length.
func TestTimeLimit(t *testing.T) {
	c := start(t, client.Options{})
	r, err := c.Run(t.Context(), client.Line("seq 1000000; sleep 1000"), func(p *schema.JobRunParams) { p.TimeoutMs = schema.ValueOf(int64(3000)) })
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "timed out", r.TimedOut, true)
	cut := r.Raw.Truncated["stdout"]
	equal(t, "bytes", cut.HeadBytes+cut.OmittedBytes+cut.TailBytes, 6888896)
	j, err := c.Start(t.Context(), client.Line("echo begin; sleep 1000"), func(p *schema.JobStartParams) { p.KillAfterMs = new(int64(1000)) })
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range j.Output(t.Context()) { // It ends by itself.
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTooLongInput: input over the server's limit is an error, and the client goes on.
func TestTooLongInput(t *testing.T) {
	c := start(t, client.Options{Initialize: schema.InitializeParams{Options: &schema.Options{
		Limits: &schema.LimitOptions{MaxMessageBytes: new(int64(1 << 20))},
	}}})
	_, err := c.Run(t.Context(), client.Argv("printf", strings.Repeat("x", 1<<20)))
	var e *client.TooLongError
	if !errors.As(err, &e) || e.Limit != 1<<20 {
		t.Error(err)
	}
	if _, err := c.Run(t.Context(), client.Argv("printf", strings.Repeat("<", 100_000))); err != nil {
		t.Error(err)
	}
}

// TestExitStatus: a status other than 0 is an error only if it is asked for.
func TestExitStatus(t *testing.T) {
	c := start(t, client.Options{})
	r, err := c.Run(t.Context(), client.Line("echo out; echo no such thing >&2; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "code", r.Code, 3)
	equal(t, "stdout", r.Stdout, "out\n")
	equal(t, "error", fmt.Sprint(r.Err()), "the command ended with status 3: no such thing")
	r, err = c.Run(t.Context(), client.Line("kill -9 $$"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "signal", r.Signal, "SIGKILL")
	equal(t, "code", r.Code, -1)
	equal(t, "error", fmt.Sprint(r.Err()), "the command was ended: signaled (SIGKILL)")
	r, err = c.Run(t.Context(), client.Line("trap 'exit 0' TERM; while :; do sleep 0.01; done"), func(p *schema.JobRunParams) { p.KillAfterMs = new(int64(200)) })
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "code", r.Code, 0)
	contains(t, "error", fmt.Sprint(r.Err()), "the command was ended: timeout (status 0)")
	r, err = c.Run(t.Context(), client.Argv("true"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "error", r.Err(), nil)
	_, err = c.Run(t.Context(), client.Argv("gti"))
	equal(t, "kind", client.KindOf(err), schema.KindCommandNotFound)
}

// TestQuestionThatNeverComes: a program that ends instead is an error, and an answer is typed only to its question.
func TestQuestionThatNeverComes(t *testing.T) {
	c := start(t, client.Options{})
	j, err := c.Start(t.Context(), client.Line("echo bye"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Question(t.Context())
	var none *client.QuestionError
	if !errors.As(err, &none) {
		t.Fatal(err)
	}
	equal(t, "text", none.Outcome.Text(), "bye\n")

	j, err = c.Start(t.Context(), client.Line("read -p 'one? ' a; read -p 'two? ' b; echo $a,$b"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = j.Question(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Write(t.Context(), "meddling\n"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // An Answer that has failed does not unlock the next one.
		_, err = j.Answer(t.Context(), "1")
		equal(t, "kind", client.KindOf(err), schema.KindInputNotExpected)
	}
	q, err := j.Question(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "prompt", q.Prompt, "two?")
	o, err := j.Answer(t.Context(), "2")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "text", o.Text(), "meddling,2\n")
}

// TestCallbacks: errors of callbacks decline and deny; events come in order, and their function may make calls.
func TestCallbacks(t *testing.T) {
	var c *client.Client
	ready, events := make(chan struct{}), make(chan string, 100)
	c = start(t, client.Options{
		OnSecret: func(context.Context, schema.ClientSecretParams) (string, error) {
			return "", errors.New("nobody is here")
		},
		OnConfirm: func(_ context.Context, ask schema.ClientConfirmParams) (schema.ConfirmOutcome, error) {
			if strings.Contains(ask.Command, "rm") {
				return "", errors.New("nobody is here")
			}
			return schema.ConfirmOutcomeOnce, nil
		},
		OnEvent: func(e client.Event) {
			<-ready
			if e.Method == "job/waitingForInput" {
				return // It may come several times.
			}
			var p struct{ Handle int64 }
			if err := e.Decode(&p); err != nil {
				t.Error(err)
			}
			if e.Method == "job/started" {
				if _, err := c.Job(p.Handle).Wait(t.Context(), client.Exit()); err != nil {
					t.Error(err)
				}
			}
			events <- e.Method
		},
		Initialize: schema.InitializeParams{Options: &schema.Options{
			Confirm: &schema.ConfirmOptions{Start: new(schema.ConfirmVerdictAsk)},
		}},
	})
	close(ready)
	_, err := c.Run(t.Context(), client.Line("rm -rf build"))
	equal(t, "kind", client.KindOf(err), schema.KindConfirmationDenied)
	j, err := c.Start(t.Context(), client.Line("read -s -p 'Password: ' -t 2 p; echo; echo got ${#p}"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := j.Wait(t.Context(), client.Exit())
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "text", o.Text(), "got 0")
	for _, want := range []string{"job/started", "job/exited", "job/closed"} {
		equal(t, "event", <-events, want)
	}
}

// TestLongSecret: a password that is too long for a message is declined, and the server logs why.
func TestLongSecret(t *testing.T) {
	log, stderr := io.Pipe()
	c := start(t, client.Options{
		Stderr: stderr,
		OnSecret: func(context.Context, schema.ClientSecretParams) (string, error) {
			return strings.Repeat("x", 1<<20), nil
		},
		Initialize: schema.InitializeParams{Options: &schema.Options{
			Limits: &schema.LimitOptions{MaxMessageBytes: new(int64(1 << 20))},
		}},
	})
	if _, err := c.Start(t.Context(), client.Line("read -s -p 'Password: ' p")); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "counts as declined") {
			contains(t, "log", line, "takes at most 1048576")
			break
		}
	}
	_ = log.Close() // Copying goes on, and fails.
}

// TestEventsDuringLoop: a loop over the output of a job adds events, and leaves OnEvent those that the job's start has
// named.
func TestEventsDuringLoop(t *testing.T) {
	events := make(chan string, 100)
	c := start(t, client.Options{
		OnEvent:    func(e client.Event) { events <- e.Method },
		Initialize: schema.InitializeParams{Options: &schema.Options{Events: []string{"started", "exited"}}},
	})
	j, err := c.Start(t.Context(), client.Line("echo one; read x; echo two; read x; echo three"), func(p *schema.JobStartParams) {
		p.Watch = []schema.Watch{{Pattern: "one|two|three"}}
		p.Events = []schema.EventName{schema.EventNamePatternMatched, schema.EventNameClosed}
	})
	if err != nil {
		t.Fatal(err)
	}
	for line, err := range j.Lines(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if line == "two" {
			break
		}
		if line == "one" {
			equal(t, "event", <-events, "job/patternMatched")
			if err := j.Write(t.Context(), "\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	equal(t, "event", <-events, "job/patternMatched")
	if err := j.Write(t.Context(), "\n"); err != nil {
		t.Fatal(err)
	}
	equal(t, "event", <-events, "job/patternMatched")
	equal(t, "event", <-events, "job/closed")

	j, err = c.Start(t.Context(), client.Line("true")) // It has the events of every job.
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range j.Output(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "event", <-events, "job/started")
	equal(t, "event", <-events, "job/exited")
}

// TestGapInLines: the line around a gap is two lines.
func TestGapInLines(t *testing.T) {
	c := start(t, client.Options{Initialize: schema.InitializeParams{Options: &schema.Options{
		Persist: &schema.PersistOptions{Mode: new(schema.PersistModeMemory)},
		Limits:  &schema.LimitOptions{SpoolMemoryBytes: new(int64(1 << 20))},
	}}})
	j, err := c.Start(t.Context(), client.Line("seq 1000000"), onPipes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Wait(t.Context(), client.Closed()); err != nil {
		t.Fatal(err)
	}
	gaps, kept, text := int64(0), 0, ""
	for chunk, err := range j.Output(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Gap != nil {
			gaps += chunk.Gap.To - chunk.Gap.From
			text += "\n" // The line has no end.
		}
		kept += len(chunk.Text)
		text += chunk.Text
	}
	if gaps == 0 || int64(kept)+gaps != 6_888_896 {
		t.Errorf("%d bytes, and %d in gaps", kept, gaps)
	}
	got, want := slices.Collect(lines(t, j)), strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}

// TestPasswordsAreThePersons: with OnSecret, a password prompt is no question for the caller, and takes none of its input.
func TestPasswordsAreThePersons(t *testing.T) {
	asked, typed := make(chan struct{}), make(chan struct{})
	c := start(t, client.Options{OnSecret: func(context.Context, schema.ClientSecretParams) (string, error) {
		close(asked)
		<-typed
		return "hunter2", nil
	}})
	j, err := c.Start(t.Context(), client.Line("read -p 'Name? ' n; read -s -p 'Password: ' p; echo got ${#p}; read -p 'Go on? ' g"))
	if err != nil {
		t.Fatal(err)
	}
	q, err := j.Question(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "prompt", q.Prompt, "Name?")
	type answer struct {
		*client.Outcome
		error
	}
	answered := make(chan answer, 1)
	go func() {
		o, err := j.Answer(t.Context(), "Ada")
		answered <- answer{o, err}
	}()
	<-asked
	equal(t, "kind", client.KindOf(j.Write(t.Context(), "guess\r")), schema.KindPolicyDenied)
	o, err := c.Job(j.Handle).Wait(t.Context(), client.Input(schema.InputKindPassword))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "prompt", o.Question().Prompt, "Password:")
	select {
	case a := <-answered:
		t.Fatalf("Answer has returned at the password prompt: %v", a)
	default:
	}
	close(typed)
	a := <-answered
	if a.error != nil {
		t.Fatal(a.error)
	}
	equal(t, "prompt", a.Question().Prompt, "Go on?")
}
