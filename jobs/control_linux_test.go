package jobs

import (
	"testing"
	"time"
)

func await(t *testing.T, j *Job, c Condition) {
	t.Helper()
	p, err := j.Wait(&WaitSpec{Until: []Condition{c}, From: Origin{Kind: FromStart}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if o := must(t, p); o.Index != 0 {
		t.Fatalf("%+v", o)
	}
}

func TestSignal(t *testing.T) {
	m := startReal(t, Options{})
	j := started(t, m, sh(`trap 'echo usr1' USR1; echo ready; while :; do sleep 1 & wait; done`), "ready")
	for _, name := range []string{"USR1", "SIGUSR1", "sigusr1"} {
		p, err := j.Signal(name, SignalLeader, Asker{})
		if err != nil {
			t.Fatal(err)
		}
		must(t, p)
	}
	await(t, j, pattern("usr1"))
	if _, err := j.Signal("NONSENSE", SignalTree, Asker{}); err == nil || len(err.Valid) == 0 {
		t.Errorf("an unknown signal: %v", err)
	}
	p, _ := j.Signal("KILL", SignalTree, Asker{})
	must(t, p)
	o := awaitClosed(t, j)
	// No kill was requested: the signal ended it.
	if e := o.State.Exit; e.Signal != "SIGKILL" || e.Reason != ReasonSignaled {
		t.Errorf("%+v", e)
	}
	p, _ = j.Signal("TERM", SignalLeader, Asker{})
	refused(t, p, CodeJobExited)
}

func TestResize(t *testing.T) {
	m := startReal(t, Options{})
	j := started(t, m, sh(`trap 'stty size' WINCH; echo ready; while :; do sleep 1 & wait; done`), "ready")
	must(t, j.Resize(100, 40, ""))
	await(t, j, pattern("40 100"))
	if info := must(t, j.Info()); info.Cols != 100 || info.Rows != 40 {
		t.Errorf("%d×%d", info.Cols, info.Rows)
	}
	must(t, j.Kill(KillOptions{}))
	refused(t, j.Resize(1, 1, ""), CodeJobExited)
	s := sh("read x")
	s.Mode, s.OpenStdin = ModePipe, true
	refused(t, mustStart(t, m, s).Resize(1, 1, ""), CodeNotInteractive)
}

func TestWatchAndUnwatch(t *testing.T) {
	m := startReal(t, Options{})
	sink := &recorder{}
	s := sh("echo one; read x; echo two one; read x; echo one")
	s.Sink, s.Watches = sink, []WatchSpec{{Pattern: "never"}}
	j := started(t, m, s, "one")
	watch := func(w WatchSpec, fromStart bool) int {
		p, err := j.Watch(w, fromStart)
		if err != nil {
			t.Fatal(err)
		}
		return must(t, p)
	}
	all, next := watch(WatchSpec{Pattern: "one"}, true), watch(WatchSpec{Pattern: "one"}, false)
	if all != 2 || next != 3 {
		t.Errorf("watches %d and %d, want those behind the start's one", all, next)
	}
	w, _ := j.Write(Input{Text: "a", AppendNewline: true, Wait: &WaitSpec{Until: []Condition{pattern("two one\r\n")}, Timeout: time.Minute}})
	must(t, w)
	must(t, j.Unwatch(all))
	refused(t, j.Unwatch(all), CodeInvalidParams)
	if info := must(t, j.Info()); len(info.Watches) != 2 || info.Watches[1].ID != next {
		t.Errorf("watches %+v", info.Watches)
	}
	w, _ = j.Write(Input{Text: "b", AppendNewline: true})
	must(t, w)
	awaitClosed(t, j)
	got := map[int]int{}
	for _, e := range sink.events {
		if e.Matched != nil {
			got[e.Matched.WatchID]++
		}
	}
	if got[all] != 2 || got[next] != 2 || len(got) != 2 {
		t.Errorf("matches by watch: %v", got)
	}
	// A watch works on the output of an ended job too.
	late := watch(WatchSpec{Pattern: "two"}, true)
	await(t, j, pattern("two"))
	if info := must(t, j.Info()); len(info.Watches) != 3 || info.Watches[2].ID != late {
		t.Errorf("watches %+v", info.Watches)
	}
}

func TestRemove(t *testing.T) {
	m := startReal(t, Options{})
	j := mustStart(t, m, sh("read x"))
	if e := refused(t, j.Remove(false), CodeJobRunning); e.Handle != j.ID() {
		t.Errorf("%+v", e)
	}
	must(t, j.Kill(KillOptions{}))
	must(t, j.Remove(false))
	if _, err := m.Lookup(Ref{Handle: j.ID()}); err == nil {
		t.Error("it is still known")
	}
	<-j.done
	refused(t, j.Info(), CodeJobNotFound)
}
