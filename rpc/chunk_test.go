package rpc

import (
	"testing"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// TestChunksAreFilled: a flood fills its chunks, and arrives completely.
func TestChunksAreFilled(t *testing.T) {
	m, o, g := stuckOutbox(t, jobs.Limits{})
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
	var sizes []int64
	var sum int64
	for _, e := range g.pass(t, o) {
		if e.Method == "job/output" {
			sizes = append(sizes, e.Params.Bytes)
			sum += e.Params.Bytes
		}
	}
	if sum != all {
		t.Errorf("%d bytes came, of %d", sum, all)
	}
	// The first message was sent long ago, or just now.
	for i, n := range sizes[:len(sizes)-1] {
		if n != smallChunk && n != chunkBytes || i > 0 && n < sizes[i-1] {
			t.Fatalf("messages have %d bytes", sizes)
		}
	}
}

// TestBesideAFlood: messages beside a flood make the flood's messages small, for some time.
func TestBesideAFlood(t *testing.T) {
	const flood, other, third = 7, 8, 9
	o := &outbox{}
	for _, c := range []struct {
		what   string
		job    int64 // 0: an answer
		n      int
		filled bool
		beside bool
	}{
		{"a flood", flood, 100_000, true, false},
		{"what is left of it", flood, 50_000, false, false},
		{"a job that had nothing", other, 0, false, false},
		{"another flood", other, 300_000, true, false},
		{"a job's screen", third, 30_000, false, true},
		{"the flood again", flood, 100_000, true, false},
		{"an answer", 0, 300_000, false, true},
	} {
		o.beside.last, o.beside.filled = time.Time{}, c.filled
		if c.job == 0 {
			o.beside.answered()
		} else {
			o.beside.sent(c.job, c.n)
		}
		if got := !o.beside.last.IsZero(); got != c.beside {
			t.Errorf("%s is beside a flood: %v, want %v", c.what, got, c.beside)
		}
	}
	sizes := func(what string, batch, chunk int) {
		if o.enough() != batch || o.chunk() != chunk {
			t.Errorf("%s: a batch of %d, messages of %d; want %d and %d", what, o.enough(), o.chunk(), batch, chunk)
		}
	}
	o.beside.last = time.Now().Add(time.Hour)
	sizes("beside", smallBatch, smallChunk)
	o.direct.on = true
	sizes("who writes for run", directBytes, smallChunk)
	o.direct.on, o.beside.last = false, time.Now().Add(-besideTime)
	sizes("long after", batchBytes, chunkBytes)
}
