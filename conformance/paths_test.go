package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestPathsFromHere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"server.js", "serve", "-x.js", "sub/run"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd() // the path as the kernel returns it
	if err != nil {
		t.Fatal(err)
	}
	in := []string{"server.js", "serve", "-x.js", "sub/run", "sub", "other.js", ".", "--file=server.js", ""}
	want := []string{filepath.Join(here, "server.js"), "serve", "-x.js", filepath.Join(here, "sub", "run"), "sub", "other.js", ".", "--file=server.js", ""}
	if got := pathsFromHere(in); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
