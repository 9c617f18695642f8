package ports

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These tests run this program again as another process that listens.

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "listen" {
		if os.Getenv("WITHOUT_MAIN") != "" {
			endMainThread()
		}
		os.Exit(listenMain(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func init() {
	if os.Getenv("WITHOUT_MAIN") != "" {
		runtime.LockOSThread() // the main function has the main thread
	}
}

// endMainThread continues in another thread, and ends only the main one, like pthread_exit(3).
func endMainThread() {
	go func() {
		for {
			if text, _ := os.ReadFile("/proc/self/status"); strings.Contains(string(text), "State:\tZ") {
				os.Exit(listenMain(os.Args[2:]))
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// listenMain listens on each address "NETWORK ADDRESS", prints the port, and ends when its stdin does.
func listenMain(addresses []string) int {
	for i := 0; i+1 < len(addresses); i += 2 {
		l, err := net.Listen(addresses[i], addresses[i+1])
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(l.Addr().(*net.TCPAddr).Port)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return 0
}

// A helper is a process that listens.
type helper struct {
	pid   int
	ports []int
}

// listening starts a helper, after prepare has changed its command.
func listening(t *testing.T, prepare func(*exec.Cmd), addresses ...string) helper {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"listen"}, addresses...)...)
	if prepare != nil {
		prepare(cmd)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("it cannot be started here: ", err)
	}
	h := helper{pid: cmd.Process.Pid}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(stdout)
	for range len(addresses) / 2 {
		lines.Scan()
		port, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Skip("no listener here: ", lines.Text())
		}
		h.ports = append(h.ports, port)
	}
	return h
}

// job returns the Members of a job with these processes.
func job(pids ...int) Members { return func() ([]int, bool) { return pids, true } }

func look(t *testing.T, w *Watch, members Members, leader int) Found {
	t.Helper()
	f, ok := w.Look(members, leader)
	if !ok {
		t.Fatal("the job is over")
	}
	return f
}

func TestLook(t *testing.T) {
	if !Supported() {
		t.Fatal("nobody tells")
	}
	for _, c := range []struct{ network, address, want string }{
		{"tcp4", "127.0.0.1:0", "127.0.0.1"}, {"tcp4", "0.0.0.0:0", "0.0.0.0"}, {"tcp6", "[::1]:0", "::1"}, {"tcp", "[::]:0", "::"},
	} {
		t.Run(c.want, func(t *testing.T) {
			h := listening(t, nil, c.network, c.address)
			port := h.ports[0]
			f := look(t, new(Watch), job(h.pid), h.pid)
			l, ok := f.Holder(port)
			if !ok || l.Port != port || l.Address.String() != c.want || l.PID != h.pid || l.User != int64(os.Getuid()) || len(f.Own) != 1 {
				t.Errorf("the job's: %+v", f.Own)
			}
			if _, ok := f.Stranger(port); ok {
				t.Errorf("others: %+v", f.Others)
			}
			// For a job that has only this process, it is another process's.
			f = look(t, new(Watch), job(os.Getpid()), os.Getpid())
			if l, ok := f.Holder(port); ok {
				t.Errorf("it is ours: %+v", l)
			}
			l, ok = f.Stranger(port)
			if !ok || l.PID != 0 {
				t.Errorf("others: %+v, %v", l, ok)
			}
			if l = Identify(l); l.PID != h.pid || !strings.Contains(l.Command, " listen ") {
				t.Errorf("who has it: %+v", l)
			}
		})
	}
}

// TestTablesAgree: socket diagnostics and /proc report the same.
func TestTablesAgree(t *testing.T) {
	listening(t, nil, "tcp4", "127.0.0.1:0", "tcp4", "0.0.0.0:0")
	listening(t, nil, "tcp6", "[::1]:0", "tcp", "[::]:0")
	diag, err := diagTable()
	if err != nil {
		t.Skip("no socket diagnostics here: ", err)
	}
	file, err := fileTable(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	here := func(list []Listener) (ours []Listener) { // others may come and go
		for _, l := range list {
			if l.User == int64(os.Getuid()) && Identify(l).PID != 0 && strings.Contains(Identify(l).Command, os.Args[0]+" listen ") {
				ours = append(ours, l)
			}
		}
		slices.SortFunc(ours, compare)
		return ours
	}
	if d, f := here(diag), here(file); !slices.Equal(d, f) || len(d) < 4 {
		t.Errorf("%+v, not %+v", d, f)
	}
}

// TestAnyPort: the lowest port counts, and another process's never does.
func TestAnyPort(t *testing.T) {
	listening(t, nil, "tcp4", "127.0.0.1:0")
	h := listening(t, nil, "tcp4", "127.0.0.1:0", "tcp4", "127.0.0.1:0", "tcp4", "127.0.0.1:0")
	f := look(t, new(Watch), job(h.pid), h.pid)
	if l, ok := f.Holder(0); !ok || l.Port != slices.Min(h.ports) || len(f.Own) != 3 {
		t.Errorf("%+v, %+v", l, f.Own)
	}
	if l, ok := f.Stranger(0); ok {
		t.Errorf("any port is held by others: %+v", l)
	}
}

// TestKnown: descriptors are read when there is a new listener, and then no more; if its process is gone, the owner is
// searched again.
func TestKnown(t *testing.T) {
	w := new(Watch)
	a := listening(t, nil, "tcp4", "127.0.0.1:0")
	look(t, w, job(a.pid), a.pid)
	known := len(w.known)
	asked := 0
	again := func() ([]int, bool) { asked++; return []int{a.pid}, true }
	f := look(t, w, again, a.pid)
	if asked != 1 {
		t.Skipf("processes were listed %d times: others have begun to listen meanwhile", asked)
	}
	if _, ok := f.Holder(a.ports[0]); !ok || len(w.known) > known {
		t.Errorf("what is known: %+v", w.known)
	}
	b := listening(t, nil, "tcp4", "127.0.0.1:0")
	if f = look(t, w, job(a.pid, b.pid), a.pid); len(f.Own) != 2 {
		t.Errorf("a second one: %+v", f.Own)
	}
	if f = look(t, w, job(b.pid), a.pid); len(f.Own) != 1 || f.Own[0].PID != b.pid {
		t.Errorf("the first one is no more of the job: %+v", f.Own)
	}
}

// TestTooMany: with more descriptors than a probe reads, a listener has no known owner, and they are not read again and
// again.
func TestTooMany(t *testing.T) {
	var many []string
	for range 40 {
		many = append(many, "tcp4", "127.0.0.1:0")
	}
	a, b := listening(t, nil, many...), listening(t, nil, "tcp4", "127.0.0.1:0")
	w := &Watch{most: 30}
	f := look(t, w, job(a.pid, b.pid), a.pid)
	if !f.Partial || len(f.Own) == 0 || len(f.Own) >= 30 || len(f.Others) != 0 {
		t.Errorf("%d of %d: %+v", len(f.Own), len(a.ports), f)
	}
	w.rest = time.Now().Add(time.Hour)
	own, asked := len(f.Own), 0
	f = look(t, w, func() ([]int, bool) { asked++; return []int{a.pid, b.pid}, true }, a.pid)
	if asked > 1 {
		t.Skipf("processes were listed %d times: others have begun to listen meanwhile", asked)
	}
	if !f.Partial || len(f.Own) != own || len(f.Others) != 0 {
		t.Errorf("again: %+v", f)
	}
	w.rest, w.most = time.Time{}, 0
	if f = look(t, w, job(a.pid, b.pid), a.pid); f.Partial || len(f.Own) != 41 {
		t.Errorf("with time: %+v", f)
	}
}

// TestFirstFew: a process with many descriptors does not hide the listener of another.
func TestFirstFew(t *testing.T) {
	var open []*os.File
	for range 3 * firstFew {
		f, err := os.Open("/dev/null")
		if err != nil {
			t.Skip(err)
		}
		open = append(open, f)
	}
	defer func() {
		for _, f := range open {
			_ = f.Close()
		}
	}()
	last, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	h := listening(t, nil, "tcp4", "127.0.0.1:0")
	members := job(os.Getpid(), h.pid)
	f := look(t, &Watch{most: 2 * firstFew}, members, os.Getpid())
	if l, ok := f.Holder(h.ports[0]); !ok || l.PID != h.pid || !f.Partial || len(f.Own) != 1 {
		t.Errorf("%+v", f)
	}
	f = look(t, new(Watch), members, os.Getpid())
	if f.Partial || len(f.Own) != 2 {
		t.Errorf("with enough: %+v", f)
	}
}

// TestHandedOver: a listener of another process may become the job's.
func TestHandedOver(t *testing.T) {
	w := new(Watch)
	h := listening(t, nil, "tcp4", "127.0.0.1:0")
	look(t, w, job(os.Getpid()), os.Getpid())
	both := job(os.Getpid(), h.pid)
	for end := time.Now().Add(time.Minute); len(look(t, w, both, os.Getpid()).Own) == 0; { // its probes are paced
		if time.Now().After(end) {
			t.Fatal("it is not seen")
		}
	}
	// A new wait has no time for that.
	w = new(Watch)
	look(t, w, job(os.Getpid()), os.Getpid())
	w.Doubt(h.ports[0])
	if f := look(t, w, both, os.Getpid()); len(f.Own) != 1 {
		t.Errorf("in doubt: %+v", f)
	}
}

// TestForks: a process that listens may end during a probe, and then its child has the socket.
func TestForks(t *testing.T) {
	h := listening(t, nil, "tcp4", "127.0.0.1:0")
	lists := [][]int{{os.Getpid()}, {os.Getpid(), h.pid}, {os.Getpid(), h.pid}}
	f := look(t, new(Watch), func() ([]int, bool) {
		now := lists[0]
		if len(lists) > 1 {
			lists = lists[1:]
		}
		return now, true
	}, os.Getpid())
	if l, ok := f.Holder(h.ports[0]); !ok || l.PID != h.pid {
		t.Errorf("%+v", f)
	}
	// If they continue to fork, no listener is reported as another process's.
	pid := 1 << 22
	f = look(t, new(Watch), func() ([]int, bool) { pid++; return []int{os.Getpid(), pid}, true }, os.Getpid())
	if len(f.Others) > 0 {
		t.Errorf("others: %+v", f.Others)
	}
	// A process that no longer belongs to the job may be a stranger with a reused pid.
	n := 0
	f = look(t, new(Watch), func() ([]int, bool) {
		if n++; n == 1 {
			return []int{os.Getpid(), h.pid}, true
		}
		return []int{os.Getpid()}, true
	}, os.Getpid())
	if len(f.Own) > 0 {
		t.Errorf("the job's: %+v", f.Own)
	}
	if _, ok := new(Watch).Look(func() ([]int, bool) { return nil, false }, 1); ok {
		t.Error("the job is over")
	}
}

// TestOtherNamespace: a job may have a network of its own, with a different port of the same number.
func TestOtherNamespace(t *testing.T) {
	apart := func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET} }
	here := listening(t, nil, "tcp4", "0.0.0.0:0")
	port := here.ports[0]
	there := listening(t, apart, "tcp4", fmt.Sprintf("0.0.0.0:%d", port))
	f := look(t, new(Watch), job(there.pid), there.pid)
	if l, ok := f.Holder(port); !ok || l.PID != there.pid || len(f.Own) != 1 || len(f.Others) != 0 {
		t.Errorf("%+v", f)
	}
	idle := listening(t, apart)
	f = look(t, new(Watch), job(idle.pid), idle.pid)
	if len(f.Own)+len(f.Others) != 0 {
		t.Errorf("a network in which nobody listens: %+v", f)
	}
	// A job in both: other listeners count only in the leader's network.
	f = look(t, new(Watch), job(idle.pid, os.Getpid()), idle.pid)
	if len(f.Others) != 0 {
		t.Errorf("the leader's network: %+v", f.Others)
	}
	f = look(t, new(Watch), job(idle.pid, os.Getpid()), os.Getpid())
	if _, ok := f.Stranger(port); !ok {
		t.Error("the leader's network has that of another")
	}
}

// TestMainThreadEnded: the process lives on in another thread, and only there the state of its main thread is visible:
// descriptors, network and command line.
func TestMainThreadEnded(t *testing.T) {
	without := func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), "WITHOUT_MAIN=1") }
	h := listening(t, without, "tcp4", "127.0.0.1:0")
	f := look(t, new(Watch), job(h.pid), h.pid)
	l, ok := f.Holder(h.ports[0])
	if !ok || l.PID != h.pid || len(f.Others) != 0 && f.Others[0].Port == h.ports[0] {
		t.Errorf("%+v", f)
	}
	f = look(t, new(Watch), job(os.Getpid()), os.Getpid())
	l, _ = f.Stranger(h.ports[0])
	if l = Identify(l); l.PID != h.pid || !strings.Contains(l.Command, " listen ") {
		t.Errorf("who has it: %+v", l)
	}
	if user, alive := userOf(h.pid); !alive || user != int64(os.Getuid()) {
		t.Errorf("it runs as %d, %v", user, alive)
	}
	there := listening(t, func(cmd *exec.Cmd) {
		without(cmd)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	}, "tcp4", "0.0.0.0:0")
	f = look(t, new(Watch), job(there.pid), there.pid)
	if l, ok := f.Holder(there.ports[0]); !ok || l.PID != there.pid || len(f.Others) != 0 {
		t.Errorf("in a network of its own: %+v", f)
	}
}

