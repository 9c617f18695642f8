package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// These benchmarks measure the whole product: a server process, its pipes, the protocol. Each has a bare counterpart
// beside it, which does the same in this process with system calls alone: docs/measured/performance.md shows the ratios
// of one run. Beside the median they report the context switches to the server's threads and the processor time used,
// which depend less on other load on the machine.

// A benchServer is the server of a benchmark.
type benchServer struct {
	b       *testing.B
	cmd     *exec.Cmd
	pid     int // of the server
	stdin   io.Closer
	client  *client.Conn
	notices chan client.Event
	ignoring
}

func serveBench(b *testing.B, events ...string) *benchServer {
	b.Helper()
	return serveBenchWith(b, schema.Options{Events: events})
}

func serveBenchWith(b *testing.B, options schema.Options) *benchServer {
	b.Helper()
	s := startBench(b, "serve")
	s.pid = s.cmd.Process.Pid
	s.call("initialize", schema.InitializeParams{Options: &options}, nil)
	return s
}

// startBench starts a command that speaks the protocol.
func startBench(b *testing.B, args ...string) *benchServer {
	b.Helper()
	// The test binary contains more than the real one, which matters for memory.
	s := &benchServer{b: b, cmd: exec.Command(cmp.Or(os.Getenv("SHELLD_BENCH"), "shelld"), args...), notices: make(chan client.Event, 1<<10)}
	s.cmd.Stderr = os.Stderr
	in, out := startPiped(b, s.cmd)
	s.stdin = in
	s.client = client.NewConn(out, in, func(n client.Event) {
		if !s.ignores(n.Params) {
			s.notices <- n
		}
	}, nil)
	b.Cleanup(func() {
		_ = in.Close() // The end of input ends it.
		go func() {
			for range s.notices { // This drains the channel until the reader has ended; the reader does not close it.
			}
		}()
		<-s.client.Done()
		close(s.notices)
		_ = s.cmd.Wait() // The status is 1, because it was not shut down.
	})
	return s
}

func (s *benchServer) call(method string, params, result any) {
	s.b.Helper()
	if err := s.client.Call(context.Background(), method, params, result); err != nil {
		s.b.Fatalf("%s: %v", method, err)
	}
}

func (s *benchServer) start(p schema.JobStartParams) json.RawMessage {
	s.b.Helper()
	var r schema.JobStartResult
	s.call("job/start", p, &r)
	return handleOf(r.Job.Handle)
}

// handleOf returns a handle as a parameter.
func handleOf(h int64) json.RawMessage { return json.RawMessage(strconv.FormatInt(h, 10)) }

// await decodes the params of the next notification with a method.
func (s *benchServer) await(method string, params any) {
	s.b.Helper()
	late := time.NewTimer(watchdog)
	defer late.Stop()
	for {
		select {
		case n := <-s.notices:
			if n.Method != method {
				continue
			}
			if err := json.Unmarshal(n.Params, params); err != nil {
				s.b.Fatal(err)
			}
			return
		case <-late.C:
			s.b.Fatalf("no %s comes", method)
		}
	}
}

// BenchmarkStartToExit runs /bin/true, and measures from the request to the notification of its exit.
func BenchmarkStartToExit(b *testing.B) {
	for _, mode := range []schema.Mode{schema.ModePipe, schema.ModePty} {
		b.Run("bare/"+string(mode), func(b *testing.B) {
			measure(b, 0, func() { bareTrue(b, mode == schema.ModePty) })
		})
		b.Run("shelld/"+string(mode), func(b *testing.B) {
			serveBench(b, "exited").startsToExit(mode)
		})
	}
}

func (s *benchServer) startsToExit(mode schema.Mode) {
	run := func() {
		s.start(schema.JobStartParams{Argv: []string{"/bin/true"}, Mode: &mode})
		s.await("job/exited", &schema.JobExitedParams{})
	}
	run() // The first run waits for a keeper.
	measure(s.b, s.pid, run)
}

