package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A hosted is a directory for sessions. At the end of the test, no process may be left that has it in its command line
// or its environment.
type hosted struct {
	*testing.T
	state, dir string
}

func newHosted(t *testing.T) *hosted {
	t.Helper()
	needJobs(t)
	h := &hosted{T: t, state: t.TempDir()}
	h.dir = h.state + "/shelld/hosts"
	t.Cleanup(func() {
		for _, p := range h.processes() {
			awaitExit(p, watchdog)
		}
		for _, p := range h.processes() {
			t.Errorf("left is the process %s", p)
		}
	})
	return h
}

// processes lists the processes of the sessions: hosts, fronts and jobs.
func (h *hosted) processes() (all []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		environ, _ := os.ReadFile(p + "/environ")
		cmdline, _ := os.ReadFile(p + "/cmdline")
		stat, err := os.ReadFile(p + "/stat")
		if err == nil && !hasEnded(stat) && strings.Contains(string(environ)+string(cmdline), h.state) {
			all = append(all, filepath.Base(p)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return all
}

func (h *hosted) command(args ...string) *exec.Cmd {
	cmd := exec.Command("shelld", args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+h.state)
	cmd.WaitDelay = time.Second
	return cmd
}

// run runs a command with an empty stdin. It returns the exit status and the output.
func (h *hosted) run(args ...string) (status int, stdout, stderr string) {
	h.Helper()
	cmd := h.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		h.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// A frontClient is a client that has started shelld connect.
type frontClient struct {
	*hosted
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	lines  *bufio.Reader
	stderr *bytes.Buffer // read only after wait
	id     int

	closeStderr func() // with connectWith
}

func (h *hosted) connect(args ...string) *frontClient {
	h.Helper()
	return h.connectWith(false, args...)
}

// connectWith is connect for a test that closes the client's end of stderr.
func (h *hosted) connectWith(ownStderr bool, args ...string) *frontClient {
	h.Helper()
	r, in, err := os.Pipe()
	if err != nil {
		h.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		h.Fatal(err)
	}
	f := &frontClient{hosted: h, cmd: h.command(append([]string{"connect"}, args...)...), in: in, out: out, lines: bufio.NewReader(out), stderr: &bytes.Buffer{}}
	f.cmd.Stdin, f.cmd.Stdout, f.cmd.Stderr = r, w, f.stderr
	if ownStderr {
		errs, w, err := os.Pipe()
		if err != nil {
			h.Fatal(err)
		}
		defer w.Close()
		f.cmd.Stderr, f.closeStderr = w, func() { _ = errs.Close() }
	}
	if err := f.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	_, _ = r.Close(), w.Close()
	h.Cleanup(func() {
		_, _ = in.Close(), out.Close()
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
	})
	return f
}

// call makes a request and returns the result.
func (f *frontClient) call(method string, params any, result any) {
	f.Helper()
	f.id++
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": f.id, "method": method, "params": params})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := f.in.Write(append(b, '\n')); err != nil {
		f.Fatal(err)
	}
	for {
		line, err := f.lines.ReadBytes('\n')
		if err != nil {
			f.Fatalf("%s: %v", method, err)
		}
		var m struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Error != nil {
			f.Fatalf("%s: %s, %v", method, line, err)
		}
		if m.ID != f.id {
			continue
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				f.Fatal(err)
			}
		}
		return
	}
}

func (f *frontClient) initialize() {
	f.Helper()
	f.call("initialize", map[string]any{}, nil)
}

// stop stops a host to the end of the test, and waits until all of its threads have stopped.
func (h *hosted) stop(host int) {
	h.Helper()
	h.Cleanup(func() { _ = syscall.Kill(host, syscall.SIGKILL) })
	if err := syscall.Kill(host, syscall.SIGSTOP); err != nil {
		h.Fatal(err)
	}
	for until := time.Now().Add(watchdog); ; {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", host))
		moves := err != nil || len(stats) == 0
		for _, name := range stats {
			stat, err := os.ReadFile(name)
			moves = moves || err != nil || !strings.Contains(string(stat), ") T ")
		}
		if !moves {
			return
		}
		if time.Now().After(until) {
			h.Fatal("the host does not stop")
		}
	}
}

// awaitFront waits until the process is nothing but a front that passes signals on. The last that it does before it waits
// is to ignore SIGPIPE.
func (f *frontClient) awaitFront() {
	f.Helper()
	for until := time.Now().Add(watchdog); ; {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.cmd.Process.Pid))
		if err != nil || time.Now().After(until) {
			f.Fatalf("it is not a front: %s, %v", status, err)
		}
		text := string(status)
		if strings.HasPrefix(text, "Name:\tshelld-front\n") && strings.Contains(text, "SigIgn:\t0000000000001000\n") {
			return
		}
	}
}

