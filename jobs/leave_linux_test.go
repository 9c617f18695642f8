package jobs

import (
	"strings"
	"testing"
	"time"
)

// What was asked before a job is removed is answered, and in its turn; what comes
// after it finds no job.
func TestRemoveComesInItsTurn(t *testing.T) {
	m, _ := startFiles(t, Limits{})
	for range 50 {
		s := sh("seq 10000")
		s.Mode = ModePipe
		s.Watches = []WatchSpec{{Pattern: "never"}}
		j := mustStart(t, m, s)
		awaitClosed(t, j)
		zero := int64(0)
		read := j.Read(ReadOptions{Stream: Stdout, Offset: &zero, MaxBytes: 100})
		wait, err := j.Wait(&WaitSpec{Until: []Condition{pattern("9999")}, From: Origin{Kind: FromStart}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		unwatch := j.Unwatch(1)
		first, second := j.Remove(false), j.Remove(true)
		late := j.Read(ReadOptions{Stream: Stdout, Offset: &zero, MaxBytes: 100})
		if r := must(t, read); !strings.HasPrefix(string(r.Data), "1\n2\n") {
			t.Fatalf("read %q", r.Data)
		}
		if o := must(t, wait); o.Reason != "pattern" {
			t.Fatalf("the wait ended with %s", o.Reason)
		}
		must(t, unwatch)
		must(t, first)
		refused(t, second, CodeJobNotFound)
		refused(t, late, CodeJobNotFound)
	}
}

// A wait for what was not read yet begins where the read before it ends.
func TestWaitBehindARead(t *testing.T) {
	m, _ := startFiles(t, Limits{})
	for range 50 {
		j := mustStart(t, m, sh("echo READY; read x"))
		start := int64(0)
		must(t, j.Read(ReadOptions{Offset: &start, MaxBytes: 100, Wait: time.Minute})) // moves nothing
		read := j.Read(ReadOptions{MaxBytes: 100})
		wait, err := j.Wait(&WaitSpec{Until: []Condition{pattern("READY")}, Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r := must(t, read); !strings.Contains(string(r.Data), "READY") {
			t.Fatalf("read %q", r.Data)
		}
		if o := must(t, wait); o.Reason != "timeout" {
			t.Fatalf("the wait ended with %s", o.Reason)
		}
		must(t, j.Kill(KillOptions{}))
	}
}
