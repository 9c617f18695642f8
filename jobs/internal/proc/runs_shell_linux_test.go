package proc

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestRunsShell(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho up; read x; :\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		argv []string
		want bool
	}{
		{[]string{"sh", "-c", "echo up; read x; :"}, true},
		{[]string{"bash", "-c", "echo up; read x; :"}, true},
		{[]string{script}, true},
		{[]string{"sed", "-u", "1s/^/up /;q"}, false},
		{[]string{"python3", "-c", "import sys; print('up', flush=True); sys.stdin.read()"}, false},
		{[]string{"busybox", "sh", "-c", "echo up; read x; :"}, false}, // The name is not that of a shell.
	} {
		cmd := exec.Command(test.argv[0], test.argv[1:]...)
		if cmd.Err != nil {
			t.Log(cmd.Err)
			continue
		}
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
		if test.argv[0] != "sed" { // Start does not wait for the execve of a script's shell; output does.
			if _, err := io.ReadFull(out, make([]byte, 2)); err != nil {
				t.Fatal(err)
			}
		}
		if got := RunsShell(cmd.Process.Pid); got != test.want {
			t.Errorf("%q runs a shell: %v", test.argv, got)
		}
		_ = in.Close()
		_ = cmd.Wait() // The exit status after the end of its input does not matter.
		if RunsShell(cmd.Process.Pid) {
			t.Errorf("%q runs a shell when it has ended", test.argv)
		}
	}
}
