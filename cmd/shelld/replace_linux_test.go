package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPictureForAPipe: what is no regular file is written to, and stays what it is.
func TestPictureForAPipe(t *testing.T) {
	needJobs(t)
	name := filepath.Join(t.TempDir(), "pipe.txt")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := pipe.SetReadDeadline(time.Now().Add(watchdog)); err != nil {
		t.Fatal(err)
	}
	reads := func(want string) {
		t.Helper()
		if fi, err := os.Lstat(name); err != nil || fi.Mode().Type() != os.ModeNamedPipe {
			t.Fatalf("the pipe is now %v, %v", fi.Mode(), err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(pipe, got); err != nil || string(got) != want {
			t.Errorf("read is %q, %v; want %q", got, err, want)
		}
	}
	if err := replaceFile(name, []byte("a picture")); err != nil {
		t.Error(err)
	}
	reads("a picture")
	if out, err := exec.CommandContext(t.Context(), "shelld", "run", "-screenshot", name, "-size", "20x4", "--", "printf", "one").CombinedOutput(); err != nil || string(out) != "one" {
		t.Errorf("%q, %v", out, err)
	}
	reads("one\n")
	if out, err := exec.CommandContext(t.Context(), "shelld", "run", "-screenshot", name, "--", "no-such-command-anywhere").CombinedOutput(); err == nil {
		t.Errorf("%q", out)
	}
	reads("")
	directory := filepath.Dir(name)
	if err := replaceFile(directory, []byte("x")); err == nil {
		t.Error("a directory was written to")
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}
