package client_test

import (
	"encoding/json"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestOutcome: an outcome has the streams apart, the question or the exit code, and reports cut output and the end of
// its time.
func TestOutcome(t *testing.T) {
	c := start(t, client.Options{})
	line := client.Line(`seq 100; echo warning >&2; printf 'Go? '; read a; exit 3`)
	j, err := c.Start(t.Context(), line, func(p *schema.JobStartParams) {
		p.Mode, p.Stdin = new(schema.ModePipe), json.RawMessage(`"open"`)
	})
	if err != nil {
		t.Fatal(err)
	}
	o, err := j.Wait(t.Context(), client.Input(), func(w *schema.Wait) { w.MaxBytes = new(int64(20)) })
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "stdout", o.Stdout(), "Go? ")
	equal(t, "stderr", o.Stderr(), "warning\n")
	equal(t, "truncated", o.Truncated(), true)
	equal(t, "timed out", o.TimedOut(), false)
	if q := o.Question(); q == nil || q.Prompt != "Go?" || q.Text != o.Text() || q.Outcome != o {
		t.Errorf("question: %+v", q)
	}
	if code, ended := o.ExitCode(); ended {
		t.Errorf("exit code %d before the end", code)
	}
	o, err = j.Wait(t.Context(), client.Exit(), client.Within(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "timed out", o.TimedOut(), true)
	equal(t, "truncated", o.Truncated(), false)
	equal(t, "question", o.Question(), nil)
	o, err = j.Answer(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "question", o.Question(), nil)
	if code, ended := o.ExitCode(); !ended || code != 3 {
		t.Errorf("exit code %d, %v", code, ended)
	}
	equal(t, "timed out", o.TimedOut(), false)

	j, err = c.Start(t.Context(), client.Line("echo out; echo err >&2; kill -9 $$"))
	if err != nil {
		t.Fatal(err)
	}
	o, err = j.Wait(t.Context(), client.Exit())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "stdout of a terminal", o.Stdout(), "out\nerr\n")
	equal(t, "stderr of a terminal", o.Stderr(), "")
	if code, ended := o.ExitCode(); ended {
		t.Errorf("exit code %d of a killed command", code)
	}
}
