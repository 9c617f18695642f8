package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/schema"
)

// These benchmarks run many processes: a tree that is ended, and a thousand jobs that are started and ended. Like those
// in bench_linux_test.go they have bare counterparts, which make the system calls that any server has to make.

// aTree returns a shell command that starts n-1 processes, reports that they run, and waits for them. Only the shell
// and these processes hold the output open.
func aTree(n int) []string {
	return []string{"sh", "-c", "i=1; while test $i -lt " + strconv.Itoa(n) + "; do sleep 1000 & i=$((i+1)); done; echo there; wait; sleep 1000"}
}

// BenchmarkKillToGone measures from the request to kill a tree, without grace, to the answer that no process of it is
// left.
func BenchmarkKillToGone(b *testing.B) {
	for _, n := range []int{1, 10, 250} {
		b.Run(fmt.Sprintf("bare/%d", n), func(b *testing.B) {
			var l []time.Duration
			for b.Loop() {
				l = append(l, killBare(b, n))
			}
			report(b, l)
		})
		b.Run(fmt.Sprintf("shelld/%d", n), func(b *testing.B) {
			s := serveBench(b)
			var l []time.Duration
			for b.Loop() {
				l = append(l, s.killTree(n))
			}
			report(b, l)
		})
	}
}

// killBare kills a process group that is known to be the whole tree, and reaps each process.
func killBare(b *testing.B, n int) time.Duration {
	b.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("sh", aTree(n)[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // The group exists: it has reported so.
	for gone := false; !gone; {
		_, err := unix.Wait4(-cmd.Process.Pid, nil, unix.WALL, nil)
		gone = err == unix.ECHILD
	}
	took := time.Since(begun)
	_ = out.Close()
	_ = cmd.Process.Release()
	return took
}

func (s *benchServer) killTree(n int) time.Duration {
	s.b.Helper()
	handle := s.start(schema.JobStartParams{
		Argv: aTree(n), Mode: ptr(schema.ModePipe), Wait: &schema.Wait{Until: []schema.Condition{{Pattern: ptr("there")}}},
	})
	begun := time.Now()
	var r schema.JobKillResult
	s.call("job/kill", map[string]any{"handle": handle, "graceMs": 0}, &r)
	took := time.Since(begun)
	if len(r.Killed) < n || len(r.Survivors) > 0 {
		s.b.Fatalf("%d killed, %d survivors of a tree of %d", len(r.Killed), len(r.Survivors), n)
	}
	return took
}

// BenchmarkExited measures from the clock of a command in its last act to the notification of its exit: without
// remaining processes, and with one that holds its terminal, its pipe, or nothing.
func BenchmarkExited(b *testing.B) {
	if _, err := exec.LookPath("python3"); err != nil {
		b.Skip("python3 is missing")
	}
	const last = `exec python3 -c 'import os,time; os.write(1, b"@%d@" % time.monotonic_ns()); os._exit(0)'`
	for _, c := range []struct {
		name, behind string
		mode         schema.Mode
	}{
		{"alone", "", schema.ModePipe}, {"pipe", "sleep 1000 & ", schema.ModePipe}, {"terminal", "trap '' HUP; sleep 1000 & ", schema.ModePty},
		{"nothing", "sleep 1000 </dev/null >/dev/null 2>&1 & ", schema.ModePipe},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := serveBench(b, "output", "exited")
			var l []time.Duration
			for b.Loop() {
				s.start(schema.JobStartParams{Argv: []string{"sh", "-c", c.behind + last}, Mode: &c.mode, Group: ptr("behind")})
				offset, clock := int64(0), ""
				for strings.Count(clock, "@") < 2 {
					clock += s.output(&offset)
				}
				s.await("job/exited", &schema.JobExitedParams{})
				l = append(l, since(b, clock))
				s.call("job/kill", map[string]any{"group": "behind", "graceMs": 0}, nil)
			}
			report(b, l)
		})
	}
}

// manyJobs is the number of jobs in BenchmarkManyJobs.
const manyJobs = 1000

// BenchmarkManyJobs runs a thousand idle jobs on terminals. It reports the time until all of them run; the memory of
// each (the Pss of the server and of all keepers, without the command); and the time from the end of stdin to the end
// of the server, when all of them are gone. The bare counterpart starts and kills as many processes on terminals.
func BenchmarkManyJobs(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			bareMany(b)
		}
		b.ReportMetric(0, "ns/op")
	})
	for _, end := range []string{"eof", "shutdown", "kill"} {
		b.Run("shelld/"+end, func(b *testing.B) {
			for b.Loop() {
				shelldMany(b, end)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func bareMany(b *testing.B) {
	b.Helper()
	var pids []int
	var masters []int
	begun := time.Now()
	for range manyJobs {
		fds := openTerminal(b)
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{uintptr(fds[1]), uintptr(fds[1]), uintptr(fds[1])},
			Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true},
		})
		if err != nil {
			b.Fatal(err)
		}
		_ = unix.Close(fds[1])
		pids, masters = append(pids, pid), append(masters, fds[0])
	}
	b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms-start")
	begun = time.Now()
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGTERM) // It was not reaped yet, so the PID is valid.
	}
	for i, pid := range pids {
		_, _ = unix.Wait4(pid, nil, 0, nil)
		_ = unix.Close(masters[i])
	}
	b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms-end")
}

func shelldMany(b *testing.B, end string) {
	b.Helper()
	s := serveBenchWith(b, schema.Options{Events: []string{}, Limits: &schema.LimitOptions{MaxJobs: ptr(int64(2 * manyJobs))}})
	s.call("job/run", schema.JobRunParams{Argv: []string{"true"}}, nil) // It sets up everything that the first job needs.
	before := pss(b, s.cmd.Process.Pid)
	begun := time.Now()
	s.startMany()
	b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms-start")
	after := pss(b, s.cmd.Process.Pid)
	for _, pid := range keepersOf(b, s.cmd.Process.Pid) {
		after += pss(b, pid)
	}
	b.ReportMetric(float64(after-before)/manyJobs/1024, "KiB-pss")
	begun = time.Now()
	switch end {
	case "eof":
		_ = s.stdin.Close()
		<-s.client.Done()
		_ = s.cmd.Wait() // The status is 1, because it was not shut down.
	case "shutdown":
		s.call("shutdown", nil, nil)
	case "kill":
		s.call("job/kill", map[string]any{"group": "many", "graceMs": 0}, nil)
	}
	b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms-end")
}

// startMany starts the jobs as a client with up to 32 unanswered requests.
func (s *benchServer) startMany() {
	s.b.Helper()
	var due sync.WaitGroup
	slots := make(chan struct{}, 32)
	for range manyJobs {
		slots <- struct{}{}
		due.Go(func() {
			defer func() { <-slots }()
			var r json.RawMessage
			if err := s.client.Call(context.Background(), "job/start", schema.JobStartParams{Argv: []string{"sleep", "1000"}, Group: ptr("many")}, &r); err != nil {
				s.b.Error(err)
			}
		})
	}
	due.Wait()
}

// pss returns the memory of a process in bytes, with its share of shared pages.
func pss(b *testing.B, pid int) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip("the kernel does not report it: ", err)
	}
	for line := range strings.Lines(string(text)) {
		var kib int
		if _, err := fmt.Sscanf(line, "Pss: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	b.Fatalf("%s of process %d has no Pss", text, pid)
	return 0
}
