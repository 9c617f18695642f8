package proc

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What a process executes stays the same when its file is replaced, as an upgrade does, and when that
// is removed; it is another one after each execve, even of the same file.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sh")
	program, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	replace := func() {
		t.Helper()
		if err := os.WriteFile(file+".new", program, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	replace()
	cmd := exec.Command(file, "-c", `echo a; read x; exec "$0" -c 'echo b; read x'`, file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	image := func() string {
		t.Helper()
		got, err := Image(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	said := func(want string) {
		t.Helper()
		b := make([]byte, len(want))
		if _, err := io.ReadFull(out, b); err != nil || string(b) != want {
			t.Fatalf("%q, %v", b, err)
		}
	}

	said("a\n")
	was := image()
	replace()
	if got := image(); got != was {
		t.Errorf("%q, and %q when its file was replaced", was, got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := image(); got != was {
		t.Errorf("%q, and %q when its file was removed", was, got)
	}
	replace()
	if _, err := io.WriteString(in, "x\n"); err != nil {
		t.Fatal(err)
	}
	said("b\n")
	if got := image(); got == was {
		t.Errorf("%q is the same behind an exec", got)
	}
}
