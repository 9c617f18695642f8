package rpc_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/jobs/stored"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// storedInfo reads a job's info.json, which must fit its schema.
func storedInfo(t *testing.T, folder string) (j schema.JobInfo) {
	t.Helper()
	text := fileText(t, folder, "info.json")
	if err := schema.ValidateStored([]byte(text)); err != nil {
		t.Errorf("%s: %v\n%s", folder, err, text)
	}
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestStoredInfoIsValid: the info.json of every kind of job fits the schema, while it runs and at the end.
func TestStoredInfoIsValid(t *testing.T) {
	s, r, dir := inFiles(t)
	f := newFifo(t)
	wait := "echo text; echo error >&2; read x <" + f.path
	for _, p := range []obj{
		{"command": wait, "mode": "pty", "name": "one", "group": "g", "description": "a\x1b\u0085b", "cols": 10, "rows": 5,
			"watch": []obj{{"pattern": "te(x)t", "flags": "i", "once": true}, {"pattern": "x", "on": "screen"}}},
		{"argv": []string{"sh", "-c", "printf '\\033]0;t\\a\\033]7;file:///tmp\\a'; " + wait}, "env": obj{"A": "b"}, "killAfterMs": 3600000, "mode": "pty"},
		{"command": wait, "mode": "pipe", "stderr": "merge", "limits": obj{"cpuMs": 100000, "openFiles": 100, "outputBytes": 100000}},
		{"command": "sleep 1000 & " + wait, "mode": "pipe", "stdin": "open", "stderr": "discard"},
		{"command": "kill -9 $$", "mode": "pipe"},
		{"command": "exit 300", "mode": "pty"},
		{"argv": []string{"true"}, "mode": "pipe", "stdoutFile": filepath.Join(t.TempDir(), "out")},
	} {
		h := s.begin("job/start", p)
		result[schema.JobStartResult](h)
	}
	folder := func(h string) string { return filepath.Join(dir, r.SessionID, h) }
	all := []string{"1", "2", "3", "4", "5", "6", "7"}
	for _, h := range all {
		err := eventually(func() error { _, err := os.Stat(filepath.Join(folder(h), "info.json")); return err })
		if err != nil {
			t.Fatal(err)
		}
		storedInfo(t, folder(h))
	}
	s.quit()
	for _, h := range all {
		equal(t, "status of "+h, storedInfo(t, folder(h)).Status, schema.StatusClosed)
	}
	equal(t, "the end of the server's", exitText(storedInfo(t, folder("1")).Exit), "shutdown SIGTERM")
}

// TestFinishedInfo: the known facts about a job whose server has died are kept, facts about living processes are
// removed, and nothing is invented.
func TestFinishedInfo(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	left := stored.Leftover{
		Handle: 7, Directory: "/state/s/7", Touched: began.Add(time.Minute),
		Files: map[string]stored.File{"stdout.txt": {NextOffset: 100, Kept: []jobs.Range{{From: 0, To: 10}, {From: 60, To: 100}}}},
	}
	running := `{"handle": 7, "status": "running", "argv": ["x"], "command": "x", "cwd": "/", "mode": "pipe", "pid": 5, "startedAt": "2026-01-02T03:04:05Z",
		"durationMs": 100, "cols": 0, "rows": 0, "startedBy": "ed", "onDetach": "end", "detachGraceMs": 5, "endsAt": "2026-01-02T04:04:05Z", "background": [{"pid": 6, "command": "y"}], "ports": [{"port": 80, "address": "::", "pid": 6}],
		"watches": [{"watchId": 1, "pattern": "x", "on": "plain"}], "streams": {"stdout": {"nextOffset": 5, "kept": [[0, 5]]}, "stderr": {"nextOffset": 9, "kept": []}}, "outputDirectory": "/state/s/7"}`
	finish := func(info string) (j schema.JobInfo) {
		t.Helper()
		b, err := rpc.StoredInfo{}.Finish([]byte(info), left)
		if err == nil {
			err = errors.Join(schema.ValidateStored(b), json.Unmarshal(b, &j))
		}
		if err != nil {
			t.Errorf("%s: %v", info, err)
		}
		if !(rpc.StoredInfo{}).Closed(b) || (rpc.StoredInfo{}).Closed([]byte(info)) {
			t.Errorf("%s is finished by %s", info, b)
		}
		return j
	}
	j := finish(running)
	equal(t, "status", j.Status, schema.StatusClosed)
	equal(t, "exit", exitText(j.Exit), "lost")
	equal(t, "duration", j.DurationMs, 60000)
	equal(t, "ended", j.EndedAt, nil)
	equal(t, "ends", j.EndsAt, nil)
	equal(t, "started by", str(j.StartedBy), "ed")
	equal(t, "background", len(j.Background)+len(j.Ports), 0)
	equal(t, "command", deref(t, j.Command), "x")
	equal(t, "watches", len(j.Watches), 1)
	out, stderr := j.Streams["stdout"], j.Streams["stderr"]
	if out.NextOffset != 100 || len(out.Kept) != 2 || !slices.Equal(out.Kept[1], []int64{60, 100}) {
		t.Errorf("stdout is %+v", out)
	}
	if stderr.NextOffset != 9 || len(stderr.Kept) != 0 {
		t.Errorf("stderr is %+v", stderr)
	}
	// An exit is a fact, whatever happened to the server later.
	j = finish(strings.Replace(running, `"running"`, `"exited", "endedAt": "2026-01-02T03:04:06Z", "exit": {"code": 3, "signal": null, "coreDumped": false, "reason": "exited"}`, 1))
	equal(t, "exit", exitText(j.Exit), "exited 3")
	equal(t, "duration", j.DurationMs, 100)
	for _, info := range []string{"", "{", "{}", "null", "[]", strings.Repeat("\x00", 500), running[:100], `{"handle": 7, "status": "running"}`, strings.Replace(running, `"pid": 5`, `"pid": "5"`, 1)} {
		j = finish(info)
		equal(t, "handle", j.Handle, 7)
		equal(t, "exit", exitText(j.Exit), "lost")
		equal(t, "argv", len(j.Argv), 0)
		if out := j.Streams["stdout"]; out.NextOffset != 100 || len(out.Kept) != 2 || !slices.Equal(out.Kept[1], []int64{60, 100}) {
			t.Errorf("%s: stdout is %+v", info, out)
		}
	}
}

// TestStoredByAnotherVersion: of the info of another version, all members that are understood are kept, and a final one
// is not changed.
func TestStoredByAnotherVersion(t *testing.T) {
	running := `{"handle": 7, "status": "running", "argv": ["x"], "cwd": "/", "mode": "pipe", "pid": 5, "startedAt": "2026-01-02T03:04:05Z",
		"durationMs": 100, "cols": 0, "rows": 0, "background": [], "ports": [], "watches": [], "streams": {}, "outputDirectory": "/state/s/7", "priority": 1}`
	closed := strings.Replace(running, `"running"`, `"closed", "exit": {"code": 3, "signal": null, "coreDumped": false, "reason": "tired"}`, 1)
	if schema.ValidateStored([]byte(closed)) == nil {
		t.Fatal("this version knows it all")
	}
	if !(rpc.StoredInfo{}).Closed([]byte(closed)) {
		t.Error("what is final would be made anew")
	}
	b, err := rpc.StoredInfo{}.Finish([]byte(running), stored.Leftover{Handle: 7, Directory: "/state/s/7"})
	var j schema.JobInfo
	if err = errors.Join(err, schema.ValidateStored(b), json.Unmarshal(b, &j)); err != nil {
		t.Fatal(err)
	}
	equal(t, "exit", exitText(j.Exit), "lost")
	equal(t, "argv", strings.Join(j.Argv, " "), "x")
}

// TestWordsOfAnotherVersion: if the info of an unfinished job has a word that only a later version knows, the rest is
// kept, and so is the word. Other damage is not mistaken for such a word.
func TestWordsOfAnotherVersion(t *testing.T) {
	const running = `{"handle": 7, "status": "running", "argv": ["x"], "cwd": "/", "mode": "pipe", "pid": 5, "startedAt": "2026-01-02T03:04:05Z",
		"durationMs": 100, "cols": 0, "rows": 0, "background": [], "watches": [{"watchId": 1, "pattern": "x", "on": "plain"}],
		"limits": {"cpuMs": {"max": 5, "by": "rlimit", "per": "process"}}, "streams": {"stdout": {"nextOffset": 5, "kept": [[0, 5]]}}, "outputDirectory": "/state/s/7"}`
	if err := schema.ValidateStored([]byte(running)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ known, later string }{
		{`"status": "running"`, `"status": "hibernating"`},
		{`"mode": "pipe"`, `"mode": "hologram"`},
		{`"on": "plain"`, `"on": "sound"`},
		{`"cpuMs":`, `"gpuMs":`},
		{`"by": "rlimit"`, `"by": "moon"`},
		{`"stdout":`, `"stdaux":`},
		{`"status": "running"`, `"status": "exited", "exit": {"code": 3, "signal": null, "coreDumped": false, "reason": "tired"}`},
		{`"status": "running"`, `"status": "exited", "exit": {"code": 3, "signal": null, "coreDumped": false, "reason": "limit", "limit": "gpuMs"}`},
	} {
		info := strings.Replace(running, c.known, c.later, 1)
		b, err := rpc.StoredInfo{}.Finish([]byte(info), stored.Leftover{Handle: 7, Directory: "/state/s/7"})
		var j schema.JobInfo
		if err = errors.Join(err, json.Unmarshal(b, &j)); err != nil {
			t.Fatal(err)
		}
		equal(t, c.later+": argv", strings.Join(j.Argv, " "), "x")
		equal(t, c.later+": status", j.Status, schema.StatusClosed)
		if word := strings.Split(c.later, `"`); !strings.Contains(c.later, "hibernating") && !strings.Contains(string(b), `"`+word[len(word)-2]+`"`) {
			t.Errorf("of %s there is nothing in %s", c.later, b)
		}
		if j.Exit == nil || !strings.Contains(c.later, "exit") && j.Exit.Reason != schema.ExitReasonLost || strings.Contains(c.later, "exit") && j.Exit.Code == nil {
			t.Errorf("%s: the exit is %+v", c.later, j.Exit)
		}
		again, err := rpc.StoredInfo{}.Finish(b, stored.Leftover{Handle: 7, Directory: "/state/s/7"})
		if err != nil || !(rpc.StoredInfo{}).Closed(b) || string(again) != string(b) {
			t.Errorf("%s: what is final would become %s; %v", c.later, again, err)
		}
	}
	for _, spoiled := range []string{`"mode": ""`, `"mode": 5`, `"mode": null`, `"made": "pipe"`} {
		b, err := rpc.StoredInfo{}.Finish([]byte(strings.Replace(running, `"mode": "pipe"`, spoiled, 1)), stored.Leftover{Handle: 7, Directory: "/state/s/7"})
		if err = errors.Join(err, schema.ValidateStored(b)); err != nil {
			t.Errorf("%s: %v\n%s", spoiled, err, b)
		}
	}
}

// TestStreamOfAnotherVersion: the info of a stream that only a later version knows is not applied to the file of a
// known stream, and is kept.
func TestStreamOfAnotherVersion(t *testing.T) {
	const info = `{"handle": 7, "status": "running", "argv": ["x"], "cwd": "/", "mode": "pipe", "pid": 5, "startedAt": "2026-01-02T03:04:05Z",
		"durationMs": 100, "cols": 0, "rows": 0, "background": [], "watches": [], "outputDirectory": "/state/s/7",
		"streams": {"stdout": {"nextOffset": 5, "kept": [[0, 5]]}, "stdaux": {"nextOffset": 900, "kept": [[0, 800]]}, "audio": {"nextOffset": 70, "kept": [[0, 7]]}}}`
	for range 20 { // Members have no order.
		if all := (rpc.StoredInfo{}).Files([]byte(info)); len(all) != 1 || all["stdout.txt"].NextOffset != 5 || len(all["stdout.txt"].Kept) != 1 {
			t.Fatalf("the files are %+v", all)
		}
		b, err := rpc.StoredInfo{}.Finish([]byte(info), stored.Leftover{
			Handle: 7, Directory: "/state/s/7", Files: map[string]stored.File{"stdout.txt": {NextOffset: 9, Kept: []jobs.Range{{From: 0, To: 9}}}},
		})
		var j schema.JobInfo
		if err = errors.Join(err, json.Unmarshal(b, &j)); err != nil {
			t.Fatal(err)
		}
		equal(t, "stdout", j.Streams["stdout"].NextOffset, 9)
		equal(t, "stdaux", j.Streams["stdaux"].NextOffset, 900)
		if kept := j.Streams["stdaux"].Kept; len(kept) != 1 || kept[0][1] != 800 {
			t.Fatalf("of stdaux %v is kept", kept)
		}
	}
}

// TestPastAtInitialize: the next server finishes the jobs of a dead one, and keeps as many as configured.
func TestPastAtInitialize(t *testing.T) {
	dir := t.TempDir()
	put := func(session, name, text string) {
		t.Helper()
		path := filepath.Join(dir, session, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const dead, old = "20260101T000000Z-0123456789abcdef", "20250101T000000Z-0123456789abcdef"
	put(dead, "lock", "")
	put(dead, "4/stdout.txt", "text")
	put(old, "lock", "")
	put(old, "1/info.json", "")
	long := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, old, "1", "info.json"), long, long); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	s.initialize("options", obj{"persist": obj{"directory": dir, "keepJobs": 1}})
	err := eventually(func() error {
		if _, err := os.Stat(filepath.Join(dir, old)); err == nil {
			return errors.New("a job too many is kept")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	j := storedInfo(t, filepath.Join(dir, dead, "4"))
	equal(t, "exit", exitText(j.Exit), "lost")
}

// TestKeepJobs: closed jobs beyond keepJobs are forgotten, the oldest first.
func TestKeepJobs(t *testing.T) {
	for _, mode := range []string{"files", "memory"} {
		s := open(t)
		s.initialize("options", obj{"persist": obj{"mode": mode, "keepJobs": 2, "directory": t.TempDir()}})
		for range 3 {
			s.event(s.pipe("echo text"), "job/closed")
		}
		refused[schema.JobNotFoundData](s.begin("job/get", obj{"handle": 1}), schema.KindJobNotFound)
		equal(t, "status", s.get(2).Status, schema.StatusClosed)
		equal(t, "status", s.get(3).Status, schema.StatusClosed)
		s.quit()
	}
}

// TestDeleteOnExit: no file is left of a session with deleteOnExit.
func TestDeleteOnExit(t *testing.T) {
	dir := t.TempDir()
	s := open(t)
	r := s.initialize("options", obj{"persist": obj{"directory": dir, "deleteOnExit": true}})
	s.event(s.pipe("echo text"), "job/closed")
	h := s.pipe("echo text; read x", "stdin", "open")
	s.event(h, "job/output")
	if got := names(t, filepath.Join(dir, r.SessionID)); !slices.Contains(got, "1") || !slices.Contains(got, "2") {
		t.Errorf("there are %v", got)
	}
	s.quit()
	if got := names(t, filepath.Join(dir, r.SessionID)); got != nil {
		t.Errorf("left are %v", got)
	}
}
