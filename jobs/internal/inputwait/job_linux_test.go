package inputwait_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/proc"
)

// deadline is the maximum time in which a program must begin to wait.
const deadline = time.Minute

// A job is a program on a terminal or pipes, with the goroutine that reads its output.
type job struct {
	t       *testing.T
	cmd     *exec.Cmd
	sink    *proc.Sink
	source  *proc.Source // of pipes
	input   inputwait.Input
	term    *proc.Terminal
	readers sync.WaitGroup
	target  inputwait.Target
	prober  *inputwait.Prober
	before  string // the output before the last probe of await

	mu     sync.Mutex
	output bytes.Buffer
	last   time.Time // output or input
}

// need skips the test if a program is missing.
func need(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("SHELLD_CI") == "1" {
			t.Fatalf("%s is missing", name)
		}
		t.Skipf("%s is missing", name)
	}
}

// environment returns an environment in which the users' settings have no effect on the programs.
func environment() []string {
	return append(os.Environ(), "TERM=xterm", "PS1=$ ", "HISTFILE=", "INPUTRC=/dev/null", "PYTHONSTARTUP=", "PYTHON_HISTORY=/dev/null", "LESS=", "ENV=", "NODE_REPL_HISTORY=", "TMUX=")
}

// onTerminal starts a program as the leader of a session on a terminal.
func onTerminal(t *testing.T, args ...string) *job {
	t.Helper()
	j := unread(t, args...)
	j.read(j.term.Source())
	return j
}

// unread is onTerminal without a goroutine that reads the output.
func unread(t *testing.T, args ...string) *job {
	t.Helper()
	need(t, args[0])
	term, slave, err := proc.OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close() // The program has its own.
	j := &job{t: t, cmd: cmd, sink: term.Sink(), input: term, term: term, last: time.Now()}
	j.target = inputwait.Target{Leader: cmd.Process.Pid, Input: term, Terminal: term}
	j.prober = inputwait.New(j.target)
	t.Cleanup(func() { j.end(func() { _ = term.Close() }) })
	return j
}

// onPipes starts a program with an open pipe as stdin.
func onPipes(t *testing.T, args ...string) *job {
	t.Helper()
	j := unreadPipe(t, args...)
	j.read(j.source)
	return j
}

// unreadPipe is onPipes without a goroutine that reads the output.
func unreadPipe(t *testing.T, args ...string) *job {
	t.Helper()
	need(t, args[0])
	sink, stdin, err := proc.InputPipe()
	if err != nil {
		t.Fatal(err)
	}
	source, stdout, err := proc.OutputPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = stdin.Close(), stdout.Close() // The program has its own.
	input := proc.NewPipeInput(sink, source)
	j := &job{t: t, cmd: cmd, sink: sink, source: source, input: input, last: time.Now()}
	j.target = inputwait.Target{Leader: cmd.Process.Pid, Input: input, Outputs: input.Outputs()}
	j.prober = inputwait.New(j.target)
	t.Cleanup(func() { j.end(func() { _, _ = sink.Close(), source.Close() }) })
	return j
}

func (j *job) read(source *proc.Source) {
	j.readers.Go(func() {
		buf := make([]byte, 16<<10)
		for {
			n, err := source.Read(buf)
			if n > 0 {
				j.mu.Lock()
				j.last = time.Now()
				j.output.Write(buf[:n])
				j.mu.Unlock()
			}
			source.Stored()
			switch {
			case errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed):
				return
			case err != nil:
				j.t.Errorf("read: %v", err)
				return
			}
		}
	})
}

// end kills the session, which contains everything that these programs start, and waits for it.
func (j *job) end(closeFiles func()) {
	_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL) // It may have ended.
	_ = j.cmd.Process.Kill()
	_ = j.cmd.Wait() // Its exit status does not matter.
	closeFiles()
	j.readers.Wait()
}

func (j *job) write(text string) {
	j.t.Helper()
	j.mu.Lock()
	j.last = time.Now()
	j.mu.Unlock()
	if _, err := j.sink.Write([]byte(text)); err != nil {
		j.t.Fatal(err)
	}
}

func (j *job) signal(sig syscall.Signal) {
	j.t.Helper()
	if err := j.cmd.Process.Signal(sig); err != nil {
		j.t.Fatal(err)
	}
}

func (j *job) printed() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.output.String()
}

func (j *job) quiet() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Since(j.last)
}

func (j *job) look() inputwait.Verdict { return j.prober.Look(j.quiet()) }

// pause sleeps between two probes; no assertion depends on its length.
func pause() { time.Sleep(2 * time.Millisecond) }

// await probes until the verdict satisfies want.
func (j *job) await(what string, want func(inputwait.Verdict) bool) inputwait.Verdict {
	j.t.Helper()
	start := time.Now()
	var v inputwait.Verdict
	for time.Since(start) < deadline {
		j.before = j.printed()
		if v = j.look(); want(v) {
			j.t.Logf("after %v, %v quiet: %+v", time.Since(start).Round(100*time.Microsecond), j.quiet().Round(100*time.Microsecond), v)
			return v
		}
		pause()
	}
	j.t.Fatalf("it was never %s, but %+v; printed %q", what, v, j.printed())
	return v
}

// waits probes until the job counts as waiting and has printed prompt, and checks the verdict.
func (j *job) waits(prompt string, state inputwait.State, kind inputwait.Kind, confidence inputwait.Confidence) inputwait.Verdict {
	j.t.Helper()
	what := fmt.Sprintf("%s %s %s after %q", state, kind, confidence, prompt)
	// A probe that began before the prompt may show the program on its way there.
	v := j.await(what, func(v inputwait.Verdict) bool { return v.Waiting && strings.Contains(j.before, prompt) })
	if v.State != state || v.Kind != kind || v.Confidence != confidence {
		j.t.Errorf("it is not %s, but %+v", what, v)
	}
	return v
}

// never probes for a while, in which the job must not count as waiting.
func (j *job) never(prompt string, long time.Duration) {
	j.t.Helper()
	for start := time.Now(); !strings.Contains(j.printed(), prompt); pause() {
		if time.Since(start) > deadline {
			j.t.Fatalf("it never printed %q but %q", prompt, j.printed())
		}
	}
	looks := 0
	for start := time.Now(); time.Since(start) < long; pause() {
		looks++
		if v := j.look(); v.Waiting {
			j.t.Fatalf("it waits: %+v; printed %q", v, j.printed())
		}
	}
	j.t.Logf("%d looks", looks)
}
