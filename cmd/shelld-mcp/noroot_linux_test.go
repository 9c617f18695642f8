package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDeletedDirectory starts the server in a deleted directory: it runs only commands that name another one.
func TestDeletedDirectory(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	h := startHost(t, nil, "-root=")
	contains(t, h.fail("CliRun", args{"command": "pwd"}), "the directory in which shelld was started cannot be used (no such file or directory)", "as workingDirectory")
	var r cliRunResult
	h.call("CliRun", args{"command": "pwd", "workingDirectory": "/"}, &r)
	if r.Stdout != "/\n" {
		t.Errorf("pwd in /: %+v", r)
	}
}