// TestHidden: the descriptors of another user's process cannot be read.
func TestHidden(t *testing.T) {
	s := search{fresh: map[uint64]bool{}, owners: map[uint64]int{}, walked: map[int]bool{}, hidden: []int64{0}}
	if !s.mayHave(Listener{User: 0}) || s.mayHave(Listener{User: 1000}) {
		t.Error("the user does not decide")
	}
	s.hidden = []int64{-1}
	if !s.mayHave(Listener{User: 1000}) {
		t.Error("nobody knows as whom it runs")
	}
	for _, c := range []struct {
		text  string
		user  int64
		alive bool
	}{
		{"Name:\tsudo\nState:\tS (sleeping)\nUid:\t1000\t0\t0\t0\n", 0, true},
		{"Name:\tx\nState:\tZ (zombie)\nUid:\t1000\t1000\t1000\t1000\n", -1, false},
		{"Name:\tx\nState:\tR (running)\n", -1, true},
	} {
		if user, alive := parseStatus([]byte(c.text)); user != c.user || alive != c.alive {
			t.Errorf("%q: %d, %v", c.text, user, alive)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("the rest takes root, which becomes somebody else")
	}
	h := listening(t, nil, "tcp4", "127.0.0.1:0")
	var f Found
	asNobody(t, func() { f = look(t, new(Watch), job(h.pid), h.pid) })
	if l, ok := f.Holder(h.ports[0]); !ok || l.PID != 0 || len(f.Own) != 0 {
		t.Errorf("%+v", f)
	}
	if l, ok := f.Holder(0); ok {
		t.Errorf("any port: %+v", l)
	}
	asNobody(t, func() { f = look(t, new(Watch), job(), 0) })
	if len(f.Maybe) != 0 {
		t.Errorf("without a process that is hidden: %+v", f.Maybe)
	}
}

// asNobody calls a function in a thread of another user, which then ends.
func asNobody(t *testing.T, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocks it
		const nobody = 65534
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			t.Error(errno)
			return
		}
		f()
	}()
	<-done
}

