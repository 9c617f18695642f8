package proc

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// startOnPipes starts a command, and returns its input and its output.
func startOnPipes(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, io.Reader) {
	t.Helper()
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
	return in, out
}

// The image of a process stays the same if its file is replaced, as in an upgrade, or removed. It changes with each
// execve, even of the same file.
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
	in, out := startOnPipes(t, cmd)
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

// StartedWith finds the text in the arguments or the environment of a process, and no longer after another program has
// replaced it. For a process that has ended it returns an error.
func TestStartedWith(t *testing.T) {
	const given = "/a/place/of-its-own"
	for name, cmd := range map[string]*exec.Cmd{
		"arguments":   exec.Command("/bin/sh", "-c", `echo a; read x; exec /bin/sh -c 'echo b; read x'`, given),
		"environment": {Path: "/bin/sh", Args: []string{"sh", "-c", `echo a; read x; unset PLACE; exec /bin/sh -c 'echo b; read x'`}, Env: []string{"PLACE=" + given}},
	} {
		t.Run(name, func(t *testing.T) {
			in, out := startOnPipes(t, cmd)
			for _, want := range []string{"a\n", "b\n"} {
				b := make([]byte, len(want))
				if _, err := io.ReadFull(out, b); err != nil || string(b) != want {
					t.Fatalf("%q, %v", b, err)
				}
				if is, err := StartedWith(cmd.Process.Pid, given); err != nil || is != (want == "a\n") {
					t.Errorf("at %q: %v, %v", want, is, err)
				}
				if _, err := io.WriteString(in, "\n"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := io.Copy(io.Discard, out); err != nil { // until the process closes it
				t.Fatal(err)
			}
			in.Close()
			if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := StartedWith(cmd.Process.Pid, given); err == nil {
				t.Error("one that has ended, and was not waited for, says what it was given")
			}
			cmd.Wait()
			if _, err := StartedWith(cmd.Process.Pid, given); err == nil {
				t.Error("one that is gone says what it was given")
			}
		})
	}
}

// If a process executes programs in a loop, all of them with the text, StartedWith never reports that it is missing.
func TestStartedWithBesideExec(t *testing.T) {
	const given = "/a/place/of-its-own"
	for name, script := range map[string]string{
		"arguments":   `[ $1 = 0 ] || exec /bin/sh -c "$0" "$0" $(($1 - 1)) ` + given,
		"environment": `[ $1 = 0 ] || PLACE=` + given + ` exec /bin/sh -c "$0" "$0" $(($1 - 1))`,
	} {
		t.Run(name, func(t *testing.T) {
			text := given
			if name == "environment" {
				text = "PLACE=" + given // In the script, an argument, this text has quotes.
				script = strings.Replace(script, "PLACE="+given, `PLACE="/a"/place/of-its-own`, 1)
			}
			cmd := exec.Command("/bin/sh", "-c", script, script, "200", given)
			cmd.Env = []string{"PLACE=" + given}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for {
				select {
				case err := <-ended:
					if err != nil {
						t.Error(err)
					}
					return
				default:
					if is, err := StartedWith(cmd.Process.Pid, text); err == nil && !is {
						t.Error("it says that it was executed without it")
						<-ended
						return
					}
				}
			}
		})
	}
}