// bareTrue makes the minimum of system calls that any server needs.
func bareTrue(b *testing.B, terminal bool) {
	attr := &syscall.ProcAttr{Env: os.Environ()}
	var fds [2]int
	if terminal {
		fds = openTerminal(b)
		attr.Sys = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	} else if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		b.Fatal(err)
	}
	ours, theirs := fds[0], fds[1]
	attr.Files = []uintptr{uintptr(theirs), uintptr(theirs), uintptr(theirs)}
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, attr)
	if err != nil {
		b.Fatal(err)
	}
	_ = unix.Close(theirs)
	for n, buf := 1, make([]byte, 64); n > 0; {
		n, _ = unix.Read(ours, buf) // At the end of a terminal it fails.
	}
	_, _ = syscall.Wait4(pid, nil, 0, nil)
	_ = unix.Close(ours)
}

// openTerminal returns both sides of a terminal.
func openTerminal(b *testing.B) (fds [2]int) {
	b.Helper()
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		b.Fatal(err)
	}
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		b.Skip("no way to the terminal's other side: ", errno)
	}
	return [2]int{master, int(slave)}
}

// BenchmarkEcho types a byte into cat on a raw terminal, and measures from the request to the byte.
func BenchmarkEcho(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		t := openBare(b, cat)
		t.until("ready\n")
		measure(b, 0, func() { t.write("x"); t.until("x") })
	})
	b.Run("shelld", func(b *testing.B) {
		serveBench(b, "output").echoes()
	})
}

const cat = "stty raw -echo; echo ready; exec cat"

func (s *benchServer) echoes() {
	s.b.Helper()
	handle := s.start(schema.JobStartParams{Argv: []string{"sh", "-c", cat}, Wait: &schema.Wait{Until: []schema.Condition{{Pattern: ptr("ready")}}}})
	offset := int64(0)
	for got := ""; got != "ready\n"; {
		got += s.output(&offset)
	}
	measure(s.b, s.pid, func() {
		done := make(chan struct{}) // closed after the answer, which may arrive before or after the output
		go func() {
			defer close(done)
			if err := s.client.Call(context.Background(), "job/write", schema.JobWriteParams{Handle: handle, Input: ptr("x")}, nil); err != nil {
				s.b.Error(err)
			}
		}()
		s.output(&offset)
		<-done
	})
}

func (s *benchServer) output(offset *int64) string {
	s.b.Helper()
	var e schema.JobOutputParams
	s.await("job/output", &e)
	*offset = e.Offset + e.Bytes
	if e.Text == nil {
		return ""
	}
	return *e.Text
}

// BenchmarkPrompt has a program print a prompt, and measures from its clock just before that to the notification that a
// pattern matched.
func BenchmarkPrompt(b *testing.B) {
	if _, err := exec.LookPath("python3"); err != nil {
		b.Skip("python3 is missing")
	}
	b.Run("bare", func(b *testing.B) {
		t := openBare(b, "stty -echo; exec python3 -c '"+stampedPrompts+"'")
		t.until("begin\r\n")
		var l []time.Duration
		for b.Loop() {
			t.write("\n")
			l = append(l, since(b, t.until("ready> ")))
		}
		report(b, l)
	})
	b.Run("shelld", func(b *testing.B) {
		serveBench(b, "patternMatched").prompts()
	})
}

const stampedPrompts = `import sys,time
sys.stdout.write("begin\n"); sys.stdout.flush()
for l in iter(sys.stdin.readline, ""):
    sys.stdout.write("@%d@ready> " % time.monotonic_ns()); sys.stdout.flush()`

func (s *benchServer) prompts() {
	handle := s.start(schema.JobStartParams{
		Argv: []string{"sh", "-c", "stty -echo; exec python3 -c '" + stampedPrompts + "'"}, Watch: []schema.Watch{{Pattern: `@(\d+)@ready> `}},
		Wait: &schema.Wait{Until: []schema.Condition{{Pattern: ptr("begin")}}},
	})
	before := spentBy(s.pid)
	var l []time.Duration
	for s.b.Loop() {
		s.call("job/write", schema.JobWriteParams{Handle: handle, Input: ptr("\n")}, nil)
		var e schema.JobPatternMatchedParams
		s.await("job/patternMatched", &e)
		l = append(l, since(s.b, e.Match))
	}
	report(s.b, l)
	before.report(s.b, s.pid)
}

// since returns the time since the time stamp in a prompt.
func since(b *testing.B, prompt string) time.Duration {
	b.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		b.Fatal(err)
	}
	parts := strings.Split(prompt, "@")
	at, err := strconv.ParseInt(parts[max(len(parts)-2, 0)], 10, 64)
	if err != nil {
		b.Fatalf("prompt %q", prompt)
	}
	return time.Duration(now.Nano() - at)
}