// BenchmarkTables lists the listeners on machines with few and with many connections.
func BenchmarkTables(b *testing.B) {
	for _, connections := range []int{20, 5000} {
		var lc net.ListenConfig
		l, err := lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		var open []net.Conn
		for range connections {
			c, err := net.Dial("tcp4", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			s, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			open = append(open, c, s)
		}
		b.Run(fmt.Sprintf("diag/%d", 2*connections), func(b *testing.B) {
			for b.Loop() {
				if _, err := diagTable(); err != nil {
					b.Skip(err)
				}
			}
		})
		b.Run(fmt.Sprintf("file/%d", 2*connections), func(b *testing.B) {
			for b.Loop() {
				if _, err := fileTable(os.Getpid()); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, c := range open {
			_ = c.Close()
		}
		_ = l.Close()
	}
}

// BenchmarkLook measures a probe without new listeners, and the first probe of a job.
func BenchmarkLook(b *testing.B) {
	members := job(os.Getpid())
	b.Run("again", func(b *testing.B) {
		w := new(Watch)
		for b.Loop() {
			w.Look(members, os.Getpid())
			w.looks = 0
		}
	})
	b.Run("first", func(b *testing.B) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		for b.Loop() {
			new(Watch).Look(members, os.Getpid())
		}
	})
}

// A socket's process is the one that opened it, not a child that has just been forked, whatever its number.
func TestEldest(t *testing.T) {
	parents := map[int]int{30: 20, 20: 400, 400: 1}
	for _, c := range []struct {
		has  []int
		want int
	}{{[]int{30}, 30}, {[]int{30, 20}, 20}, {[]int{30, 20, 400}, 400}, {[]int{30, 400}, 30}, {[]int{30, 20, 400, 1}, 1}} {
		got := eldest(30, func(pid int) int { return parents[pid] }, func(pid int) bool { return slices.Contains(c.has, pid) })
		if got != c.want {
			t.Errorf("%v have it: %d, want %d", c.has, got, c.want)
		}
	}
	if got := parentOf(os.Getpid()); got != os.Getppid() {
		t.Errorf("the parent is %d, not %d", got, os.Getppid())
	}
}
