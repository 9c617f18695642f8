package rpc_test

import (
	"testing"

	"shelld.dev/shelld/schema"
)

func TestStats(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"maxJobs": 3, "spoolTotalBytes": 1 << 20}})
	r := s.stats()
	equal(t, "jobs of a new server", r.Jobs, schema.StatsJobs{Max: 3})
	equal(t, "requests in flight", r.Connection.RequestsInFlight, 1)
	equal(t, "room on disk", r.Spool.DiskMaxBytes, 1<<20)
	equal(t, "jobs", len(r.PerJob), 0)
	if p := r.Process; p.MemoryBytes < p.HeapBytes || p.HeapBytes < 100_000 || p.Goroutines < 5 {
		t.Errorf("the process has %+v", p)
	}

	h := s.pty("echo hello; read x", "name", "asks")
	s.see(h, "hello\r\n")
	over := s.pipe("echo over")
	s.event(over, "job/closed")
	r = s.stats()
	equal(t, "jobs", r.Jobs, schema.StatsJobs{Live: 1, Known: 2, Max: 3})
	equal(t, "on disk", r.Spool.DiskBytes, int64(len("hello\r\nover\n")))
	if n := r.Spool.MemoryBytes; n < 7 || n > 100 {
		t.Errorf("the one that is live has %d bytes in memory", n)
	}
	equal(t, "dropped", r.Spool.DroppedBytes, 0)
	equal(t, "jobs told", len(r.PerJob), 1)
	j := r.PerJob[0]
	equal(t, "handle", j.Handle, h)
	equal(t, "name", str(j.Name), "asks")
	equal(t, "status", j.Status, schema.StatusRunning)
	st := j.Streams["pty"]
	equal(t, "nextOffset", st.NextOffset, 7)
	equal(t, "sentOffset", num(st.SentOffset), 7)
	equal(t, "lagBytes", num(st.LagBytes), 0)
	if st.UnackedBytes != nil || st.Held != nil {
		t.Errorf("a stream that nobody acknowledges has %+v", st)
	}
}

// TestStatsOfWhatIsDropped: dropped output is counted, and output that is not sent has no lag.
func TestStatsOfWhatIsDropped(t *testing.T) {
	s := start(t, "options", obj{"persist": obj{"mode": "memory"}, "limits": obj{"spoolMemoryBytes": 128 << 10}})
	h := s.pipe("seq 300000; exec 1>&-; read x", "stdin", "open", "events", []string{})
	s.await(h, obj{"bytes": len(numbers(1, 300_000))}, "from", "start")
	r := s.stats()
	var kept int64
	for _, k := range s.get(h).Streams["stdout"].Kept {
		kept += k[1] - k[0]
	}
	st := r.PerJob[0].Streams["stdout"]
	equal(t, "dropped", st.DroppedBytes, st.NextOffset-kept)
	equal(t, "dropped in all", r.Spool.DroppedBytes, st.DroppedBytes)
	equal(t, "on disk", r.Spool.DiskBytes, 0)
	if st.SentOffset != nil || st.LagBytes != nil {
		t.Errorf("nothing is sent: %+v", st)
	}
	if st.MemoryBytes < kept || st.MemoryBytes > 256<<10 {
		t.Errorf("%d bytes of memory for %d that are kept", st.MemoryBytes, kept)
	}
}

// TestStatsOfInput: unread input is counted as long as it is queued.
func TestStatsOfInput(t *testing.T) {
	s := start(t)
	h := s.pipe("read x; cat >/dev/null", "stdin", "open")
	before := s.stats().PerJob[0].InputQueueBytes
	equal(t, "before", before, 0)
	do[schema.JobSignalResult](s, "job/signal", obj{"handle": h, "signal": "STOP", "target": "tree"})
	text := numbers(1, 100_000)
	c := s.begin("job/write", obj{"handle": h, "input": text})
	for s.stats().PerJob[0].InputQueueBytes == 0 && !t.Failed() {
	}
	do[schema.JobSignalResult](s, "job/signal", obj{"handle": h, "signal": "CONT", "target": "tree"})
	equal(t, "written", result[schema.JobWriteResult](c).BytesWritten, int64(len(text)))
	equal(t, "after", s.stats().PerJob[0].InputQueueBytes, 0)
}
