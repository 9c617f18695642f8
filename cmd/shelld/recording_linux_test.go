package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shelld/rpc"
	"shelld/schema"
)

// The recording of a server that is killed is one up to its last whole line: what there is of it
// is what was stored, and nothing is missing in between.
func TestRecordingOutlivesTheServer(t *testing.T) {
	needJobs(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s := startHeard(t, func(rpc.Notice) {})
	s.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{Events: []string{}}}, nil)
	var r schema.JobStartResult
	s.call(t, "job/start", schema.JobStartParams{Argv: []string{"seq", "50000000"}, Record: ptr(true)}, &r)
	path := filepath.Join(*r.Job.OutputDirectory, "session.cast")
	wait := "until [ -e '" + path + "' ] && [ $(wc -c <'" + path + "') -ge 200000 ]; do sleep 0.01; done"
	s.call(t, "job/run", schema.JobRunParams{Command: &wait}, nil)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.client.Done()
	_ = s.cmd.Wait() // It was killed.

	recording, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(recording, []byte("\n"))
	lines = lines[:len(lines)-1] // what is behind the last line end is no line
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
	stored, err := os.ReadFile(filepath.Join(*r.Job.OutputDirectory, "stdout.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if shown.Len() < 150_000 || !bytes.HasPrefix(stored, []byte(shown.String())) {
		t.Errorf("%d bytes are recorded, with which the %d bytes stored do not begin", shown.Len(), len(stored))
	}
}
