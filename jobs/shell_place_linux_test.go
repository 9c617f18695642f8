package jobs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The first shell of a server removes the start-up files that killed servers have left.
func TestShellPlacesAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left := filepath.Join(os.TempDir(), "shelld-shell-1")
	old := time.Now().Add(-time.Hour)
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	doExec(t, startShell(t, startReal(t, Options{}), "bash", nil), "true")
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
