package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A client is served by the host itself, and a second one by the same host. When all is over, nothing is left.
func TestHandOver(t *testing.T) {
	d := newDirectory(t)
	c := attach(t, d, "work")
	pid := c.say("hello")
	if pid != c.link.Host {
		t.Errorf("%d answers, not the host %d", pid, c.link.Host)
	}
	other := attach(t, d, "work")
	if got := other.say("me too"); got != pid {
		t.Errorf("the second client has the host %d, not %d", got, pid)
	}
	e, err := d.Show("work")
	if err != nil || !e.Alive || e.Info.PID != pid || e.Info.Session != "work" || string(e.Status) != `"fine"` || e.Info.BootID == "" || !e.Info.process() {
		t.Errorf("it is shown as %+v, %v", e, err)
	}
	// One ends by its stdin, the other is sent away.
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if got := awaitStatus(c.link); got != 0 {
		t.Errorf("exit status %d", got)
	}
	if _, err := io.WriteString(other.in, "exit 3\n"); err != nil {
		t.Fatal(err)
	}
	if got := awaitStatus(other.link); got != 3 {
		t.Errorf("exit status %d", got)
	}
	other.gone()
	end(t, d, "work")
	if left, err := os.ReadDir(d.path); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// Whatever is handed over, the end of the front closes it at once, also while the host reads.
func TestEndOfTheLink(t *testing.T) {
	d := newDirectory(t)
	attach(t, d, "work")
	t.Run("pipes", func(t *testing.T) {
		c := attach(t, d, "work")
		c.say("x")
		if err := c.link.Close(); err != nil {
			t.Fatal(err)
		}
		c.gone()
	})
	t.Run("sockets", func(t *testing.T) {
		in, r := socketPair(t)
		out, w := socketPair(t)
		c, err := handOver(t, d, "work", in, out, r, w)
		if err != nil {
			t.Fatal(err)
		}
		c.say(strings.Repeat("x", 60_000)) // The answer is more than a socket takes at once.
		if err := c.link.Close(); err != nil {
			t.Fatal(err)
		}
		c.gone()
	})
	end(t, d, "work")
}

// A write to a terminal that is not read blocks, whatever poll says. Close does not wait for its end.
func TestStuckTerminal(t *testing.T) {
	master, tty := terminal(t)
	s, err := openStream(tty, unix.O_WRONLY)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.(*stream).WriteNow([]byte("x")); n != 0 || err != nil {
		t.Errorf("%d bytes are written at once, %v", n, err)
	}
	wrote, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Write(bytes.Repeat([]byte("\n"), 1<<20))
		wrote <- err
	}()
	for until := time.Now().Add(watchdog); !writes(t, tty); {
		if time.Now().After(until) {
			t.Fatal("the write to the terminal does not block")
		}
	}
	go func() { closed <- s.Close() }()
	select {
	case <-closed:
	case <-time.After(watchdog / 6):
		t.Error("Close waits for the write")
	}
	if err := master.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err == nil {
		t.Error("everything is written")
	}
	if _, err := unix.FcntlInt(uintptr(tty), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("the terminal is still open: %v", err)
	}
}

// terminal returns the two ends of a terminal.
func terminal(t *testing.T) (master *os.File, tty int) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	return master, tty
}

// writes reports whether a thread of this process sleeps in write(2) to a descriptor.
func writes(t *testing.T, fd int) bool {
	t.Helper()
	calls, err := filepath.Glob("/proc/self/task/*/syscall")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range calls {
		text, err := os.ReadFile(name)
		if err == nil && strings.HasPrefix(string(text), fmt.Sprintf("%d %#x ", unix.SYS_WRITE, fd)) {
			return true
		}
	}
	return false
}

func socketPair(t *testing.T) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptInt(fds[1], unix.SOL_SOCKET, unix.SO_SNDBUF, 4096); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
}

