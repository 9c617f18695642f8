package jobs

import (
	"testing"
	"time"
)

// All processes of a job are ended when its time comes, even if they ignore TERM, are stopped, have outlived the leader,
// or write to a client that does not read.
func TestLeaseEndsRealJobs(t *testing.T) {
	t.Parallel()
	m := startReal(t, Options{})
	for _, test := range []struct {
		command string
		reason  Reason
		signal  string
	}{
		{"echo; exec sleep 1000", ReasonDetached, "SIGTERM"},
		{"trap '' TERM; setsid sleep 1000 & echo; while :; do sleep 1; done", ReasonDetached, "SIGKILL"},
		{"echo; kill -STOP $$", ReasonDetached, "SIGTERM"},
		{"yes", ReasonDetached, "SIGTERM"},
		{`trap 'exit 3' USR1; setsid sh -c "trap '' TERM; echo; kill -USR1 $$; while :; do sleep 1; done" & wait`, ReasonExited, ""},
	} {
		s := limited(test.command, JobLimits{})
		s.Window = 1000
		j := mustStart(t, m, s)
		await := func(c Condition) {
			p, err := j.Wait(&WaitSpec{Until: []Condition{c}, Timeout: time.Minute, From: Origin{Kind: FromStart}})
			if err != nil {
				t.Fatal(err)
			}
			if o := must(t, p); o.Index != 0 {
				t.Fatalf("%s: the wait ended with %s", test.command, o.Reason)
			}
		}
		await(Condition{Kind: UntilBytes, Bytes: 1})
		if test.reason == ReasonExited {
			await(Condition{Kind: UntilExit})
		}
		at := time.Now().Add(200 * time.Millisecond)
		j.EndAt(at)
		await(Condition{Kind: UntilClosed})
		if time.Now().Before(at) {
			t.Errorf("%s: ended too early", test.command)
		}
		if e := exitOf(t, j); e.Reason != test.reason || e.Signal != test.signal {
			t.Errorf("%s: exit %+v", test.command, e)
		}
	}
}
