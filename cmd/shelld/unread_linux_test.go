package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

var unreadBytes = flag.Int64("unread", 256<<20, "bytes that a job prints to a client that does not read")

// unreadBound is the maximum memory of a server with unread output: its memory without jobs, a spool, and the needs of
// its stdout and the garbage collector.
const unreadBound = 48 << 20

// TestFloodUnread has jobs print endlessly to a client that has stopped reading. The server's memory stays constant, it
// still handles requests, and it ends with its stdin.
func TestFloodUnread(t *testing.T) {
	t.Parallel()
	needJobs(t)
	cmd := exec.Command("shelld", "serve")
	in, out := startPiped(t, cmd)
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	send := func(format string, a ...any) {
		t.Helper()
		if _, err := fmt.Fprintf(in, format+"\n", a...); err != nil {
			t.Fatal(err)
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	pids := map[string]int{}
	for _, mode := range []string{"pipe", "pty"} {
		send(`{"jsonrpc":"2.0","id":"%s","method":"job/start","params":{"argv":["yes"],"mode":"%[1]s","name":"%[1]s"}}`, mode)
	}
	for len(pids) < 2 && lines.Scan() {
		var m struct {
			Method string
			Params struct {
				Job struct {
					Name string
					PID  int
				}
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.Method == "job/started" {
			pids[m.Params.Job.Name] = m.Params.Job.PID
		}
	}
	if len(pids) < 2 {
		t.Fatal("the jobs did not start: ", lines.Err())
	}

	// From here on nothing is read.
	awaitWritten(t, pids["pipe"], *unreadBytes/4)
	early := anonymous(t, cmd.Process.Pid)
	awaitWritten(t, pids["pipe"], *unreadBytes)
	late := anonymous(t, cmd.Process.Pid)
	t.Logf("%d KiB after a quarter of the output, %d KiB after all of it", early>>10, late>>10)
	bound, growth := unreadBound, 8<<20
	if raceDetector {
		bound, growth = 8*bound, 8*growth // It has memory of its own.
	}
	if late > bound || late > early+growth {
		t.Errorf("the server has %d bytes of its own after a quarter of the output and %d after all of it; at most %d, and %d more than before, are expected", early, late, bound, growth)
	}

	send(`{"jsonrpc":"2.0","id":3,"method":"job/kill","params":{"handle":"pipe","graceMs":0}}`)
	awaitEnded(t, pids["pipe"])
	if err := syscall.Kill(pids["pty"], 0); err != nil {
		t.Errorf("the other job: %v", err)
	}
	_ = in.Close()
	awaitEnded(t, pids["pty"])
	awaitEnded(t, cmd.Process.Pid)
	_, _ = io.Copy(io.Discard, out)
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the server: %v, want exit status 1, since it was not shut down", cmd.ProcessState)
	}
}

// awaitWritten waits until a process has written this many bytes.
func awaitWritten(t *testing.T, pid int, all int64) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond) // No event reports it.
	defer tick.Stop()
	for begun, last := time.Now(), int64(0); ; <-tick.C {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
		if err != nil {
			t.Fatal(err)
		}
		var read, written int64
		if _, err := fmt.Sscanf(string(text), "rchar: %d\nwchar: %d", &read, &written); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		switch {
		case written >= all:
			return
		case written > last:
			begun, last = time.Now(), written
		case time.Since(begun) > watchdog:
			t.Fatalf("process %d has written %d bytes, and no more", pid, written)
		}
	}
}

// awaitEnded waits until a process has ended; it may be a zombie.
func awaitEnded(t *testing.T, pid int) {
	t.Helper()
	awaitExit(fmt.Sprint(pid), watchdog)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return // It was also reaped.
	}
	if !hasEnded(stat) {
		t.Fatalf("process %d lives: %s", pid, stat)
	}
}
