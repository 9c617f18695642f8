package rpc_test

import (
	"path/filepath"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// quietJob starts a pipe job without streams: all its output goes to one file.
func quietJob(s *session, command string, more ...any) int64 {
	s.t.Helper()
	return s.pipe(command, append([]any{"stdoutFile", filepath.Join(s.t.TempDir(), "all"), "stderr", "merge"}, more...)...)
}

// TestJobWithoutStreams: it lives and ends like any other, and requests about its output get an error that there is
// none.
func TestJobWithoutStreams(t *testing.T) {
	s, f := start(t), newFifo(t)
	h := quietJob(s, "echo unseen; cat <"+f.path, "wait", obj{"until": until(obj{"quietMs": 20})})
	equal(t, "streams", len(s.get(h).Streams), 0)
	for method, c := range map[string]struct {
		params  obj
		pointer string
	}{
		"job/read":  {obj{"handle": h}, "/stream"},
		"job/watch": {obj{"handle": h, "pattern": "x"}, "/pattern"},
		"job/wait":  {obj{"handle": h, "until": until(obj{"pattern": "x"})}, "/until/0/pattern"},
	} {
		a := s.begin(method, c.params)
		d := refused[schema.InvalidParamsData](a, schema.KindInvalidParams)
		equal(t, method+": pointer", d.Errors[0].Pointer, c.pointer)
		if m := a.answer().Error.Message; !strings.Contains(m, "files") {
			t.Errorf("%s: message %q does not speak of files", method, m)
		}
	}
	for _, p := range []obj{{"stream": "stdout"}, {"stream": "stderr", "offset": 0}, {"waitMs": 60_000}} {
		p["handle"] = h
		refused[none](s.begin("job/read", p), schema.KindInvalidParams)
	}
	refused[none](s.begin("job/wait", obj{"handle": h, "until": []obj{}, "from": obj{"stdout": 0}}), schema.KindInvalidParams)
	equal(t, "quiet", s.await(h, obj{"quietMs": 20}, "from", 7).Reason, schema.OutcomeReasonQuietMs)
	equal(t, "no byte", s.await(h, obj{"bytes": 0}).Reason, schema.OutcomeReasonBytes)
	equal(t, "a byte, which does not come", s.await(h, obj{"bytes": 1}, "timeoutMs", 20).Reason, schema.OutcomeReasonTimeout)
	ends := s.begin("job/wait", obj{"handle": h, "until": until(obj{"bytes": 1}), "timeoutMs": nil})
	f.release()
	o := result[schema.JobWaitResult](ends).Outcome
	equal(t, "the end of such a wait", o.Reason, schema.OutcomeReasonExit)
	equal(t, "its output", len(o.Output), 0)
	equal(t, "exit", s.exit(h), "exited 0")
	s.event(h, "job/closed")
	equal(t, "output events", len(s.all(h, "job/output")), 0)
}

// TestStartsThatLookForNothing: they are refused before a job is started.
func TestStartsThatLookForNothing(t *testing.T) {
	s := start(t)
	file := filepath.Join(t.TempDir(), "f")
	both := []any{"argv", []string{"true"}, "mode", "pipe", "stdoutFile", file, "stderrFile", file}
	one := both[:6:6]
	for _, c := range []struct {
		params  []any
		more    obj
		pointer string
	}{
		{both, obj{"watch": []obj{{"pattern": "x"}}}, "/watch/0/pattern"},
		{both, obj{"wait": obj{"until": []obj{{"exit": true}, {"pattern": "x"}}}}, "/wait/until/1/pattern"},
		{both, obj{"wait": obj{"until": []obj{}, "from": obj{"stderr": 0}}}, "/wait/from/stderr"},
		{one, obj{"watch": []obj{{"pattern": "x", "stream": "stdout"}}}, "/watch/0/stream"},
		{one, obj{"wait": obj{"until": until(obj{"pattern": "x", "stream": "stdout"})}}, "/wait/until/0/stream"},
		{one, obj{"wait": obj{"until": []obj{}, "from": obj{"stdout": 0}}}, "/wait/from/stdout"},
	} {
		d := refused[schema.InvalidParamsData](s.begin("job/start", merged(c.more, c.params)), schema.KindInvalidParams)
		equal(t, "pointer", d.Errors[0].Pointer, c.pointer)
	}
	equal(t, "jobs", len(do[schema.JobListResult](s, "job/list", nil).Jobs), 0)
	// An offset for the only remaining stream needs no name.
	r := do[schema.JobStartResult](s, "job/start", merged(obj{"wait": obj{"until": until(obj{"exit": true}), "from": 0}}, one))
	equal(t, "reason", r.Outcome.Reason, schema.OutcomeReasonExit)
}

// TestEndsWithoutStreams checks a run, its timeout, a background process, a kill, a hint.
func TestEndsWithoutStreams(t *testing.T) {
	s := start(t)
	dir := t.TempDir()
	into := func(name string) []any { return []any{"stdoutFile", filepath.Join(dir, name), "stderr", "merge"} }
	r := s.run("sleep 60 & echo hi", append(into("bg"), "drainMs", 3600_000)...)
	equal(t, "nobody holds a stream: complete", r.OutputComplete, true)
	equal(t, "status", r.Job.Status, schema.StatusExited)
	s.kill(r.Job.Handle)
	r = s.run("echo before; sleep 60", append(into("late"), "timeoutMs", 100)...)
	equal(t, "exit", exitText(r.Exit), "timeout SIGTERM")
	r = s.run("echo on; sleep 60", append(into("on"), "timeoutMs", 100, "onTimeout", "background")...)
	equal(t, "exit", exitText(r.Exit), "none")
	s.event(r.Job.Handle, "job/started")
	s.kill(r.Job.Handle)
	equal(t, "exit", s.exit(r.Job.Handle), "killed SIGTERM")
	equal(t, "files", dirText(t, dir), "bg=hi late=before on=on ")
	// The shell's message went to the file: the server does not know it.
	for _, more := range [][]any{into("hint"), {"stderrFile", filepath.Join(dir, "hint")}} {
		r = s.run("echo 'sh: x: not found'; no-such-program", more...)
		equal(t, "exit", exitText(r.Exit), "exited 127")
		equal(t, "hint", r.Hint, nil)
	}
	r = s.run("no-such-program", "stdoutFile", filepath.Join(dir, "out"))
	equal(t, "hint of a stderr that is seen", r.Hint != nil, true)
}

// TestFilesNeedPipes: a terminal has one stream, which cannot go to a file.
func TestFilesNeedPipes(t *testing.T) {
	s := start(t)
	for pointer, p := range map[string]obj{
		"/stdoutFile": {"stdoutFile": "f"}, "/stderrFile": {"stderrFile": "f"}, "/stdin": {"stdin": obj{"text": "x"}},
	} {
		for _, method := range []string{"job/start", "job/run"} {
			p["argv"] = []string{"true"}
			p["mode"] = "pty"
			d := refused[schema.InvalidParamsData](s.begin(method, p), schema.KindInvalidParams)
			equal(t, "pointer", d.Errors[0].Pointer, pointer)
			if m := d.Errors[0].Message; !strings.Contains(m, `"mode": "pipe"`) {
				t.Errorf("message %q", m)
			}
		}
	}
	for _, stderr := range []string{"merge", "discard"} {
		d := refused[schema.InvalidParamsData](s.begin("job/run", obj{"argv": []string{"true"}, "stderr": stderr, "stderrFile": "f"}), schema.KindInvalidParams)
		equal(t, "pointer", d.Errors[0].Pointer, "/stderrFile")
	}
	for _, stdin := range []any{obj{}, obj{"text": "x", "file": "y"}, obj{"file": ""}, obj{"text": 5}, obj{"txet": "x"}, "opne", 5, nil} {
		d := refused[schema.InvalidParamsData](s.beginBad("job/run", obj{"argv": []string{"true"}, "stdin": stdin}), schema.KindInvalidParams)
		if !strings.HasPrefix(d.Errors[0].Pointer, "/stdin") {
			t.Errorf("stdin %v: %+v", stdin, d.Errors)
		}
	}
}
