package rpc_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

func TestCancelWait(t *testing.T) {
	s := start(t)
	h := s.pty("printf seen; sleep 60")
	s.see(h, "seen")
	wait := s.begin("job/wait", obj{"handle": h, "until": []obj{{"pattern": "never"}}, "from": "start", "timeoutMs": nil})
	wait.withdraw()
	d := refused[schema.CanceledData](wait, schema.KindCanceled)
	equal(t, "handle", num(d.Handle), h)
	if d.Outcome == nil || d.Outcome.Reason != schema.OutcomeReasonCanceled || d.Outcome.Index != nil {
		t.Fatalf("outcome %+v, want the reason canceled and no index", d.Outcome)
	}
	equal(t, "output", texts(*d.Outcome)["pty"], "seen")
	equal(t, "status", s.get(h).Status, schema.StatusRunning)
}

func TestCancelStart(t *testing.T) {
	s := start(t)
	// The job is being started when the cancellation arrives; only the wait is withdrawn.
	c := s.begin("job/start", obj{"argv": []string{"sleep", "60"}, "name": "j", "wait": obj{"until": []obj{{"pattern": "never"}}, "timeoutMs": nil}})
	c.withdraw()
	d := refused[schema.CanceledData](c, schema.KindCanceled)
	if d.Handle == nil || d.Outcome == nil {
		t.Fatalf("data %+v, want a handle and an outcome", d)
	}
	equal(t, "status", s.get("j").Status, schema.StatusRunning)
	equal(t, "handle", s.get("j").Handle, *d.Handle)
}

func TestCancelReadAndKill(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"shutdownGraceMs": 0}})
	h := s.pipe(`trap "" TERM; echo ready; sleep 60; sleep 60`)
	s.see(h, "ready")
	read := s.begin("job/read", obj{"handle": h, "stream": "stdout", "offset": 6, "waitMs": 3600_000})
	kill := s.begin("job/kill", obj{"handle": h, "graceMs": 3600_000})
	read.withdraw()
	refused[schema.CanceledData](read, schema.KindCanceled)
	kill.withdraw()
	refused[schema.CanceledData](kill, schema.KindCanceled)
	equal(t, "status", s.get(h).Status, schema.StatusRunning)
	s.begin("job/kill", obj{"handle": h, "graceMs": 0}).answer()
	equal(t, "exit", s.exit(h), "killed SIGKILL")
}

// counter reads one byte, reports that, waits for the test, and counts bytes up to the Z.
const counter = `
import os, sys
n = len(os.read(0, 1))
os.write(1, b"reading\n")
open(sys.argv[1]).read()
while True:
    b = os.read(0, 65536)
    n += len(b)
    if b[-1:] == b"Z":
        break
os.write(1, b"count %d\n" % n)
`

// TestCancelStuckWrite: bytesWritten is exactly the number of bytes that the job then finds in its input, and input
// that was queued behind the cancelled write is written.
func TestCancelStuckWrite(t *testing.T) {
	needs(t, "python3")
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		s, f := start(t), newFifo(t)
		h := do[schema.JobStartResult](s, "job/start", obj{"mode": "pipe", "stdin": "open", "argv": []string{"python3", "-c", counter, f.path}}).Job.Handle
		checkStuckWrite(t, s, h, f)
	})
	t.Run("pty", func(t *testing.T) {
		t.Parallel()
		s, f := start(t), newFifo(t)
		h := do[schema.JobStartResult](s, "job/start", obj{"argv": []string{"sh", "-c",
			`stty raw -echo && echo raw && exec python3 -c "$1" "$2"`, "sh", counter, f.path}}).Job.Handle
		s.see(h, "raw")
		checkStuckWrite(t, s, h, f)
	})
}

