package client_test

import (
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestAnswerAfterNoQuestion: after a wait for input that has ended without one, an Answer is not typed: a question that
// came later was seen by nobody. Write types ahead all the same.
func TestAnswerAfterNoQuestion(t *testing.T) {
	c := start(t, client.Options{})
	const line = `read -p "one? " a; until [ -s go ]; do sleep 0.01; done; read -p "two? " b; read -p "three? " c; echo "$a,$b,$c"`
	refused := func(t *testing.T, j *client.Job) {
		t.Helper()
		_, err := j.Answer(t.Context(), "never seen", client.Within(0))
		if err == nil {
			t.Fatal("it was typed")
		}
		equal(t, "kind", client.KindOf(err), schema.KindInputNotExpected)
		contains(t, "error", err.Error(), "call Question (or Wait with Input()) first, or use Write")
	}
	tests := []struct {
		name string
		ends func(t *testing.T, j *client.Job) // a wait for input that ends without a question
	}{
		{"answer", func(t *testing.T, j *client.Job) {
			if _, err := j.Question(t.Context()); err != nil {
				t.Fatal(err)
			}
			o, err := j.Answer(t.Context(), "1", client.Input(), client.Within(50*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "timed out", o.TimedOut(), true)
		}},
		{"first answer", func(t *testing.T, j *client.Job) {
			o, err := j.Answer(t.Context(), "1", client.Quiet(50*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "reason", o.Reason, schema.OutcomeReasonQuietMs)
		}},
		{"wait", func(t *testing.T, j *client.Job) {
			if err := j.Write(t.Context(), "1\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := j.Wait(t.Context(), client.Pattern("1\r?\n")); err != nil {
				t.Fatal(err)
			}
			o, err := j.Wait(t.Context(), client.Input(), client.Within(50*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "timed out", o.TimedOut(), true)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			j, err := c.Start(t.Context(), client.Line(line), func(p *schema.JobStartParams) { p.Cwd = &dir })
			if err != nil {
				t.Fatal(err)
			}
			test.ends(t, j)
			refused(t, j)
			if _, err := c.Run(t.Context(), client.Line("echo go > go"), func(p *schema.JobRunParams) { p.Cwd = &dir }); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Job(j.Handle).Question(t.Context()); err != nil { // Asked for by another Job.
				t.Fatal(err)
			}
			refused(t, j)
			if err := j.Write(t.Context(), "2\n"); err != nil {
				t.Fatal(err)
			}
			q, err := j.Question(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "prompt", q.Prompt, "three?")
			if _, err := j.Wait(t.Context(), client.Exit(), client.Within(0)); err != nil { // The question was seen before it.
				t.Fatal(err)
			}
			o, err := j.Answer(t.Context(), "3")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "text", o.Text(), "1,2,3\n")
			_, err = j.Answer(t.Context(), "4")
			equal(t, "kind after the end", client.KindOf(err), schema.KindJobExited)
		})
	}
}