// wait returns the exit status of the front, and its stderr.
func (f *frontClient) wait() (status int, stderr string) {
	f.Helper()
	done := make(chan error, 1)
	go func() { done <- f.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(watchdog):
		f.Fatal("the front does not end")
	}
	return f.cmd.ProcessState.ExitCode(), f.stderr.String()
}

// closed checks that nothing has the other ends of the client's pipes open.
func (f *frontClient) closed() {
	f.Helper()
	if err := f.out.SetReadDeadline(time.Now().Add(watchdog)); err != nil {
		f.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, f.lines); err != nil {
		f.Errorf("stdout does not end: %v", err)
	}
	if _, err := io.WriteString(f.in, "x"); !errors.Is(err, syscall.EPIPE) {
		f.Errorf("stdin is still open: %v", err)
	}
}

// host returns the pid of the host of a session.
func (h *hosted) host(name string) int {
	h.Helper()
	status, out, stderr := h.run("sessions", "show", name, "-json")
	var s struct {
		PID    int
		Alive  bool
		Status hostStatus
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || status != 0 || !s.Alive || s.PID == 0 {
		h.Fatalf("%d, %s, %s, %v", status, out, stderr, err)
	}
	return s.PID
}

func (h *hosted) end(name string) {
	h.Helper()
	if status, out, stderr := h.run("sessions", "end", name); status != 0 || out != "" || stderr != "" {
		h.Errorf("exit status %d, %s, %s", status, out, stderr)
	}
}

// frontBytes is the maximum private memory of a front.
const frontBytes = 1536 << 10

// A client is served by the host. The front relays nothing, and takes little memory.
func TestConnect(t *testing.T) {
	h := newHosted(t)
	f := h.connect("-session", "work", "-name", "my work")
	f.initialize()
	var started struct{ Job struct{ PID int } }
	f.call("job/start", map[string]any{"argv": []string{"sleep", "300"}}, &started)
	pid := h.host("work")
	if status, out, _ := h.run("sessions"); status != 0 || !strings.Contains(out, "work") || !strings.Contains(out, "alive") || !strings.Contains(out, "my work") {
		t.Errorf("exit status %d, the list is\n%s", status, out)
	}
	front := f.cmd.Process.Pid
	for fd, want := range []string{"/dev/null", "/dev/null", "pipe:", "socket:"} { // stderr is that of the client
		if got, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", front, fd)); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("descriptor %d of the front is %s, %v, not %s", fd, got, err, want)
		}
	}
	for _, p := range []struct {
		pid  int
		want string
	}{{front, "shelld-front"}, {pid, "shelld-host"}} {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid)); err != nil || string(name) != p.want+"\n" {
			t.Errorf("process %d is called %q, %v, not %s", p.pid, name, err, p.want)
		}
	}
	if sid, err := unix.Getsid(pid); err != nil || sid != pid {
		t.Errorf("the host is in the session %d, %v", sid, err)
	}
	n := anonymous(t, front)
	t.Logf("a front has %d KiB of its own", n>>10)
	if n > frontBytes && !raceDetector {
		t.Errorf("the front has %d bytes of its own, want at most %d", n, frontBytes)
	}
	h.end("work")
	f.closed()
	if status, stderr := f.wait(); status > 1 || stderr != "" {
		t.Errorf("the front exits with %d, %s", status, stderr)
	}
	for _, pid := range []int{pid, started.Job.PID} {
		awaitExit(fmt.Sprint(pid), watchdog) // It is about to end.
		if p, alive := processOf(pid); alive {
			t.Errorf("alive is %v", p)
		}
	}
	if _, err := os.Stat(h.dir + "/work"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the session: %v", err)
	}
}

// Each client of a host has its own framing.
func TestConnectFramings(t *testing.T) {
	h := newHosted(t)
	f := h.connect("-session", "work")
	f.initialize()
	other := h.connect("-session", "work")
	request := `{"jsonrpc":"2.0","id":1,"method":"initialize"}`
	if _, err := fmt.Fprintf(other.in, "Content-Length: %d\r\n\r\n%s", len(request), request); err != nil {
		t.Fatal(err)
	}
	if line, err := other.lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "Content-Length: ") {
		t.Errorf("the answer begins with %q, %v", line, err)
	}
	f.call("job/list", map[string]any{}, nil)
	h.end("work")
}

