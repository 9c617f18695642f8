package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The files that a killed server has left are removed by the next server that starts a shell, and no other files.
func TestShellPlacesAreSwept(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	old := time.Now().Add(-time.Hour)
	place := func(name string, mode os.FileMode, at time.Time, files ...string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(path, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	place("shelld-shell-1", 0o700, old, "bashrc")
	place("shelld-shell-2", 0o700, old, ".zshenv")
	place("shelld-shell-3", 0o700, old, "init.fish")
	place("shelld-shell-4", 0o700, old)
	place("shelld-shell-new", 0o700, time.Now(), "bashrc")
	place("shelld-shell-open", 0o755, old, "bashrc")
	place("shelld-shell-other", 0o700, old, "kept", "bashrc")
	place("shelld-shell-held", 0o700, old, "bashrc")
	place("another", 0o700, old, "bashrc")
	if err := os.Symlink(filepath.Join(dir, "another"), filepath.Join(dir, "shelld-shell-link")); err != nil {
		t.Fatal(err)
	}
	held, err := openPlace(filepath.Join(dir, "shelld-shell-held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := lockPlace(held); err != nil {
		t.Fatal(err)
	}
	m := startReal(t, Options{})
	doExec(t, startShell(t, m, "bash", nil), "true")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{"another", "shelld-shell-held", "shelld-shell-link", "shelld-shell-new", "shelld-shell-open", "shelld-shell-other"}
	if !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	for _, path := range []string{"another/bashrc", "shelld-shell-held/bashrc", "shelld-shell-open/bashrc", "shelld-shell-other/kept"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
}

// While a shell reads its files, no other server removes them.
func TestShellPlaceIsHeld(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f := &shellFiles{}
	if err := f.makePlace(); err != nil {
		t.Fatal(err)
	}
	sweepPlaces(os.TempDir(), time.Now().Add(time.Hour))
	if _, err := os.Stat(f.dir); err != nil {
		t.Error(err)
	}
	_ = f.held.Close() // as if the server were killed
	sweepPlaces(os.TempDir(), time.Now().Add(time.Hour))
	if _, err := os.Stat(f.dir); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
