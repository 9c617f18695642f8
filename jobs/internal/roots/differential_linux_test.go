package roots

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	fuzzTime = flag.Duration("fuzz", 0, "how long TestDifferential generates lines for each shell (pass -timeout 0 -parallel 7 as well); 0 = a fixed number of lines")
	fuzzLine = flag.Int("lines", 1500, "how many lines TestDifferential generates for each shell without -fuzz")
	fuzzSeed = flag.Uint64("seed", 1, "seed of the generated lines")
)

// readers are the shells that run the generated lines: the name under which the line is read, and the program. A bash
// that is called sh reads lines in POSIX mode.
var readers = []struct{ name, program string }{
	{"bash", "bash"}, {"sh", "dash"}, {"zsh", "zsh"}, {"ksh", "mksh"}, {"sh", "bash"}, {"sh", "mksh"}, {"ksh93", "ksh"},
}

// TestDifferential generates lines, and runs each line in the real shell if [Line.Roots] claims to know all its roots.
// Every program on PATH is a stub that records its name. If a stub that is not a root runs, that is a finding: then a
// list would have let the line pass.
//
// Lines run as an unprivileged user if the test runs as root, in a separate directory, with nothing on PATH but stubs
// and programs that run others. No token of the generator removes or overwrites a path outside that directory, or opens
// a connection.
func TestDifferential(t *testing.T) {
	for i, s := range readers {
		t.Run(s.program+" as "+s.name, func(t *testing.T) {
			path, err := exec.LookPath(s.program)
			if err != nil && s.program != "bash" && os.Getenv("SHELLD_CI") == "" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if *fuzzTime > 0 {
				t.Parallel()
			}
			d := &differential{shell: s.name, path: path, sandbox: newSandbox(t),
				generator: &generator{Rand: rand.New(rand.NewPCG(*fuzzSeed, uint64(i))), shell: s.program}}
			d.run(t)
		})
	}
}

// A differential compares one shell with its reader.
type differential struct {
	*sandbox
	generator                        *generator
	shell, path                      string
	lines, known, commands, findings int
}

func (d *differential) run(t *testing.T) {
	began, reported := time.Now(), time.Now()
	for {
		switch {
		case *fuzzTime == 0 && d.lines == *fuzzLine, *fuzzTime > 0 && time.Since(began) > *fuzzTime:
			t.Log(d.numbers())
			if d.known < d.lines/1000 || d.commands < d.known/10 {
				t.Error("too few lines were compared")
			}
			return
		case *fuzzTime > 0 && time.Since(reported) > time.Minute:
			fmt.Println(time.Now().Format(time.TimeOnly), t.Name(), d.numbers())
			reported = time.Now()
		}
		d.lines++
		d.compare(t, d.generator.line())
	}
}

func (d *differential) numbers() string {
	return fmt.Sprintf("%d lines, %d executed, %d commands ran, %d findings, %d timeouts", d.lines, d.known, d.commands, d.findings, d.timeouts)
}

// compare runs a line, unless its roots are unknown or include everything that it could run.
func (d *differential) compare(t *testing.T, line string) {
	found := Line{Text: line, Shell: d.shell}.Roots()
	if found.Unknown() || !slices.ContainsFunc(stubNames, func(n string) bool { return strings.Contains(line, n) && !slices.Contains(found.Roots, n) }) {
		return
	}
	d.known++
	ran := d.execute(t, d.path, d.shell, line)
	d.commands += len(ran)
	missing := unnamed(found, ran)
	if missing == "" || unnamed(found, d.execute(t, d.path, d.shell, line)) == "" { // leftovers of an earlier line did it
		return
	}
	d.findings++
	short := d.shorten(t, line)
	t.Errorf("%s ran %s, which is no root of\n\t%q: %q\nshortened:\n\t%q", d.path, missing, line, found.Roots, short)
	fmt.Printf("FINDING %s %s: %q\n", filepath.Base(d.path), missing, short)
}

// unnamed returns a command that ran and is not a root, or "".
func unnamed(found Found, ran []string) string {
	for _, command := range ran {
		if !slices.ContainsFunc(found.Roots, func(root string) bool {
			return base(root) == base(command) && (strings.Contains(root, "/") || !strings.Contains(command, "/"))
		}) {
			return command
		}
	}
	return ""
}

// shorten drops pieces of a line as long as it remains a finding.
func (d *differential) shorten(t *testing.T, line string) string {
	for size := len(line) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(line); {
			shorter := line[:at] + line[at+size:]
			found := Line{Text: shorter, Shell: d.shell}.Roots()
			if !found.Unknown() && unnamed(found, d.execute(t, d.path, d.shell, shorter)) != "" {
				line = shorter
			} else {
				at++
			}
		}
	}
	return line
}

