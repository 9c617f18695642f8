package client_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestSignalAndEOF: a signal reaches the program of a terminal, and its end of input does on pipes too.
func TestSignalAndEOF(t *testing.T) {
	c := start(t, client.Options{})
	j, err := c.Start(t.Context(), client.Line("echo up; exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := j.Wait(t.Context(), client.Pattern("up"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "signal while it runs", o.Signal(), "")
	if err := j.Signal(t.Context(), "USR1"); err != nil {
		t.Fatal(err)
	}
	if o, err = j.Wait(t.Context(), client.Exit()); err != nil {
		t.Fatal(err)
	}
	equal(t, "signal", o.Signal(), "SIGUSR1")
	for _, mode := range []schema.Mode{schema.ModePty, schema.ModePipe} {
		j, err := c.Start(t.Context(), client.Line("read x; wc -c"), func(p *schema.JobStartParams) {
			if p.Mode = &mode; mode == schema.ModePipe {
				p.Stdin = json.RawMessage(`"open"`)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Question(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Answer(t.Context(), "", client.Input()); err != nil {
			t.Fatal(err)
		}
		if err := j.EOF(t.Context()); err != nil {
			t.Fatal(err)
		}
		o, err := j.Wait(t.Context(), client.Exit())
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "output", o.Text(), "0\n")
		equal(t, "signal", o.Signal(), "")
	}
}

// TestJobByHandle: the methods of a job work for the background processes of a Run, and for a job of job/list.
func TestJobByHandle(t *testing.T) {
	c := start(t, client.Options{})
	r, err := c.Run(t.Context(), client.Line("(read x < gate; echo late) >&2 & echo early"), func(p *schema.JobRunParams) {
		p.Cwd, p.DrainMs = new(gated(t)), new(int64(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "status", r.Raw.Job.Status, schema.StatusExited)
	list, err := client.Call[schema.JobListResult](t.Context(), c, "job/list", schema.JobListParams{Live: new(true)})
	if err != nil || len(list.Jobs) != 1 || list.Jobs[0].Handle != r.Raw.Job.Handle {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, handle := range []int64{r.Raw.Job.Handle, list.Jobs[0].Handle} {
		j := c.Job(handle)
		for line, err := range j.Lines(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "line", line, "early")
			break
		}
		o, err := j.Wait(t.Context(), client.Closed(), client.Within(0))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "timed out", o.TimedOut(), true)
	}
	if err := c.Job(r.Raw.Job.Handle).Close(); err != nil {
		t.Fatal(err)
	}
	if list, err = client.Call[schema.JobListResult](t.Context(), c, "job/list", schema.JobListParams{Live: new(true)}); err != nil {
		t.Fatal(err)
	}
	equal(t, "live jobs", len(list.Jobs), 0)
}

// gated returns a directory with a pipe, named gate, that nothing writes to.
func gated(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mkfifo(dir+"/gate", 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestInputKinds: a wait for all kinds of input but passwords goes on while a password is asked for.
func TestInputKinds(t *testing.T) {
	c := start(t, client.Options{})
	j, err := c.Start(t.Context(), client.Line("read -s -p 'Password: ' p; echo; read -p 'Name? ' n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Wait(t.Context(), client.Input(schema.InputKindPassword)); err != nil {
		t.Fatal(err)
	}
	other := client.Input(schema.InputKindLine, schema.InputKindRaw, schema.InputKindFullscreen)
	o, err := j.Wait(t.Context(), other, client.Within(0))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "timed out", o.TimedOut(), true)
	if o, err = j.Answer(t.Context(), "hunter2", other); err != nil {
		t.Fatal(err)
	}
	equal(t, "prompt", o.Question().Prompt, "Name?")
}

// TestExecResult: the result of a command of a shell says whether it has ended, asks, or has run out of time.
func TestExecResult(t *testing.T) {
	c := start(t, client.Options{})
	sh, err := c.Start(t.Context(), client.Shell("bash"))
	if err != nil {
		t.Fatal(err)
	}
	exec := func(line string, edit ...func(*schema.JobExecParams)) *client.ExecResult {
		t.Helper()
		r, err := sh.Exec(t.Context(), line, edit...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	limit := func(p *schema.JobExecParams) { p.TimeoutMs = schema.ValueOf(int64(100)) }
	equal(t, "error", exec("true").Err(), nil)
	equal(t, "error", fmt.Sprint(exec("echo oh; false").Err()), "the command ended with status 1: oh")
	r := exec(`(trap 'exit 0' INT; while :; do sleep 0.01; done)`, limit)
	equal(t, "finished", r.Finished, true)
	equal(t, "timed out", r.TimedOut(), true)
	contains(t, "error", fmt.Sprint(r.Err()), "and its time limit has passed")

	asks := func(p *schema.JobExecParams) {
		p.Wait = &schema.ExecWait{Until: []schema.Condition{{Input: json.RawMessage("true")}}}
	}
	r = exec(`read -p 'Name? ' n; read -t 0.1 x < <(sleep 1); read -p 'Age? ' a; echo "$n,$a"`, asks)
	equal(t, "finished", r.Finished, false)
	contains(t, "error", fmt.Sprint(r.Err()), "the command has not ended")
	q := r.Question()
	if q == nil {
		t.Fatalf("no question: %+v", r)
	}
	equal(t, "prompt", q.Prompt, "Name?")
	equal(t, "text", q.Text, "Name? ")
	if _, err := sh.Answer(t.Context(), "Ada", client.Within(0)); err != nil {
		t.Fatal(err)
	}
	_, err = sh.Answer(t.Context(), "never seen")
	equal(t, "kind", client.KindOf(err), schema.KindInputNotExpected)
	if _, err = sh.Question(t.Context()); err != nil {
		t.Fatal(err)
	}
	o, err := sh.Answer(t.Context(), "36", client.Finished(r.CommandID), client.Within(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "output", o.Text(), "Ada,36")
}
