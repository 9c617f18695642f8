package main

import (
	"testing"

	"shelld.dev/shelld/schema"
)

// TestHintAfterRestart kills the program while a job runs that then cannot run its command: after the restart, the answer
// with its end says why, also if the job is closed by then.
func TestHintAfterRestart(t *testing.T) {
	t.Parallel()
	name, root, on := newSession(t), t.TempDir(), gate(t)
	p := startMember(t, name, root)
	contains(t, p.says(1, "shell", `{"command":"cat `+on+`; no-such-program-here","wait":"none"}`), "[job 1, running")
	p.settles()
	p.dies()
	opens(t, on, "")
	wait := schema.JobWaitParams{Handle: handleID(1), Until: []schema.Condition{{Closed: new(true)}}, TimeoutMs: schema.NullOf[int64]()}
	if err := attach(t, name, schema.InitializeParams{}).Call(t.Context(), "job/wait", wait, nil); err != nil {
		t.Fatal(err)
	}
	p = startMember(t, name, root)
	contains(t, p.says(1, "shell", `{"job":1,"wait":"none"}`), "[job 1, ended, exit code 127]", "no-such-program-here was not found")
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		t.Errorf("it ends with %v: %s", err, p.stderr.String())
	}
}
