package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"shelld.dev/shelld/cmd/internal/base"
)

// A process is the program itself, started as by a host.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func startProcess(t *testing.T, flags ...string) *process {
	t.Helper()
	needJobs(t)
	p := &process{t: t, cmd: exec.Command("shelld-mcp", slices.Concat(seedFlags, flags)...)}
	p.cmd.Dir = t.TempDir()
	p.cmd.Stderr = &p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // This is for a failed test.
	p.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	p.receive(`"id":"i"`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *process) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("%v; stderr: %s", err, p.stderr.String())
	}
}

// receive reads a line that must contain want.
func (p *process) receive(want string) {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil || !strings.Contains(line, want) {
		p.t.Fatalf("%q, %v; stderr: %s", line, err, p.stderr.String())
	}
}

// holder returns a command that leaves processes in groups and sessions of their own, which all hold a FIFO open. isUp
// waits until all hold it, isGone until none does.
func holder(t *testing.T) (command string, isUp, isGone func()) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	up, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		f, err := os.Open(fifo) // This returns when the command has opened it, too.
		if err != nil {
			ended <- err
			return
		}
		defer f.Close()
		r := bufio.NewReader(f)
		for range 2 {
			if _, err := r.ReadString('\n'); err != nil {
				ended <- err
				return
			}
		}
		close(up)
		_, err = io.Copy(io.Discard, r)
		ended <- err
	}()
	command = `exec 9>` + fifo + `; trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; echo up >&9; sleep 1000' & echo up >&9; sleep 1000`
	isUp = func() {
		t.Helper()
		select {
		case <-up:
		case err := <-ended:
			t.Fatalf("it did not come up: %v", err)
		}
	}
	isGone = func() {
		t.Helper()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return command, isUp, isGone
}

// TestProcessEnds ends the program in each way that the system offers, with a job that does not end by itself: nothing
// remains.
func TestProcessEnds(t *testing.T) {
	for _, test := range []struct {
		name   string
		end    func(*process) error
		status int // -1: ended by the signal
	}{
		{"stdin is closed", func(p *process) error { return p.in.Close() }, 0},
		{"SIGTERM", func(p *process) error { return p.cmd.Process.Signal(syscall.SIGTERM) }, 0},
		{"SIGHUP", func(p *process) error { return p.cmd.Process.Signal(syscall.SIGHUP) }, 0},
		{"SIGINT", func(p *process) error { return p.cmd.Process.Signal(syscall.SIGINT) }, 0},
		{"SIGKILL", func(p *process) error { return p.cmd.Process.Kill() }, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t)
			command, isUp, isGone := holder(t)
			p.send(callLine(1, "run_shell_command", `{"command":"`+command+`","is_background":true}`))
			p.receive(`"id":1`)
			isUp()
			if err := test.end(p); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, p.out)
			err := p.cmd.Wait()
			if code := p.cmd.ProcessState.ExitCode(); code != test.status {
				t.Errorf("it ends with status %d (%v); stderr: %s", code, err, p.stderr.String())
			}
			if p.stderr.Len() > 0 {
				t.Errorf("it says: %s", p.stderr.String())
			}
			isGone()
		})
	}
}

// TestUsageErrors checks the messages for a person.
func TestUsageErrors(t *testing.T) {
	for _, test := range []struct {
		flags  []string
		status int
		want   string
	}{
		{[]string{"-h"}, 0, "-tools"},
		{[]string{"-version"}, 0, "shelld-mcp " + base.Release},
		{[]string{"-tools", "some"}, 2, `-tools is compact, seeds or all, not "some"`},
		{[]string{"-no-such"}, 2, "no-such"},
		{[]string{"serve"}, 2, `unexpected argument "serve"`},
		{[]string{"-memory", "-state-dir", "/x"}, 2, "give one of them"},
		{[]string{"-max-jobs", "-1"}, 2, "1 or more"},
		{[]string{"-allow-dir", ","}, 2, "empty word"},
		{[]string{"-allow-dir", "/no/such/place"}, 2, "/no/such/place"},
	} {
		out, err := exec.Command("shelld-mcp", test.flags...).CombinedOutput()
		exit := &exec.ExitError{}
		status := 0
		if errors.As(err, &exit) {
			status = exit.ExitCode()
		}
		if status != test.status || !strings.Contains(string(out), test.want) {
			t.Errorf("%v: status %d, %s", test.flags, status, out)
		}
	}
}

// TestOwnStdout checks the descriptors of a program whose stdout is a pipe shared with other processes: its own
// descriptor does not block its threads, and the inherited one still blocks.
func TestOwnStdout(t *testing.T) {
	needJobs(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var given syscall.Stat_t
	if err := syscall.Fstat(int(w.Fd()), &given); err != nil { // Fd makes it blocking, as a host's pipe may be.
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command("shelld-mcp", seedFlags...), out: bufio.NewReader(r)}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = t.TempDir(), w, &p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // This is for a failed test.
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	p.receive(`"id":1`)
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	names, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for _, name := range names {
		var st syscall.Stat_t
		if syscall.Stat(proc+"fd/"+name.Name(), &st) != nil || st.Dev != given.Dev || st.Ino != given.Ino {
			continue
		}
		open++
		if info, err := os.ReadFile(proc + "fdinfo/" + name.Name()); err != nil || !regexp.MustCompile(`(?m)^flags:\s+[0-7]*[4-7][0-7]{3}$`).Match(info) {
			t.Errorf("descriptor %s of the pipe blocks: %s, %v", name.Name(), info, err)
		}
	}
	if open != 1 {
		t.Errorf("the program has the pipe open %d times, not once", open)
	}
	if flags, _, no := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), syscall.F_GETFL, 0); no != 0 || flags&syscall.O_NONBLOCK != 0 {
		t.Errorf("the pipe as it was given: flags %#o, %v", flags, no)
	}
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
