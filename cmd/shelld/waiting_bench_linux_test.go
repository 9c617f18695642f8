package main

import (
	"encoding/json"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

// BenchmarkIdleWaits reports the cost of 200 jobs that wait for input, or sleep, with and without a client that gets
// events about that: in percent of one processor, over ten seconds, beginning ten seconds after the last start.
func BenchmarkIdleWaits(b *testing.B) {
	const jobs, window = 200, 10 * time.Second
	waits := [][]string{{"bash", "--norc", "--noprofile"}, {"cat"}}
	for _, c := range []struct {
		name   string
		events schema.List[schema.EventName]
		argv   [][]string
	}{
		{"waiting/nobody", schema.List[schema.EventName]{schema.EventNameExited}, waits},
		{"waiting/told", schema.List[schema.EventName]{schema.EventNameWaitingForInput, schema.EventNameExited}, waits},
		{"sleeping/told", schema.List[schema.EventName]{schema.EventNameWaitingForInput, schema.EventNameExited}, [][]string{{"sleep", "1000"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := serveBench(b, "exited")
			for i := range jobs {
				s.start(schema.JobStartParams{Argv: c.argv[i%len(c.argv)], Events: c.events, Group: ptr("idle")})
			}
			time.Sleep(window)
			for b.Loop() {
				before := spentBy(s.cmd.Process.Pid)
				time.Sleep(window)
				used := spentBy(s.cmd.Process.Pid).onCPU - before.onCPU
				b.ReportMetric(100*float64(used)/float64(window), "%-of-a-processor")
			}
			b.ReportMetric(0, "ns/op")
			s.call("job/kill", struct {
				Group string `json:"group"`
			}{"idle"}, nil)
		})
	}
}

// BenchmarkAnswer answers a question, and measures the time until the next one is reported: by the condition input, by
// a pattern for the question, and by a pattern anchored at the end of the output.
func BenchmarkAnswer(b *testing.B) {
	for _, c := range []struct {
		name string
		next schema.Condition
	}{
		{"input", schema.Condition{Input: json.RawMessage("true")}},
		{"pattern", schema.Condition{Pattern: ptr(`\? `)}},
		{"leaning", schema.Condition{Pattern: ptr(`\? $`)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := serveBench(b, "exited")
			until := &schema.Wait{Until: schema.List[schema.Condition]{c.next}}
			handle := s.start(schema.JobStartParams{Argv: []string{"sh", "-c", `while printf 'more? '; read -r x; do :; done`}, Wait: until})
			measure(b, s.cmd.Process.Pid, func() {
				var r schema.JobWriteResult
				s.call("job/write", schema.JobWriteParams{Handle: handle, Input: ptr("y\n"), Wait: until}, &r)
				if r.Outcome.Reason == schema.OutcomeReasonTimeout {
					b.Fatal("it does not ask again")
				}
			})
		})
	}
}
