package client_test

import (
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"shelld.dev/shelld/client"
)

// BenchmarkRun runs true through a server, and by package os/exec with both outputs captured, in turn:
//
//	go test -run '^$' -bench Run -benchtime 1000x ./client
func BenchmarkRun(b *testing.B) {
	c := must(client.Start(b.Context(), client.Options{}))
	defer c.Close()
	must(c.Run(b.Context(), client.Argv("true")))
	var ours, theirs []time.Duration
	for b.Loop() {
		began := time.Now()
		must(c.Run(b.Context(), client.Argv("true")))
		ours = append(ours, time.Since(began))

		began = time.Now()
		must(exec.Command("true").CombinedOutput())
		theirs = append(theirs, time.Since(began))
	}
	b.ReportMetric(float64(median(ours).Microseconds()), "run-p50-µs")
	b.ReportMetric(float64(median(theirs).Microseconds()), "exec-p50-µs")
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkOutput reads 100 MB of a program's output.
func BenchmarkOutput(b *testing.B) {
	c := must(client.Start(b.Context(), client.Options{}))
	defer c.Close()
	b.SetBytes(100_000_000)
	for b.Loop() {
		j := must(c.Start(b.Context(), client.Line("seq 13000000 | head -c 100000000"), onPipes, client.Lossless))
		for chunk, err := range j.Output(b.Context()) {
			must(io.WriteString(io.Discard, must(chunk.Text, err)))
		}
	}
}

// BenchmarkCall makes calls that take the server the least time.
func BenchmarkCall(b *testing.B) {
	c := must(client.Start(b.Context(), client.Options{}))
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Call(b.Context(), "job/list", struct{}{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
