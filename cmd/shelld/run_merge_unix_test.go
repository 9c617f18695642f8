//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
)

func TestStderrOf(t *testing.T) {
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer pipe.Close()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	name := filepath.Join(t.TempDir(), "file")
	file, other, null := open(name), open(name+"2"), open(os.DevNull)
	for _, c := range []struct {
		name     string
		asked    string
		out, err *os.File
		want     string
	}{
		{"one pipe", "", pipe, pipe, "merge"},
		{"one file", "", file, file, "merge"},
		{"one file, opened twice", "", file, open(name), "merge"},
		{"one terminal", "", tty, tty, "merge"},
		{"the null device", "", null, null, "separate"},
		{"two files", "", file, other, "separate"},
		{"a pipe and a terminal", "", pipe, tty, "separate"},
		{"asked for", "separate", pipe, pipe, "separate"},
		{"asked for otherwise", "discard", pipe, pipe, "discard"},
	} {
		o := runOptions{stderr: c.asked}
		if got := o.stderrOf(c.out, c.err); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}
