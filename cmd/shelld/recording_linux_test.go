package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestRecordingOutlivesTheServer kills the server: the recording is valid up to its last whole line, and the partial
// line is removed when the directory is next opened. No stored event is lost.
func TestRecordingOutlivesTheServer(t *testing.T) {
	needJobs(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s := startHeard(t, func(client.Event) {})
	var about schema.InitializeResult
	s.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{Events: []string{}}}, &about)
	var r schema.JobStartResult
	s.call(t, "job/start", schema.JobStartParams{Argv: []string{"seq", "50000000"}, Record: ptr(true)}, &r)
	path := filepath.Join(deref(t, r.Job.OutputDirectory), "session.cast")
	wait := "until [ -e '" + path + "' ] && [ $(wc -c <'" + path + "') -ge 400000 ]; do sleep 0.01; done"
	s.call(t, "job/run", schema.JobRunParams{Command: &wait}, nil)
	s.kill(t)
	_ = s.cmd.Wait() // It was killed.

	// A kill during a write leaves a partial line, but this one may have come between two writes.
	if info, err := os.Stat(path); err != nil || os.Truncate(path, info.Size()-3) != nil {
		t.Fatal("the recording cannot be cut: ", err)
	}
	if j := jobsOf(t, deref(t, about.StateDirectory))[r.Job.Handle]; j.state() != "lost" {
		t.Errorf("the job is %s", j.state())
	}
	recording, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(recording, []byte("\n"))
	if last := len(lines) - 1; len(lines[last]) > 0 {
		t.Errorf("behind the last line end stands %q", lines[last])
	}
	lines = lines[:len(lines)-1]
	var header struct {
		Version int
		Term    struct{ Cols, Rows int }
	}
	if err := json.Unmarshal(lines[0], &header); err != nil || header.Version != 3 || header.Term.Cols != 80 {
		t.Fatalf("%s: %v", lines[0], err)
	}
	var shown strings.Builder
	for _, line := range lines[1:] {
		var event [3]any
		if err := json.Unmarshal(line, &event); err != nil || event[1] != "o" {
			t.Fatalf("%s: %v", line, err)
		}
		shown.WriteString(event[2].(string))
	}
	stored, err := os.ReadFile(filepath.Join(deref(t, r.Job.OutputDirectory), "stdout.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if shown.Len() < 150_000 || !bytes.HasPrefix(stored, []byte(shown.String())) {
		t.Errorf("%d bytes are recorded, with which the %d bytes stored do not begin", shown.Len(), len(stored))
	}
}