// A bareTerminal is a program on a terminal of this process.
type bareTerminal struct {
	b    *testing.B
	file *os.File
	in   *bufio.Reader
}

func openBare(b *testing.B, command string) *bareTerminal {
	b.Helper()
	fds := openTerminal(b)
	master, slave := os.NewFile(uintptr(fds[0]), "master"), os.NewFile(uintptr(fds[1]), "slave")
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = slave.Close()
	b.Cleanup(func() { _ = master.Close() })
	endWith(b, cmd)
	return &bareTerminal{b, master, bufio.NewReader(master)}
}

// endWith ends a command at the end of the benchmark.
func endWith(b *testing.B, cmd *exec.Cmd) {
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func (t *bareTerminal) write(text string) {
	t.b.Helper()
	if _, err := t.file.WriteString(text); err != nil {
		t.b.Fatal(err)
	}
}

// until returns the output up to and including a text.
func (t *bareTerminal) until(want string) string {
	t.b.Helper()
	var got []byte
	for !strings.HasSuffix(string(got), want) {
		c, err := t.in.ReadByte()
		if err != nil {
			t.b.Fatalf("%v behind %q", err, got)
		}
		got = append(got, c)
	}
	return string(got)
}

// BenchmarkIdleJobs reports the memory of 50 idle jobs, per job: the private memory of each keeper, and the growth of
// the server. The memory of the command is not included.
func BenchmarkIdleJobs(b *testing.B) {
	for _, program := range []string{"sleep", "cat"} {
		b.Run(program, func(b *testing.B) {
			for b.Loop() {
				idleJobs(b, program)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func idleJobs(b *testing.B, program string) {
	const jobs = 50
	s := serveBench(b, "exited")
	argv := map[string][]string{"sleep": {"sleep", "1000"}, "cat": {"cat"}}[program]
	s.call("job/run", schema.JobRunParams{Argv: []string{"true"}}, nil) // It sets up everything that the first job needs.
	before := anonymous(b, s.cmd.Process.Pid)
	for range jobs {
		s.start(schema.JobStartParams{Argv: argv, Group: ptr("idle")})
	}
	s.call("job/list", struct{}{}, nil)
	server := anonymous(b, s.cmd.Process.Pid) - before
	keepers := keepersOf(b, s.cmd.Process.Pid)
	sum := 0
	for _, pid := range keepers {
		sum += anonymous(b, pid)
	}
	b.ReportMetric(float64(sum)/float64(len(keepers))/1024, "KiB-keeper")
	b.ReportMetric(float64(server)/jobs/1024, "KiB-server")
	s.call("job/kill", struct {
		Group string `json:"group"`
	}{"idle"}, nil)
}

// measure runs and reports one operation; pid is the server that performs it, or 0.
func measure(b *testing.B, pid int, run func()) {
	b.Helper()
	before := spentBy(pid)
	var l []time.Duration
	for b.Loop() {
		begun := time.Now()
		run()
		l = append(l, time.Since(begun))
	}
	report(b, l)
	before.report(b, pid)
}

func report(b *testing.B, l []time.Duration) {
	slices.Sort(l)
	b.ReportMetric(float64(l[len(l)/2].Nanoseconds())/1e3, "µs-p50")
	b.ReportMetric(float64(l[len(l)*99/100].Nanoseconds())/1e3, "µs-p99")
	b.ReportMetric(0, "ns/op") // The mean is less useful on a machine with other load.
}

// spent is the resources that the threads of a process have used so far.
type spent struct {
	onCPU    time.Duration
	switches int // number of times that a thread was switched to
}

func spentBy(pid int) (s spent) {
	if pid == 0 {
		return s
	}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, f := range files {
		text, _ := os.ReadFile(f) // The thread may have ended.
		var ran, waited int64
		var times int
		_, _ = fmt.Sscan(string(text), &ran, &waited, &times)
		s.onCPU += time.Duration(ran)
		s.switches += times
	}
	return s
}

func (s spent) report(b *testing.B, pid int) {
	if pid == 0 {
		return
	}
	now := spentBy(pid)
	b.ReportMetric(float64((now.onCPU-s.onCPU).Nanoseconds())/1e3/float64(b.N), "µs-cpu/op")
	b.ReportMetric(float64(now.switches-s.switches)/float64(b.N), "switches/op")
}
