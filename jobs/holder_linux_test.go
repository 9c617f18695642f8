package jobs

import "testing"

// Commands of others that wait for a shell never run once the holder has changed; the one that runs goes on. Variables
// of a shell are changed by the holder alone.
func TestHolderOfShell(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	must(t, j.TakeInput(takeBy("a", false)))
	runs := beginAsleep(t, j, ExecOptions{Owner: "a"})
	exec := func(owner string) Pending[ExecResult] {
		p, err := j.Exec(ExecOptions{Command: "echo of-" + owner, Wait: execWait(-1), Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	set := func(owner string) Pending[struct{}] {
		value := "v"
		p, err := j.ChangeVariable("V", &value, false, Asker{}, owner)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	isHeld(t, exec("b"), "a")
	isHeld(t, set("b"), "a")
	waits := exec("a")
	must(t, j.TakeInput(takeBy("b", true)))
	if e := refused(t, waits, CodeCanceled); e.CommandID != 2 || e.Fate != CommandDropped {
		t.Errorf("%+v", e)
	}
	isHeld(t, exec("a"), "b")
	after := exec("b")
	p, err := j.Signal("INT", SignalForeground, Asker{})
	if err != nil {
		t.Fatal(err)
	}
	must(t, p)
	if r := must(t, runs); !r.Command.Finished {
		t.Errorf("%+v", r)
	}
	if r := must(t, after); *r.Command.ExitCode != 0 || r.Command.ID != 3 {
		t.Errorf("%+v", r)
	}
	must(t, set("b"))
	isHeld(t, set("a"), "b")
	must(t, j.Kill(KillOptions{}))
}
