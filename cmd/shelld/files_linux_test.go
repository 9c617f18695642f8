package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestFilesOutliveTheServer kills the server: the files contain all output that a client has received.
func TestFilesOutliveTheServer(t *testing.T) {
	needJobs(t)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	var mu sync.Mutex
	var seen bytes.Buffer
	enough := make(chan struct{})
	s := startHeard(t, func(n client.Event) {
		var p schema.JobOutputParams
		if n.Method != "job/output" || json.Unmarshal(n.Params, &p) != nil || p.Text == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		before := seen.Len()
		seen.WriteString(*p.Text)
		if before < 1<<20 && seen.Len() >= 1<<20 {
			close(enough)
		}
	})
	var r schema.InitializeResult
	s.call(t, "initialize", schema.InitializeParams{}, &r)
	if r.StateDirectory == nil || *r.StateDirectory != filepath.Join(state, "shelld", "io") {
		t.Fatalf("the state directory is %v", r.StateDirectory)
	}
	s.call(t, "job/start", schema.JobStartParams{Argv: []string{"seq", "5000000"}, Mode: new(schema.ModePipe)}, nil)
	select {
	case <-enough:
	case <-time.After(watchdog):
		t.Fatal("there is no output")
	}
	s.kill(t)
	mu.Lock()
	defer mu.Unlock()
	stored, err := os.ReadFile(filepath.Join(*r.StateDirectory, r.SessionID, "1", "stdout.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(stored, seen.Bytes()) {
		t.Errorf("%d bytes were sent, and the file with %d bytes does not begin with them", seen.Len(), len(stored))
	}
}