func checkStuckWrite(t *testing.T, s *session, h int64, f fifo) {
	const all = 600_000 // more than any kernel accepts unread
	stuck := s.begin("job/write", obj{"handle": h, "input": strings.Repeat("x", all)})
	behind := s.begin("job/write", obj{"handle": h, "input": "yy"})
	withWait := s.begin("job/write", obj{"handle": h, "input": "never", "wait": obj{"until": []obj{{"pattern": "never"}}, "timeoutMs": nil}})
	s.see(h, "reading")
	withWait.withdraw()
	d := refused[schema.CanceledData](withWait, schema.KindCanceled)
	equal(t, "bytesWritten of what was not begun", num(d.BytesWritten), 0)
	stuck.withdraw()
	written := num(refused[schema.CanceledData](stuck, schema.KindCanceled).BytesWritten)
	if written < 1 || written >= all {
		t.Errorf("bytesWritten %d, want some of %d", written, all)
	}
	last := s.begin("job/write", obj{"handle": h, "input": "Z"})
	f.release()
	equal(t, "written behind it", result[schema.JobWriteResult](behind).BytesWritten, 2)
	equal(t, "written at the end", result[schema.JobWriteResult](last).BytesWritten, 1)
	o := s.see(h, `count (\d+)\r?\n`)
	equal(t, "what the job has read", deref(t, o.Match.Groups[0]), strconv.FormatInt(written+3, 10))
}

func TestCancelWriteThatWaits(t *testing.T) {
	s := start(t)
	h := s.pty("stty -echo; echo ready; read x; echo got $x; sleep 60")
	s.see(h, "ready\r\n")
	c := s.begin("job/write", obj{"handle": h, "input": "abc\r", "wait": obj{"until": []obj{{"pattern": "never"}}, "timeoutMs": nil}})
	s.see(h, "got abc\r\n")
	c.withdraw()
	d := refused[schema.CanceledData](c, schema.KindCanceled)
	equal(t, "bytesWritten", num(d.BytesWritten), 4)
	if d.Outcome == nil || texts(*d.Outcome)["pty"] != "got abc\n" {
		t.Errorf("outcome %+v, want what came since the write", d.Outcome)
	}
}

func TestCancelRun(t *testing.T) {
	s := start(t)
	c := s.begin("job/run", obj{"command": "echo a; sleep 60", "shell": "sh", "name": "j"})
	see := s.begin("job/wait", obj{"handle": "j", "until": []obj{{"pattern": "a"}}, "from": "start"})
	result[schema.JobWaitResult](see)
	c.withdraw()
	d := refused[schema.CanceledData](c, schema.KindCanceled)
	o := s.await("j", obj{"closed": true})
	equal(t, "handle", num(d.Handle), o.Job.Handle)
	equal(t, "exit", exitText(o.Job.Exit), "killed SIGTERM")
	if len(s.all(o.Job.Handle, "job/exited")) > 0 {
		t.Error("a run that was cancelled has sent events")
	}
}

// TestCancelRunInBackground: the job goes on, and its events are sent from there on.
func TestCancelRunInBackground(t *testing.T) {
	s, f := start(t), newFifo(t)
	c := s.begin("job/run", obj{"command": "echo before; cat " + f.path + "; echo after", "shell": "sh", "name": "j", "onTimeout": "background"})
	result[schema.JobWaitResult](s.begin("job/wait", obj{"handle": "j", "until": []obj{{"pattern": "before"}}, "from": "start"}))
	c.withdraw()
	h := num(refused[schema.CanceledData](c, schema.KindCanceled).Handle)
	s.event(h, "job/started")
	f.release()
	equal(t, "output from there on", s.output(h, "stdout"), "go\nafter\n")
	equal(t, "exit", s.exit(h), "exited 0")
}

func TestCancelNothing(t *testing.T) {
	s := start(t)
	c := s.begin("job/list", nil)
	c.answer()
	c.withdraw()
	for _, id := range []string{`99`, `"99"`, `1.5`, `-0`} {
		s.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
	}
	// A later request with the id is not cancelled in advance.
	r := result[schema.JobRunResult](s.beginID("99", "job/run", obj{"argv": []string{"printf", "hi"}}))
	equal(t, "stdout", str(r.Stdout), "hi")
}

// TestCancelTwice: the second cancellation is for a request that is answered already, or is about to be.
func TestCancelTwice(t *testing.T) {
	s := start(t)
	h := s.pipe("sleep 60")
	for range 20 {
		c := s.begin("job/wait", obj{"handle": h, "until": []obj{}, "timeoutMs": nil})
		c.withdraw()
		c.withdraw()
		a := c.answer()
		a.Error.is(t, schema.KindCanceled)
		var data struct{ Outcome json.RawMessage }
		if err := json.Unmarshal(a.Error.Data, &data); err != nil || data.Outcome == nil {
			t.Fatalf("no outcome: %s", a.Error.Data)
		}
	}
}
