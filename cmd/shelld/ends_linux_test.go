package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

// A serverEnd is one of the ways in which a server ends, as described in docs/ending.md.
type serverEnd struct {
	name   string
	polite bool // its jobs get TERM and their grace time
	status int  // the exit status; -1: ended by a signal
	end    func(*testing.T, *doomed)
}

func bySignals(sigs ...syscall.Signal) func(*testing.T, *doomed) {
	return func(t *testing.T, d *doomed) {
		for _, sig := range sigs {
			if err := d.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func closing(ends ...func(*doomed) error) func(*testing.T, *doomed) {
	return func(t *testing.T, d *doomed) {
		for _, end := range ends {
			if err := end(d); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func closeStdin(d *doomed) error  { return d.stdin.Close() }
func closeStdout(d *doomed) error { return d.stdout.Close() }
func closeStderr(d *doomed) error { return d.stderr.Close() }

// askForAnswer makes the server write: that is when it notices that its output is closed.
func askForAnswer(d *doomed) error {
	<-d.client.Done() // The client sends nothing any more.
	_, err := io.WriteString(d.stdin, `{"jsonrpc":"2.0","id":99,"method":"job/list"}`+"\n")
	return err
}

// thenSIGTERM is for an action that does not end a server by itself.
func thenSIGTERM(d *doomed) error { return d.cmd.Process.Signal(syscall.SIGTERM) }

func leaveBy(method string, last func(*doomed) error) func(*testing.T, *doomed) {
	return func(t *testing.T, d *doomed) {
		if method == "shutdown" {
			d.call(t, method, schema.ShutdownParams{})
		}
		if err := last(d); err != nil {
			t.Fatal(err)
		}
	}
}

func sendExit(d *doomed) error { return d.client.Notify("exit", schema.ExitParams{}) }

var serverEnds = []serverEnd{
	{"shutdown, exit", true, 0, leaveBy("shutdown", sendExit)},
	{"shutdown, end of stdin", true, 0, leaveBy("shutdown", closeStdin)},
	{"exit", true, 1, leaveBy("", sendExit)},
	{"end of stdin", true, 1, leaveBy("", closeStdin)},
	{"SIGTERM", true, 1, bySignals(syscall.SIGTERM)},
	{"SIGHUP", true, 1, bySignals(syscall.SIGHUP)},
	{"SIGINT", true, 1, bySignals(syscall.SIGINT)},
	{"SIGTERM again and again", true, 1, bySignals(syscall.SIGTERM, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)},
	{"broken stdout", true, 1, closing(closeStdout, askForAnswer)},
	{"broken stderr and SIGTERM", true, 1, closing(closeStderr, thenSIGTERM)},
	{"the client's death", true, 1, closing(closeStdout, closeStderr, closeStdin)},
	{"SIGKILL", false, -1, bySignals(syscall.SIGKILL)},
	{"SIGKILL while it is stopped", false, -1, bySignals(syscall.SIGSTOP, syscall.SIGKILL)},
	{"SIGKILL of its group", false, -1, closing(func(d *doomed) error { return syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) })},
	{"SIGQUIT", false, 2, bySignals(syscall.SIGQUIT)},
	{"a crash", false, 2, bySignals(syscall.SIGABRT)},
}

// TestEveryEndOfTheServer checks that each end of the server ends its jobs, and leaves no keeper.
func TestEveryEndOfTheServer(t *testing.T) {
	for _, e := range serverEnds {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel() // They mostly wait for the grace time.
			d := startDoomed(t, len(hardToEnd))
			keepers := d.keepers(t)
			limit := 5 * time.Second // Most ends take half a second, and more on a busy machine.
			if e.polite {
				limit += doomedGrace
			}
			began := time.Now()
			e.end(t, d)
			err := d.wait()
			if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
				t.Fatal(err)
			} else if got := d.cmd.ProcessState.ExitCode(); got != e.status {
				t.Errorf("the server exited with %d (%v), not %d", got, exit, e.status)
			}
			d.awaitGone(t, began, limit)
			for _, k := range keepers {
				awaitExit(k.String(), watchdog)
				if now, alive := processOf(k.pid); alive && now.start == k.start {
					t.Errorf("keeper %v is left", k)
				}
			}
		})
	}
}

// wait waits for the end of the server. It kills a server that does not end, which the status shows.
func (d *doomed) wait() error {
	late := time.AfterFunc(watchdog, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	return d.cmd.Wait()
}

// keepers returns the direct children of the server.
func (d *doomed) keepers(t *testing.T) (all []process) {
	t.Helper()
	for _, pid := range childrenOf(t, d.cmd.Process.Pid) {
		if p, alive := processOf(pid); alive {
			all = append(all, p)
		}
	}
	if len(all) < len(hardToEnd) {
		t.Fatalf("the server has %d keepers for %d jobs", len(all), len(hardToEnd))
	}
	return all
}

// childrenOf returns the PIDs of the children of a process, including zombies.
func childrenOf(t *testing.T, pid int) (all []int) {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // The pattern is valid.
	for _, f := range files {
		text, _ := os.ReadFile(f) // A thread may have ended.
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, child)
		}
	}
	return all
}