// The end of the front is the end of the connection, and a signal to it a request for that.
func TestConnectEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*frontClient, int)
		status int // -1: 0 or 1
		stderr string
	}{
		"SIGKILL of the front": {func(f *frontClient, _ int) { _ = f.cmd.Process.Kill() }, -2, ""},
		"SIGTERM":              {func(f *frontClient, _ int) { _ = f.cmd.Process.Signal(syscall.SIGTERM) }, -1, ""},
		"end of stdin":         {func(f *frontClient, _ int) { _ = f.in.Close() }, -1, ""},
		"SIGKILL of the host": {
			func(f *frontClient, host int) { _ = syscall.Kill(host, syscall.SIGKILL) }, 75, "has ended, and its jobs with it. To start the session anew: shelld connect -session work\n",
		},
		"SIGKILL of the host, and stderr is closed": {func(f *frontClient, host int) {
			f.closeStderr()
			_ = syscall.Kill(host, syscall.SIGKILL)
		}, 75, ""},
		"SIGTERM, and the host hangs": {func(f *frontClient, host int) {
			f.stop(host)
			_ = f.cmd.Process.Signal(syscall.SIGTERM)
		}, 75, "does not answer; its jobs may be alive. To attach again: shelld connect -session work\n"},
		"SIGTERM twice, and the host hangs": {func(f *frontClient, host int) {
			f.stop(host)
			_ = f.cmd.Process.Signal(syscall.SIGTERM)
			_ = f.cmd.Process.Signal(syscall.SIGINT)
		}, 75, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHosted(t)
			f := h.connectWith(strings.Contains(name, "stderr"), "-session", "work")
			f.initialize()
			host := h.host("work")
			f.awaitFront()
			c.end(f, host)
			status, stderr := f.wait()
			if status != c.status && (c.status != -1 || status > 1) && c.status != -2 || !strings.HasSuffix(stderr, c.stderr) {
				t.Errorf("exit status %d, %s", status, stderr)
			}
			if !strings.Contains(name, "hangs") {
				if name != "end of stdin" {
					f.closed()
				}
				h.run("sessions", "end", "work") // With one client, it may have ended already.
			}
		})
	}
}

func TestConnectErrors(t *testing.T) {
	h := newHosted(t)
	if err := os.MkdirAll(h.dir+"/open", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.dir+"/open", 0o777); err != nil {
		t.Fatal(err)
	}
	future := h.dir + "/future"
	if err := os.Mkdir(future, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", future+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, `{"error":"version","message":"a later one"}`+"\n")
			_ = c.Close()
		}
	}()
	file := h.state + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"connect", 2, "name a session with -session NAME, or make one with -new"},
		{"connect -new -session x", 2, "name a session"},
		{"connect -new -existing", 2, "-existing is for -session"},
		{"connect -session a/b", 2, "cannot be the name of a session"},
		{"connect -session x -framing line", 2, "-framing"},
		{"connect -session nosuch -existing", 69, "there is no session nosuch"},
		{"connect -session future", 76, "a later one"},
		{"connect -session open", 77, "chmod 700"},
		{"connect -session x -dir " + file, 1, "not a directory"},
		{"sessions show nosuch", 69, "there is no session nosuch"},
		{"sessions show", 2, "name one session"},
		{"sessions end nosuch", 69, "there is no session nosuch"},
		{"sessions end future", 69, "has ended already"},
		{"sessions frobnicate", 2, "there is no command"},
		{"sessions kill", 2, "did you mean end?"},
		{"host -session x -dir " + h.dir, 1, "there is no session x"},
		{"host -session open2 -dir " + h.dir, 1, "there is no session"},
	} {
		status, out, stderr := h.run(strings.Fields(c.args)...)
		if status != c.status || out != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit status %d, %q, %q; want %d, %q", c.args, status, out, stderr, c.status, c.want)
		}
	}
	if _, out, _ := h.run("help"); strings.Contains(out, "host ") {
		t.Errorf("the hidden command is in the help:\n%s", out)
	}
	for name, give := range map[string]func(*exec.Cmd, *os.File){
		"stdin":  func(c *exec.Cmd, tty *os.File) { c.Stdin = tty },
		"stdout": func(c *exec.Cmd, tty *os.File) { c.Stdout = tty },
	} {
		cmd := h.command("connect", "-session", "x")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		master, tty := plainTerminal(t)
		give(cmd, tty)
		if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(errs.String(), name+" is a terminal") {
			t.Errorf("%s is a terminal: %s", name, errs.String())
		}
		_, _ = tty.Close(), master.Close()
	}
	// Without a place for files.
	cmd := exec.Command("shelld", "connect", "-new")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "set HOME or XDG_STATE_HOME") {
		t.Errorf("without HOME: %s, %v", out, err)
	}
}

