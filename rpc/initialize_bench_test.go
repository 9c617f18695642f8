package rpc_test

import (
	"bufio"
	"context"
	"io"
	"testing"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
)

// BenchmarkInitialize measures the time from the request to its answer, on a running server.
func BenchmarkInitialize(b *testing.B) {
	if len(jobs.Platform().Modes) == 0 {
		b.Skip("there are no jobs on this system")
	}
	for b.Loop() {
		b.StopTimer()
		m, err := jobs.NewManager(jobs.Options{Root: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = rpc.Serve(context.Background(), inR, outW, m, rpc.Options{})
			_ = m.Close() // Other tests check its result.
		}()
		answers := bufio.NewReader(outR)
		b.StartTimer()
		_, _ = io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"options":{"persist":{"mode":"memory"}}}}`+"\n")
		if _, err := answers.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = inW.Close()
		<-over
		b.StartTimer()
	}
}
