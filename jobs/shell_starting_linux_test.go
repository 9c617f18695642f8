package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startReading starts a shell with a text as its own start-up file.
func startReading(t *testing.T, name, text string) (*Manager, *Job) {
	t.Helper()
	needProgram(t, name)
	home := t.TempDir() // removed after the shell has ended
	file := filepath.Join(home, map[string]string{"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}[name])
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	// Without this directory fish reads all manual pages of the machine in the background, in each new home.
	if err := os.MkdirAll(filepath.Join(home, ".local/share/fish/generated_completions"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := startReal(t, Options{})
	return m, mustStart(t, m, Spec{Argv: []string{name}, Cols: 200, Env: map[string]*string{
		"HOME": &home, "ZDOTDIR": nil, "XDG_CONFIG_HOME": nil, "XDG_DATA_HOME": nil, "XDG_CACHE_HOME": nil,
	}})
}

func askExec(t *testing.T, j *Job, o ExecOptions) Pending[ExecResult] {
	t.Helper()
	if o.Wait == nil {
		o.Wait = execWait(-1)
	}
	p, err := j.Exec(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bare has the command that starts each shell without the user's files.
var bare = map[string]string{"bash": "bash --norc", "zsh": "zsh -f", "fish": "fish --no-config"}

// If the start-up files replace the shell by another program, even by the same shell, the server detects that without a
// request.
func TestShellReplacedByItsFiles(t *testing.T) {
	for _, name := range execShells {
		for _, by := range []string{"sh", "sleep 1000", bare[name]} {
			t.Run(name+" by "+by, func(t *testing.T) {
				m, j := startReading(t, name, "exec "+by)
				m.system.askTime = time.Hour
				waits := askExec(t, j, ExecOptions{Command: "echo never"})
				asked := j.Variables()
				if e := refused(t, waits, CodeShellIntegrationUnavailable); !strings.Contains(e.Message, "start-up files") {
					t.Error(e.Message)
				}
				refused(t, asked, CodeShellIntegrationUnavailable)
				refused(t, askExec(t, j, ExecOptions{Command: "echo never"}), CodeShellIntegrationUnavailable)
				if info := must(t, j.Info()); info.Integration != "" {
					t.Errorf("the job has the integration %q", info.Integration)
				}
				if _, err := os.Stat(actorOf(j).shell.watch.files.Dir); err == nil {
					t.Error("the shell's own files are there still")
				}
			})
		}
	}
}

// If a script of the shell's name executes the shell with its own arguments, the integration works.
func TestShellByAScript(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			needProgram(t, name)
			dir := t.TempDir()
			script := fmt.Sprintf("#!/bin/sh\nread -r x <%s/wait\nPATH=${PATH#*:} exec %s \"$@\"\n", dir, name)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(filepath.Join(dir, "wait"), 0o600); err != nil {
				t.Fatal(err)
			}
			m := startReal(t, Options{})
			path := dir + ":" + os.Getenv("PATH")
			j := mustStart(t, m, Spec{Argv: append([]string{filepath.Join(dir, name)}, strings.Fields(bare[name])[1:]...), Env: map[string]*string{"PATH": &path}})
			p := askExec(t, j, ExecOptions{Command: "echo one"})
			if err := os.WriteFile(filepath.Join(dir, "wait"), []byte("go\n"), 0); err != nil {
				t.Fatal(err)
			}
			if out := execOutput(t, j, must(t, p)); out != "one\n" {
				t.Errorf("%q", out)
			}
			if info := must(t, j.Info()); info.Integration != name {
				t.Errorf("the job has the integration %q", info.Integration)
			}
		})
	}
}

// If the start-up files run a program that waits for input, errors name that program. When the program is left, a
// command that waits for the shell runs.
func TestShellKeptByAProgram(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m, j := startReading(t, name, "sh -i")
			e := refused(t, askExec(t, j, ExecOptions{Command: "echo never", FailBusy: true}), CodeShellBusy)
			if !strings.Contains(e.Message, "start-up files") || !strings.Contains(e.Message, "sh -i") || !strings.Contains(e.Message, "job/write") {
				t.Error(e.Message)
			}
			waits := askExec(t, j, ExecOptions{Command: "echo one"})
			m.system.askTime = 0
			if e := refused(t, j.Variables(), CodeShellBusy); !strings.Contains(e.Message, "sh -i") || !strings.Contains(e.Message, "job/write") {
				t.Error(e.Message)
			}
			refused(t, askExec(t, j, ExecOptions{Command: "echo never", FailBusy: true}), CodeShellBusy)
			w, err := j.Write(Input{Text: "exit", AppendNewline: true})
			if err != nil {
				t.Fatal(err)
			}
			must(t, w)
			if out := execOutput(t, j, must(t, waits)); out != "one\n" {
				t.Errorf("%q", out)
			}
			if all := must(t, j.History()); len(all) != 1 {
				t.Errorf("history %+v", all)
			}
			if r := must(t, askExec(t, j, ExecOptions{Command: "echo two", FailBusy: true})); execOutput(t, j, r) != "two\n" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// While a shell just reads its start-up files, a command with FailBusy is queued and not refused.
func TestShellThatReadsItsFilesIsNotBusy(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "wait")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			_, j := startReading(t, name, "read x <"+fifo)
			p := askExec(t, j, ExecOptions{Command: "echo one", FailBusy: true})
			if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
				t.Fatal(err)
			}
			if out := execOutput(t, j, must(t, p)); out != "one\n" {
				t.Errorf("%q", out)
			}
		})
	}
}

// If an interrupt ends the reading of start-up files, the shell still takes commands.
func TestShellInterruptedInItsFiles(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m, j := startReading(t, name, "sh -c 'echo asleep; exec sleep 1000'")
			p := askExec(t, j, ExecOptions{Command: "echo one"})
			await(t, j, pattern("asleep\r"))
			m.system.askTime = 0
			if e := refused(t, j.Variables(), CodeShellBusy); !strings.Contains(e.Message, "start-up files") {
				t.Error(e.Message)
			}
			s, err := j.Signal("INT", SignalForeground, Asker{})
			if err != nil {
				t.Fatal(err)
			}
			must(t, s)
			if out := execOutput(t, j, must(t, p)); out != "one\n" {
				t.Errorf("%q", out)
			}
		})
	}
}

// Input that answers a question of the start-up files is typed although a command is queued before it, even if they
// also run another process.
func TestWriteReachesStartUpFiles(t *testing.T) {
	for name, ask := range map[string]string{"bash": "read -p 'q? ' x", "zsh": "read 'x?q? '", "fish": "read -g -P 'q? ' x"} {
		t.Run(name, func(t *testing.T) {
			_, j := startReading(t, name, "sleep 1000 &\n"+ask+"\nkill %1")
			waits := askExec(t, j, ExecOptions{Command: "echo $x"})
			await(t, j, pattern(`q\? `))
			w, err := j.Write(Input{Text: "yes", AppendNewline: true})
			if err != nil {
				t.Fatal(err)
			}
			must(t, w)
			if out := execOutput(t, j, must(t, waits)); !strings.HasSuffix(out, "yes\n") {
				t.Errorf("%q", out)
			}
		})
	}
}

// The integration works if the name of the temporary directory has to be quoted.
func TestShellInQuotedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `o'b "c\d`)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			_, j := startReading(t, name, "true")
			if out := execOutput(t, j, must(t, askExec(t, j, ExecOptions{Command: "echo one"}))); out != "one\n" {
				t.Errorf("%q", out)
			}
		})
	}
}
