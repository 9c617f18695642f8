package rpc_test

import (
	"testing"

	"shelld.dev/shelld/schema"
)

func TestSignals(t *testing.T) {
	s := start(t)
	h := s.pty("trap 'echo usr1' USR1; echo ready; while :; do sleep 60 & wait; done", "shell", "sh")
	s.see(h, "ready")
	do[schema.JobSignalResult](s, "job/signal", obj{"handle": h, "signal": "SIGUSR1", "target": "leader"})
	s.see(h, "usr1")
	do[schema.JobSignalResult](s, "job/signal", obj{"handle": h, "signal": "kill", "target": "tree"})
	equal(t, "exit", s.exit(h), "signaled SIGKILL")
	s.event(h, "job/closed")
	d := refused[schema.JobExitedData](s.begin("job/signal", obj{"handle": h, "signal": "TERM"}), schema.KindJobExited)
	equal(t, "exit", exitText(&d.Exit), "signaled SIGKILL")
}

func TestResizes(t *testing.T) {
	s := start(t)
	h := s.pty("trap 'stty size' WINCH; echo ready; while :; do sleep 60 & wait; done", "shell", "sh")
	s.see(h, "ready")
	do[schema.JobResizeResult](s, "job/resize", obj{"handle": h, "cols": 132, "rows": 43})
	s.see(h, "43 132")
	info := s.get(h)
	equal(t, "cols", info.Cols, 132)
	equal(t, "rows", info.Rows, 43)
	p := s.pipe("sleep 60")
	refused[schema.NotInteractiveData](s.begin("job/resize", obj{"handle": p, "cols": 1, "rows": 1}), schema.KindNotInteractive)
}

func TestWatchesLater(t *testing.T) {
	s := start(t)
	h := s.pipe("echo one; read x; echo one; read x", "stdin", "open", "shell", "sh")
	s.see(h, "one")
	all := do[schema.JobWatchResult](s, "job/watch", obj{"handle": h, "pattern": "o(n)e", "from": "start"}).WatchID
	next := do[schema.JobWatchResult](s, "job/watch", obj{"handle": h, "pattern": "one", "once": true}).WatchID
	equal(t, "first watch", all, 1)
	equal(t, "second watch", next, 2)
	s.write(h, "x\n", "wait", obj{"until": until(obj{"pattern": "one"})})
	do[schema.JobUnwatchResult](s, "job/unwatch", obj{"handle": h, "watchId": all})
	equal(t, "watches left", len(s.get(h).Watches), 0)
	refused[schema.InvalidParamsData](s.begin("job/unwatch", obj{"handle": h, "watchId": all}), schema.KindInvalidParams)
	d := refused[schema.InvalidPatternData](s.begin("job/watch", obj{"handle": h, "pattern": "("}), schema.KindInvalidPattern)
	equal(t, "pointer", str(d.Pointer), "/pattern")
	s.write(h, "x\n", "wait", obj{"until": until(obj{"closed": true})})
	s.event(h, "job/closed")
	equal(t, "matches", len(s.all(h, "job/patternMatched")), 3)
}

func TestRemoves(t *testing.T) {
	s := start(t)
	h := s.pipe("sleep 60", "name", "x")
	d := refused[schema.JobRunningData](s.begin("job/remove", obj{"handle": "x"}), schema.KindJobRunning)
	equal(t, "handle", d.Handle, h)
	s.kill(h)
	do[schema.JobRemoveResult](s, "job/remove", obj{"handle": h})
	refused[schema.JobNotFoundData](s.begin("job/get", obj{"handle": h}), schema.KindJobNotFound)
	equal(t, "jobs", len(do[schema.JobListResult](s, "job/list", nil).Jobs), 0)
}