// The session of a machine that is gone is named, and deleted on request.
func TestPruneElsewhere(t *testing.T) {
	h := newHosted(t)
	if err := os.MkdirAll(h.dir+"/work", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "work", "host.json"), []byte(`{"v":1,"pid":1,"bootId":"x","machine":"y","hostname":"gone"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args        string
		status      int
		out, stderr string
	}{
		{"connect -session work", 77, "", "shelld sessions prune -elsewhere work"},
		{"sessions prune", 0, "0 sessions deleted\n", "shelld sessions prune -elsewhere work"},
		{"sessions prune -elsewhere nosuch", 69, "", "there is no session nosuch"},
		{"sessions prune -elsewhere work", 0, "1 session deleted\n", ""},
	} {
		status, out, stderr := h.run(strings.Fields(c.args)...)
		if status != c.status || out != c.out || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit status %d, %q, %q", c.args, status, out, stderr)
		}
	}
	f := h.connect("-session", "work")
	f.initialize()
	h.end("work")
}

func TestConnectNew(t *testing.T) {
	h := newHosted(t)
	f := h.connect("-new")
	f.initialize()
	_, out, _ := h.run("sessions", "-json")
	var list struct{ Sessions []struct{ Name string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%s, %v", out, err)
	}
	name := list.Sessions[0].Name
	h.end(name)
	if _, stderr := f.wait(); stderr != "shelld connect: the session is "+name+"\n" {
		t.Errorf("the front says %q", stderr)
	}
	if _, out, stderr := h.run("sessions"); out != "" || !strings.Contains(stderr, "there are no sessions") {
		t.Errorf("%q, %q", out, stderr)
	}
}

// A job outlives the death of its client's front. Meanwhile the session tells when it ends, and the next client finds it.
func TestJobOutlivesItsClient(t *testing.T) {
	h := newHosted(t)
	f := h.connect("-session", "work")
	f.call("initialize", map[string]any{"session": map[string]any{"clientId": "one"}}, nil)
	var started struct{ Job struct{ Handle, PID int } }
	f.call("job/start", map[string]any{"argv": []string{"sleep", "300"}, "onDetach": "keep"}, &started)
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	f.closed()
	_, _ = f.wait()
	// The host knows of it as soon as it has closed the descriptors, but has more to do until it shows.
	again := h.connect("-session", "work", "-existing")
	var init struct{ Session struct{ Attached string } }
	again.call("initialize", map[string]any{"session": map[string]any{"clientId": "one"}}, &init)
	if init.Session.Attached != "returned" && init.Session.Attached != "replaced" {
		t.Errorf("it is attached as %s", init.Session.Attached)
	}
	var list struct{ Jobs []struct{ Handle, PID int } }
	again.call("job/list", map[string]any{}, &list)
	if len(list.Jobs) != 1 || list.Jobs[0] != started.Job {
		t.Errorf("the jobs are %+v, not %+v", list.Jobs, started.Job)
	}
	again.call("session/detach", map[string]any{}, nil)
	again.closed()
	if status, stderr := again.wait(); status != 0 || stderr != "" {
		t.Errorf("the front exits with %d, %s", status, stderr)
	}
	_, out, _ := h.run("sessions", "show", "work", "-json")
	var s struct{ Status hostStatus }
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Status.Clients) != 0 || s.Status.LiveJobs != 1 || s.Status.EndsAt == nil || s.Status.StateDirectory != h.state+"/shelld/io" {
		t.Errorf("it is shown as %s", out)
	}
	if left := time.Until(deref(t, s.Status.EndsAt)); left < 23*time.Hour || left > 24*time.Hour {
		t.Errorf("it ends in %v", left)
	}
	h.end("work")
	awaitExit(fmt.Sprint(started.Job.PID), watchdog)
	if p, alive := processOf(started.Job.PID); alive {
		t.Errorf("alive is %v", p)
	}
}