// 20 fronts at once start one host.
func TestRaceOfStarts(t *testing.T) {
	d := newDirectory(t)
	const fronts = 20
	var all sync.WaitGroup
	answers := make(chan string, fronts)
	for range fronts {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = []string{testFront, d.path, "work"}
		cmd.Stdin = strings.NewReader("hello\n")
		all.Go(func() {
			out, err := cmd.CombinedOutput()
			answers <- fmt.Sprintf("%s%v", out, err)
		})
	}
	all.Wait()
	close(answers)
	hosts := hostsOf(t, d.path)
	if len(hosts) != 1 {
		t.Fatalf("the hosts are %v", hosts)
	}
	for got := range answers {
		if want := fmt.Sprintf("%d hello\n<nil>", hosts[0]); got != want {
			t.Errorf("a front says %q, not %q", got, want)
		}
	}
	end(t, d, "work")
}

// A front that is killed leaves nothing of its client open, and the host lives on.
func TestKilledFront(t *testing.T) {
	d := newDirectory(t)
	r, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	attach(t, d, "work")
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{testFront, d.path, "work"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, w, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = r.Close(), w.Close()
	c := &attachedClient{t: t, in: in, out: out, lines: bufio.NewReader(out)}
	pid := c.say("hello")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // It was killed.
	c.gone()
	_, _ = in.Close(), out.Close()
	if got := attach(t, d, "work").say("again"); got != pid {
		t.Errorf("the host is %d now, not %d", got, pid)
	}
	end(t, d, "work")
}

// After the death of a host, the next front starts another one.
func TestKilledHost(t *testing.T) {
	d := newDirectory(t)
	c := attach(t, d, "work")
	pid := c.say("hello")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := awaitStatus(c.link); got != 75 {
		t.Errorf("exit status %d", got)
	}
	c.gone()
	call := callOf(d, "work", os.Stdin, os.Stdout)
	call.Existing = true
	_, err := d.Connect(call)
	wantKind(t, err, NotFound, "has ended")
	if e, err := d.Show("work"); err != nil || e.Alive || e.Info.PID != pid {
		t.Errorf("it is shown as %+v, %v", e, err)
	}
	if got := attach(t, d, "work").say("hello"); got == pid {
		t.Errorf("the host is still %d", got)
	}
	end(t, d, "work")
}

// What a host has lost, it makes anew, or nothing depends on it.
func TestLostFiles(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"socket": func(path string) error { return os.Remove(path + "/socket") },
		"another file": func(path string) error {
			return errOf(os.Remove(path+"/socket"), os.WriteFile(path+"/socket", nil, 0o600))
		},
		"host.json": func(path string) error { return os.Truncate(path+"/host.json", 40) },
		"host.log":  func(path string) error { return os.Remove(path + "/host.log") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDirectory(t)
			pid := attach(t, d, "work").say("hello")
			if err := damage(d.path + "/work"); err != nil {
				t.Fatal(err)
			}
			if e, err := d.Show("work"); err != nil || !e.Alive {
				t.Errorf("it is shown as %+v, %v", e, err)
			}
			if got := attach(t, d, "work").say("hello"); got != pid {
				t.Errorf("the host is %d, not %d", got, pid)
			}
			end(t, d, "work")
		})
	}
}

func errOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A host that does not answer keeps nobody for long.
func TestStoppedHost(t *testing.T) {
	d := newDirectory(t)
	pid := attach(t, d, "work").say("hello")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	d.answer = 50 * time.Millisecond
	_, err := tryAttach(t, d, "work")
	wantKind(t, err, Gone, fmt.Sprintf("process %d", pid))
	if e, err := d.Show("work"); err != nil || !e.Alive || e.Err == nil {
		t.Errorf("it is shown as %+v, %v", e, err)
	}
	// Nor does one whose socket is gone as well.
	if err := os.Remove(filepath.Join(d.path, "work", "socket")); err != nil {
		t.Fatal(err)
	}
	_, err = tryAttach(t, d, "work")
	wantKind(t, err, Gone, "cannot be reached")
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	d.answer = answerTime
	if got := attach(t, d, "work").say("hello"); got != pid {
		t.Errorf("the host is %d, not %d", got, pid)
	}
	end(t, d, "work")
}

