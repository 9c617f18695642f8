package rpc

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"shelld/jobs"
	"shelld/schema"
)

// A message that something else may wait behind is small; where there is nothing but a
// flood to send, messages grow.
func TestChunksGrow(t *testing.T) {
	if len(jobs.Platform().Modes) == 0 {
		t.Skip("there are no jobs on this system")
	}
	m, err := jobs.NewManager(jobs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		m.Shutdown()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	met := make(chan struct{})
	g := &gate{open: make(chan struct{}), met: met}
	o := newOutbox(g, lineFraming)
	o.send([]byte(`{"method":"first"}`))
	<-met // The writer is stuck until all that is to be sent is there.
	const all = 600_000
	command := "head -c 600000 /dev/zero | tr '\\0' x"
	j, started, refused := m.Start(jobs.Spec{Command: &command, Shell: "sh", Mode: jobs.ModePipe, Stderr: jobs.StderrDiscard,
		Sink: newLane(o, nil, []schema.EventName{schema.EventNameOutput}, schema.EncodingText)})
	if refused != nil {
		t.Fatal(refused)
	}
	<-started.C
	closed, _ := j.Wait(&jobs.WaitSpec{Until: []jobs.Condition{{Kind: jobs.UntilClosed}}, Timeout: time.Minute})
	if r := <-closed.C; r.Err != nil {
		t.Fatal(r.Err)
	}
	close(g.open)
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	var sum int64
	for line := range bytes.Lines(g.got.Bytes()) {
		var e struct {
			Method string
			Params schema.JobOutputParams
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Method == "job/output" {
			sizes = append(sizes, e.Params.Bytes)
			sum += e.Params.Bytes
		}
	}
	if sum != all {
		t.Errorf("%d bytes came, of %d", sum, all)
	}
	if sizes[0] != smallChunk || !slices.IsSorted(sizes[:len(sizes)-1]) || slices.Max(sizes) != chunkBytes {
		t.Errorf("messages have %d bytes", sizes)
	}
	// What another job has to say, or an answer, ends that; another message of the same job does not.
	for _, c := range []struct {
		handle int64
		n      int
		want   int
	}{{7, 100_000, chunkBytes}, {7, 500, chunkBytes}, {8, 0, chunkBytes}, {8, 500, smallChunk}, {7, 100_000, smallChunk * 5 / 4}} {
		if o.adapt(c.handle, c.n); o.chunk != c.want {
			t.Errorf("after %d bytes of job %d the next chunk may have %d, want %d", c.n, c.handle, o.chunk, c.want)
		}
	}
}