// A sandbox is the environment in which lines run.
type sandbox struct {
	bin, cwd, marks string
	nobody          bool
	timeouts        int
}

// stubNames are the programs that record their names. The first one is the one that the generator's payloads run.
var stubNames = []string{"canary", "c0", "c1", "c2", "c3"}

// sandboxFiles are in the directory in which lines run: scripts named like options and numbers, a name that is an
// expression, and texts that run a command if a shell expands them.
var sandboxFiles = map[string]string{
	"-c": "canary\n", "0": "canary\n", "x": "canary\n", "a[$(canary)]": "", "f": "a[$(canary)]\n", ".zshenv": "a=(1)\n", "g": "$(canary)\n", "h": "($(canary))\n",
}

// namesHostile matches a line that may give one of the hostile variables a number, after which it is trusted. The
// server's environment belongs to its owner, so such a line runs without them.
var namesHostile = regexp.MustCompile(`(^|[^$!{\w])e[vwp]\b`).MatchString

func newSandbox(t *testing.T) *sandbox {
	top, err := os.MkdirTemp("", "roots")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	s := &sandbox{bin: filepath.Join(top, "bin"), cwd: filepath.Join(top, "cwd"), marks: filepath.Join(top, "marks"), nobody: os.Getuid() == 0}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(top, 0o755))
	must(os.Mkdir(s.bin, 0o755))
	must(os.Mkdir(s.cwd, 0o755))
	must(os.Chmod(s.cwd, os.ModeSticky|0o777))
	must(os.WriteFile(s.marks, nil, 0o666))
	must(os.Chmod(s.marks, 0o666))
	for i, name := range stubNames {
		for dir, said := range map[string]string{s.bin: name, s.cwd: "./" + name} {
			script := fmt.Sprintf("#!/bin/sh\necho %s >>%s\necho %s\nexit %d\n", said, s.marks, stubNames[(i+1)%len(stubNames)], (i+1)%2)
			must(os.WriteFile(filepath.Join(dir, name), []byte(script), 0o555))
			must(os.Chmod(filepath.Join(dir, name), 0o555))
		}
	}
	for name, text := range sandboxFiles {
		must(os.WriteFile(filepath.Join(s.cwd, name), []byte(text), 0o444))
	}
	for _, name := range []string{"bash", "sh", "zsh", "mksh", "dash", "env", "xargs", "find", "timeout", "nice", "nohup", "setsid", "stdbuf", "cat", "true", "sleep"} {
		if path, err := exec.LookPath(name); err == nil {
			must(os.Symlink(path, filepath.Join(s.bin, name)))
		}
	}
	return s
}

// execute runs a line and returns the stubs that ran, those of the directory with ./ in front.
func (s *sandbox) execute(t *testing.T, shell, name, line string) []string {
	s.tidy(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // Lines that do not end are killed.
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "ulimit -c 0; ulimit -f 8192; ulimit -t 2; ulimit -v 1000000; exec \"$@\"", "sh", shell, "-c", line)
	if name == "sh" && filepath.Base(shell) == "bash" {
		cmd.Args = slices.Insert(cmd.Args, 5, "--posix")
	}
	cmd.Dir = s.cwd
	cmd.Env = []string{"PATH=" + s.bin, "FUNCNEST=20", "ZDOTDIR=" + s.cwd, "HOME=" + s.cwd, "LC_ALL=C.UTF-8"}
	if !namesHostile(line) {
		cmd.Env = append(cmd.Env, "ev=$(canary)", "ew=a[$(canary)]", "ep=($(canary))")
	}
	cmd.ExtraFiles = []*os.File{w} // closed when no process is left
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.nobody {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	if err := cmd.Start(); err != nil {
		w.Close()
		if ctx.Err() == nil && !strings.ContainsRune(line, 0) {
			t.Fatal(err)
		}
		s.timeouts++
		return nil
	}
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(11 * time.Second)) // A process may have left the group.
	buffer := make([]byte, 4096)
	for err == nil {
		_, err = r.Read(buffer)
	}
	if ctx.Err() != nil {
		s.timeouts++
	}
	_ = cmd.Wait() // Any status will do.
	_ = kill()
	said, err := os.ReadFile(s.marks)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(said))
}

// tidy removes the leftovers of the previous line.
func (s *sandbox) tidy(t *testing.T) {
	if err := os.Truncate(s.marks, 0); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.cwd)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, keep := sandboxFiles[e.Name()]; !keep && !slices.Contains(stubNames, e.Name()) {
			os.RemoveAll(filepath.Join(s.cwd, e.Name()))
		}
	}
}