func TestRefusedDirectories(t *testing.T) {
	d := newDirectory(t)
	for _, name := range []string{"", ".", "..", "a/b", "/", "-a", "a b", "a\n", strings.Repeat("x", 65), "ä", ".hidden"} {
		_, err := tryAttach(t, d, name)
		wantKind(t, err, NotFound, "cannot be the name")
	}
	call := callOf(d, "work", os.Stdin, os.Stdout)
	call.Existing = true
	_, err := d.Connect(call)
	wantKind(t, err, NotFound, "there is no session work")
	if err := os.MkdirAll(d.path+"/open", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.path+"/open", 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = tryAttach(t, d, "open")
	wantKind(t, err, NotOurs, "chmod 700")
	if err := os.Symlink("open", d.path+"/link"); err != nil {
		t.Fatal(err)
	}
	_, err = tryAttach(t, d, "link")
	wantKind(t, err, NotOurs, "not a directory of this user")
	if all, err := d.List(); err != nil || len(all) != 2 || all[0].Err == nil || all[1].Err == nil {
		t.Errorf("the list is %+v, %v", all, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	if err := errOf(os.Mkdir(d.path+"/other", 0o700), os.Chown(d.path+"/other", 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	_, err = tryAttach(t, d, "other")
	wantKind(t, err, NotOurs, "not a directory of this user")
	if err := os.Chown(d.path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	_, err = tryAttach(t, d, "work")
	wantKind(t, err, NotOurs, "belongs to another user")
}

// A host that cannot start says why, and leaves nothing.
func TestHostFails(t *testing.T) {
	d := newDirectory(t)
	if _, err := tryAttach(t, d, "fails"); err == nil || !strings.Contains(err.Error(), "it has no wish to") {
		t.Errorf("%v", err)
	}
	call := callOf(d, "work", os.Stdin, os.Stdout)
	call.Host = []string{testHost} // It crashes.
	if _, err := d.Connect(call); err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(d.path + "/fails"); err == nil {
		t.Error("the directory is left")
	}
}

func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	disk := t.TempDir()
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=16k,mode=700"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { // It comes after the end of the hosts.
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	d, err := Open(disk + "/hosts")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(disk+"/full", make([]byte, 16<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryAttach(t, d, "work"); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("%v", err)
	}
	if hosts := hostsOf(t, d.path); len(hosts) > 0 {
		t.Errorf("the hosts %v are left", hosts)
	}
	if err := os.Remove(disk + "/full"); err != nil {
		t.Fatal(err)
	}
	attach(t, d, "work").say("hello")
	end(t, d, "work")
}

// A path that is too long for a socket is reached all the same.
func TestLongPath(t *testing.T) {
	d := newDirectory(t)
	d.path += "/" + strings.Repeat("x", 120)
	attach(t, d, "work").say("hello")
	end(t, d, "work")
}

// What a front has inherited from its parent does not get into the host.
func TestInheritedDescriptors(t *testing.T) {
	d := newDirectory(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	attach(t, d, "work").say("hello")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(watchdog)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the pipe does not end: %v", err)
	}
	end(t, d, "work")
}

// Peers that break the rules harm neither the host nor other clients, and leave no descriptor.
func TestBadPeers(t *testing.T) {
	d := newDirectory(t)
	c := attach(t, d, "work")
	pid := c.say("hello")
	before := openFiles(t, pid)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd := int(w.Fd())
	var open []net.Conn
	for name, p := range map[string]struct {
		text string
		fds  []int
		want string // in the answer; "": there is none yet
	}{
		"silent":             {},
		"half a line":        {text: `{"shelld":"att`, fds: []int{fd, fd}},
		"garbage":            {text: "GET / HTTP/1.1\r\n\r\n", want: "malformed"},
		"too long":           {text: strings.Repeat("x", 100_000), want: "malformed"},
		"another version":    {text: `{"shelld":"attach","v":2}` + "\n", fds: []int{fd, fd}, want: "version"},
		"another verb":       {text: `{"shelld":"dance","v":1}` + "\n", want: "version"},
		"no descriptor":      {text: `{"shelld":"attach","v":1}` + "\n", want: "malformed"},
		"one descriptor":     {text: `{"shelld":"attach","v":1}` + "\n", fds: []int{fd}, want: "malformed"},
		"three descriptors":  {text: `{"shelld":"attach","v":1}` + "\n", fds: []int{fd, fd, fd}, want: "malformed"},
		"descriptors in end": {text: `{"shelld":"end","v":1}` + "\n", fds: []int{fd}, want: "malformed"},
	} {
		conn, err := net.Dial("unix", filepath.Join(d.path, "work", "socket"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if p.text != "" {
			var rights []byte
			if p.fds != nil {
				rights = unix.UnixRights(p.fds...)
			}
			if _, _, err := conn.(*net.UnixConn).WriteMsgUnix([]byte(p.text), rights, nil); err != nil && name != "too long" {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if p.want == "" {
			open = append(open, conn)
			continue
		}
		answer, _ := io.ReadAll(conn) // What was not read leads to ECONNRESET.
		if !strings.Contains(string(answer), `{"error":"`+p.want) {
			t.Errorf("%s: the answer is %q, not %s", name, answer, p.want)
		}
	}
	for range 2 * maxAsking { // These take all places.
		conn, err := net.Dial("unix", filepath.Join(d.path, "work", "socket"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	c.say("still there")
	for _, conn := range open {
		_ = conn.(*net.UnixConn).CloseWrite() // The host may have closed it.
	}
	for _, conn := range open {
		_, _ = io.Copy(io.Discard, conn) // to the end, or ECONNRESET: the host has closed it
	}
	// The host closes what they have sent: then this is the only writer.
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(watchdog)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a descriptor is left open: %v", err)
	}
	attach(t, d, "work").say("hello")
	if now := openFiles(t, pid); now > before+5 { // of the second client
		t.Errorf("the host has %d descriptors, and had %d", now, before)
	}
	end(t, d, "work")
}

// A host that cannot take one more client says so, and takes others when it can.
func TestFullHost(t *testing.T) {
	d := newDirectory(t)
	attach(t, d, "work").say("fill")
	_, err := tryAttach(t, d, "work")
	wantKind(t, err, Refused, "no descriptors left")
	if log, err := os.ReadFile(filepath.Join(d.path, "work", "host.log")); err != nil || !strings.Contains(string(log), "no descriptors left") {
		t.Errorf("the log is %q, %v", log, err)
	}
	end(t, d, "work")

	first := attach(t, d, "crowded")
	attach(t, d, "crowded").say("hello")
	_, err = tryAttach(t, d, "crowded")
	wantKind(t, err, Refused, "2 clients are attached")
	if err := first.link.Close(); err != nil {
		t.Fatal(err)
	}
	first.gone()
	for until := time.Now().Add(watchdog); ; { // Its place is free a moment later.
		c, err := tryAttach(t, d, "crowded")
		if err == nil {
			c.say("hello")
			break
		}
		if wantKind(t, err, Refused, "2 clients"); time.Now().After(until) {
			t.Fatal(err)
		}
	}
	end(t, d, "crowded")
}

// Another user is not served, even if the modes of the files let him in.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can play another user")
	}
	d := newDirectory(t)
	c := attach(t, d, "work")
	socket := filepath.Join(d.path, "work", "socket")
	for path, mode := range map[string]fs.FileMode{filepath.Dir(filepath.Dir(d.path)): 0o711, d.path: 0o711, d.path + "/work": 0o711, socket: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	answer := make(chan string)
	go func() {
		runtime.LockOSThread() // The thread has the other user, and ends with the goroutine.
		const stranger, same = 12345, ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, stranger, same); errno != 0 {
			answer <- errno.Error()
			return
		}
		conn, err := net.Dial("unix", socket)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, `{"shelld":"end","v":1}`+"\n") // The host does not wait for it.
		b, _ := io.ReadAll(conn)
		answer <- string(b)
	}()
	if got := <-answer; !strings.Contains(got, `"error":"notOurs"`) {
		t.Errorf("the answer is %q", got)
	}
	c.say("still there")
	if err := os.Chmod(d.path+"/work", 0o700); err != nil {
		t.Fatal(err)
	}
	end(t, d, "work")
}

// The log stays bounded, and keeps its end. After an error it is kept, and after warnings only if the host was killed.
func TestBoundedLog(t *testing.T) {
	d := newDirectory(t)
	c := attach(t, d, "work")
	c.say("log")
	var size int64
	for _, name := range []string{logFile, oldLogFile} {
		info, err := os.Stat(filepath.Join(d.path, "work", name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > maxLog || size < maxLog/2 {
		t.Errorf("the logs have %d bytes", size)
	}
	c.say("error")
	end(t, d, "work")
	if e, err := d.Show("work"); err != nil || e.Alive || !e.Known {
		t.Errorf("it is shown as %+v, %v", e, err)
	}
	if deleted, _, err := d.Prune(); err != nil || fmt.Sprint(deleted) != "[work]" {
		t.Errorf("deleted are %v, %v", deleted, err)
	}
	attach(t, d, "work").say("log")
	end(t, d, "work")
	_, err := d.Show("work")
	wantKind(t, err, NotFound, "no session work")

	pid := attach(t, d, "work").say("log")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, d, "work")
	attach(t, d, "work").say("hello")
	end(t, d, "work")
	if deleted, _, err := d.Prune(); err != nil || fmt.Sprint(deleted) != "[work]" {
		t.Errorf("deleted are %v, %v", deleted, err)
	}
}

func TestListAndPrune(t *testing.T) {
	d := newDirectory(t)
	if all, err := d.List(); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	pid := attach(t, d, "b").say("x")
	attach(t, d, "a").say("x")
	name, err := d.New()
	if err != nil {
		t.Fatal(err)
	}
	attach(t, d, name).say("x")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, d, "b")
	var got []string
	all, err := d.List()
	for _, e := range all {
		got = append(got, fmt.Sprint(e.Name, e.Alive))
	}
	if want := fmt.Sprint([]string{"atrue", "bfalse", name + "true"}); err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	if deleted, _, err := d.Prune(); err != nil || fmt.Sprint(deleted) != "[b]" {
		t.Errorf("deleted are %v, %v", deleted, err)
	}
	if _, err := os.Stat(d.path + "/b"); err == nil || !os.IsNotExist(err) {
		t.Errorf("b: %v", err)
	}
	wantKind(t, d.End(t.Context(), "b"), NotFound, "no session b")
	end(t, d, "a")
	end(t, d, name)
}

// awaitEnd waits until no host holds the lock of a session.
func awaitEnd(t *testing.T, d *Directory, name string) {
	t.Helper()
	f, err := d.folder(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	lock, err := f.lock(lockFile, watchdog)
	if err != nil {
		t.Fatal(err)
	}
	_ = lock.Close()
}

// A claim belongs to one process at a time, is found again as it was left, and goes with the directory.
func TestClaim(t *testing.T) {
	d := newDirectory(t)
	if _, err := d.Claim("work", "x"); err == nil {
		t.Error("there is a claim without a session")
	} else {
		wantKind(t, err, NotFound, "no session work")
	}
	pid := attach(t, d, "work").say("x")
	claim := func(kind string, number int) *Claim {
		t.Helper()
		c, err := d.Claim("work", kind)
		if err != nil {
			t.Fatal(err)
		}
		if c.Number != number || !c.InPlace() {
			t.Errorf("number %d, not %d; in place: %v", c.Number, number, c.InPlace())
		}
		return c
	}
	one, two, other := claim("x", 1), claim("x", 2), claim("y", 1)
	defer two.Close()
	defer other.Close()
	if _, err := one.WriteString("kept"); err != nil {
		t.Fatal(err)
	}
	_ = one.Close()
	again := claim("x", 1)
	defer again.Close()
	if b, err := io.ReadAll(again); string(b) != "kept" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if paths, err := d.Claims("work", "x"); err != nil || len(paths) != 2 || paths[0] != again.Name() || paths[1] != two.Name() {
		t.Errorf("%v, %v", paths, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, d, "work")
	if deleted, _, err := d.Prune(); err != nil || len(deleted) != 1 {
		t.Errorf("%v, %v", deleted, err)
	}
	if again.InPlace() {
		t.Error("the claim is in place after its directory was deleted")
	}
}

// A claim that is to be kept is there in the next session of the name; else it goes with the session.
func TestKeptClaim(t *testing.T) {
	d := newDirectory(t)
	claims := func(want string) *Claim {
		t.Helper()
		attach(t, d, "work")
		c, err := d.Claim("work", "x")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); string(b) != want || err != nil {
			t.Errorf("the claim has %q, %v, not %q", b, err, want)
		}
		return c
	}
	c := claims("")
	if _, err := c.WriteString("open"); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{true, false} {
		if err := c.Keep(keep); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		end(t, d, "work")
		c = claims(map[bool]string{true: "open"}[keep])
	}
	if err := c.Keep(true); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	end(t, d, "work")
	if deleted, _, err := d.Prune(); err != nil || len(deleted) != 1 || c.InPlace() {
		t.Errorf("%v, %v", deleted, err)
	}
}

// A front that comes while a host ends waits for that, and starts the next one. Its client notices nothing.
func TestConnectWhileEnding(t *testing.T) {
	d := newDirectory(t)
	attach(t, d, "work")
	for range 20 {
		call := request{Verb: verbEnd, V: messageVersion}
		f, err := d.folder("work")
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := f.info()
		conn, _, err := f.ask(call, d.answer) // From now on it ends.
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		f.close()
		if got := attach(t, d, "work").say("hello"); got == pid.PID {
			t.Errorf("the host is still %d", got)
		}
	}
	end(t, d, "work")
}

// Clients come and hosts end at the same time. Each client gets a host, which serves it until somebody ends that.
func TestComingAndGoing(t *testing.T) {
	d := newDirectory(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 25 {
				c, err := tryAttach(t, d, "work")
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(c.in, "hello\n") // The host may be gone again.
				if _, err := c.lines.ReadString('\n'); err != nil && err != io.EOF {
					t.Error(err)
				}
				if i%3 == 0 {
					err := d.End(t.Context(), "work")
					if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Kind != NotFound) {
						t.Error(err)
					}
				}
				_, _ = c.in.Close(), c.link.Close()
			}
		})
	}
	all.Wait()
	if e, err := d.Show("work"); err == nil && e.Alive {
		end(t, d, "work")
	}
}

// A session of another machine is left alone.
func TestOtherMachine(t *testing.T) {
	d := newDirectory(t)
	path := d.path + "/work"
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"v":1,"pid":1,"bootId":"x","machine":"y","hostname":"elsewhere","id":"z","session":"work","created":"2026-01-02T03:04:05Z"}`
	if err := os.WriteFile(path+"/host.json", []byte(text), fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := tryAttach(t, d, "work")
	wantKind(t, err, Elsewhere, "shelld sessions prune -elsewhere work")
	deleted, skipped, err := d.Prune()
	if err != nil || deleted != nil || len(skipped) != 1 || skipped[0].Name != "work" || !strings.Contains(skipped[0].Why, "was started on elsewhere") {
		t.Errorf("deleted are %v, %v, %v", deleted, skipped, err)
	}
	if err := d.PruneElsewhere("work"); err != nil {
		t.Error(err)
	}
	wantKind(t, d.PruneElsewhere("work"), NotFound, "no session work")
	attach(t, d, "work").say("hello")
	wantKind(t, d.PruneElsewhere("work"), Gone, "in use")
	end(t, d, "work")
}
