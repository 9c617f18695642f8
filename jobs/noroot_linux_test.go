package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server whose own directory was deleted refuses only the jobs that need it.
func TestDeletedDirectory(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"", t.TempDir()} {
		m, err := NewManager(Options{Root: root})
		if err != nil {
			t.Fatalf("root %q: %v", root, err)
		}
		for cwd, starts := range map[string]bool{"": root != "", ".": root != "", "sub": false, "/": true, t.TempDir(): true} {
			j, pending, refused := m.Start(Spec{Argv: []string{"true"}, Mode: ModePipe, Cwd: cwd})
			if refused != nil {
				t.Fatal(refused)
			}
			res := <-pending.C
			if (res.Err == nil) != starts {
				t.Errorf("root %q, cwd %q: %v", root, cwd, res.Err)
			}
			if res.Err == nil {
				j.Kill(KillOptions{})
				continue
			}
			if e, _ := res.Err.(*Error); e == nil || e.Code != CodeBadWorkingDirectory || e.Path == "" ||
				root == "" && !(strings.Contains(e.Message, "in which shelld was started cannot be used (no such file or directory)") && strings.Contains(e.Message, "rootDirectory")) {
				t.Errorf("root %q, cwd %q: %v", root, cwd, res.Err)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
