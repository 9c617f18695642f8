package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPictureForAPipeWithoutReader checks that a pipe without a reader is an error, and not a wait for one.
func TestPictureForAPipeWithoutReader(t *testing.T) {
	needJobs(t)
	name := filepath.Join(t.TempDir(), "pipe.txt")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), watchdog)
	defer cancel()
	out, err := exec.CommandContext(ctx, "shelld", "run", "-screenshot", name, "--", "printf", "one").CombinedOutput()
	if err == nil || ctx.Err() != nil || !strings.Contains(string(out), "the pipe has no reader") || strings.Contains(string(out), "one") {
		t.Errorf("%q, %v, %v", out, err, ctx.Err())
	}
}

// TestPictureForALongPipe checks that content that does not fit into a pipe waits for its reader.
func TestPictureForALongPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe.txt")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	content := bytes.Repeat([]byte("picture\n"), 100_000)
	written := make(chan error, 1)
	r, err := openReplacement(name)
	if err != nil {
		t.Fatal(err)
	}
	go func() { written <- r.put(content) }()
	got, err := io.ReadAll(pipe)
	if err = errors.Join(err, <-written); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes came of %d, %v", len(got), len(content), err)
	}
}

// TestPictureThroughALink checks that a symbolic link is kept, even if its target does not exist yet.
func TestPictureThroughALink(t *testing.T) {
	dir := t.TempDir()
	for _, to := range []string{"there.txt", "dangling.txt", filepath.Join(dir, "absolute.txt"), "link to dangling2.txt"} {
		link, file := filepath.Join(dir, "link to "+filepath.Base(to)), filepath.Join(dir, filepath.Base(to))
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if to == "there.txt" {
			if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if to == "link to dangling2.txt" {
			if err := os.Symlink("dangling2.txt", file); err != nil {
				t.Fatal(err)
			}
			file = filepath.Join(dir, "dangling2.txt")
		}
		if err := replaceFile(link, []byte("new")); err != nil {
			t.Errorf("%s: %v", to, err)
		}
		if fi, err := os.Lstat(link); err != nil || fi.Mode().Type() != os.ModeSymlink {
			t.Errorf("the link to %s is now %v, %v", to, fi.Mode(), err)
		}
		if got, err := os.ReadFile(file); string(got) != "new" {
			t.Errorf("%s has %q, %v", to, got, err)
		}
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(loop, []byte("x")); err == nil {
		t.Error("a link to itself was written through")
	}
}

// TestPictureForAPipe checks that a file that is not regular is written to, and keeps its type.
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
	const sentinel = "nothing else"
	if _, err := io.WriteString(pipe, sentinel); err != nil { // Earlier content would be read before it.
		t.Fatal(err)
	}
	reads(sentinel)
	directory := filepath.Dir(name)
	if err := replaceFile(directory, []byte("x")); err == nil {
		t.Error("a directory was written to")
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}
