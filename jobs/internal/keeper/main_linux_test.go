package keeper_test

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// childName is argv[0] of the test binary run as a child in one of its modes.
const childName = "keeper-test-child"

// TestMain runs this binary as a child of a test, or as the tests,
// and then proves that the tests left no goroutine, descriptor or process.
func TestMain(m *testing.M) {
	if os.Args[0] == childName {
		os.Exit(childModes[os.Args[1]](os.Args[2:]))
	}
	before := openFiles()
	code := m.Run()
	if code == 0 {
		code = leftovers(before)
	}
	os.Exit(code)
}

func leftovers(before map[string]string) int {
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		return 1
	}
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil); err != unix.ECHILD {
		fmt.Fprintln(os.Stderr, "a child is left:", pid, err)
		return 1
	}
	for fd, link := range openFiles() {
		if before[fd] == "" && link != "anon_inode:[eventpoll]" && link != "anon_inode:[eventfd]" {
			fmt.Fprintln(os.Stderr, "a descriptor is left:", fd, link)
			return 1
		}
	}
	return 0
}

// openFiles maps this process's descriptors to the names of their files.
func openFiles() map[string]string {
	files := make(map[string]string)
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if link, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			files[e.Name()] = link
		}
	}
	return files
}

// childModes are the modes of this binary as a child.
var childModes = map[string]func(args []string) int{
	"server":   childServer,
	"respawn":  childRespawn,
	"ignoring": childIgnoring,
	"denied":   childDenied,
	"limited":  childLimited,
	"root":     childRoot,
	"look":     childLook,
	"thief":    childThief,
	"holder":   childHolder,
}

// childServer is a server that runs one job, given as a shell's command line, with its own stdout as the job's. It
// prints the keeper's pid, and waits to be killed.
func childServer(args []string) int {
	pool := keeper.NewPool(keeper.PoolOptions{})
	k, err := pool.Start(keeper.Command{
		Path: "/bin/sh", Argv: append([]string{"sh", "-c"}, args...), Env: os.Environ(), Stdout: os.Stdout,
	})
	if err != nil {
		fmt.Println("start:", err)
		return 1
	}
	fmt.Printf("keeper %d\n", k.Process())
	for range k.Events() {
	}
	select {}
}

// childDenied is a server without privileges, whose job changes to another user.
func childDenied(args []string) int {
	pool := keeper.NewPool(keeper.PoolOptions{})
	defer pool.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return 1
	}
	k, err := pool.Start(keeper.Command{Path: args[0], Argv: append([]string{childName, "root"}, args[1:]...), Stdout: w})
	if err == nil {
		_, _ = r.Read(make([]byte, 1)) // The job runs as another user now.
		err = k.Kill(keeper.KillOptions{Grace: 10 * time.Millisecond})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for e := range k.Events() {
		if e.Kind == keeper.Killed {
			for _, p := range e.Report.Survivors {
				fmt.Println("survivor", p.PID, k.Process(), p.Why)
			}
			return 0
		}
	}
	return 1
}

// childRoot runs from a file that makes it root, and stays root.
func childRoot([]string) int {
	if err := unix.Setreuid(0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	_ = unix.Pause() // Until it is killed.
	return 0
}

// childIgnoring is a server that was started with signals ignored and blocked, and runs a job that prints its own state
// of them.
func childIgnoring([]string) int {
	for sig := 1; sig <= 64; sig++ {
		switch syscall.Signal(sig) {
		case unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGURG, unix.SIGCHLD:
		default:
			signal.Ignore(syscall.Signal(sig))
		}
	}
	// Signals that Go ignores for its caller are reset in its children; inherited ones are not. So the actual server is
	// one exec further on, with all signals blocked too.
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil); err != nil {
		fmt.Println(err)
		return 1
	}
	err := unix.Exec("/proc/self/exe", []string{childName, "server", "cat /proc/self/status"}, os.Environ())
	fmt.Println(err)
	return 1
}

// childRespawn is the first of two processes, in sessions of their own, that restart each other: the first waits for
// the second, and the second takes the place of the first when the pipe shows that the first has ended.
func childRespawn(args []string) int {
	if len(args) > 1 {
		_, _ = os.NewFile(3, "the first").Read(make([]byte, 1))
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return 1
	}
	defer func() { _ = ours.Close() }() // Held until the end.
	for {
		p, err := os.StartProcess("/proc/self/exe", []string{childName, "respawn", args[0], "second"}, &os.ProcAttr{
			Env: os.Environ(), Files: []*os.File{nil, os.Stdout, os.Stderr, ours}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			return 1
		}
		fmt.Println(p.Pid)
		_, _ = p.Wait()
		runtime.KeepAlive(theirs) // The other end closes with this process.
	}
}

// watchdog is the timeout of operations that take milliseconds.
const watchdog = 30 * time.Second

// next returns the next event.
func next(t testing.TB, k *keeper.Keeper) keeper.Event {
	t.Helper()
	select {
	case e, ok := <-k.Events():
		if !ok {
			t.Fatal("Events is closed")
		}
		return e
	case <-time.After(watchdog):
		panic("no event")
	}
}

// expect returns the next event, which must be of this kind.
func expect(t testing.TB, k *keeper.Keeper, kind keeper.Kind) keeper.Event {
	t.Helper()
	e := next(t, k)
	if e.Kind != kind {
		t.Fatalf("got event %+v, want %v", e, kind)
	}
	return e
}

// finish expects Empty and then the end.
func finish(t testing.TB, k *keeper.Keeper) {
	t.Helper()
	expect(t, k, keeper.Empty)
	expectEnd(t, k)
}

func expectEnd(t testing.TB, k *keeper.Keeper) {
	t.Helper()
	select {
	case e, ok := <-k.Events():
		if ok {
			t.Fatalf("event %+v after the last one", e)
		}
	case <-time.After(watchdog):
		panic("Events is not closed")
	}
	<-k.Done()
	expectIdle(t, k.Process())
}

// expectIdle inspects a keeper whose job is over: if it still exists, and has no next job, it is like a keeper that
// never had one.
func expectIdle(t testing.TB, pid int) {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		return
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if group, session, tty := fields[2], fields[3], fields[4]; group != strconv.Itoa(pid) || session != group || tty != "0" {
		t.Errorf("idle keeper %d is in group %s, session %s, terminal %s", pid, group, session, tty)
	}
	if cwd, err := os.Readlink(proc + "cwd"); err == nil && cwd != "/" {
		t.Errorf("idle keeper %d is in %s", pid, cwd)
	}
	fds, _ := os.ReadDir(proc + "fd")
	for _, fd := range fds {
		link, _ := os.Readlink(proc + "fd/" + fd.Name())
		n, _ := strconv.Atoi(fd.Name())
		ownList := fmt.Sprintf("%stask/%d/children", proc, pid) // open since its start
		if n > 3 && link != "" && link != ownList && !ofRuntime(link) {
			t.Errorf("idle keeper %d holds %s, %s", pid, fd.Name(), link)
		}
	}
}

// ofRuntime reports whether Go's runtime opens this file for itself.
func ofRuntime(link string) bool {
	return link == "anon_inode:[eventpoll]" || link == "anon_inode:[eventfd]" || strings.HasPrefix(link, "/sys/fs/cgroup/")
}

func newPool(t testing.TB) *keeper.Pool {
	pool := keeper.NewPool(keeper.PoolOptions{})
	t.Cleanup(pool.Close)
	return pool
}

// shell is a Command for /bin/sh whose words carry the tag, to find its remains.
func shell(script string, args ...string) keeper.Command {
	return keeper.Command{
		Path: "/bin/sh",
		Argv: append([]string{"sh", "-c", script}, args...),
		Env:  []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
	}
}

func start(t testing.TB, pool *keeper.Pool, cmd keeper.Command) *keeper.Keeper {
	t.Helper()
	k, err := pool.Start(cmd)
	if err != nil {
		t.Fatalf("start %q: %v", cmd.Argv, err)
	}
	return k
}

// A tag is a number for sleep that no other process has among its arguments.
func newTag() string {
	lastTag++
	return strconv.Itoa(os.Getpid()) + fmt.Sprintf("%05d", lastTag)
}

var lastTag int

// tagged lists the living processes that have the tag among their arguments.
func tagged(tag string) (list []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		text, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if strings.Contains(string(text), tag) {
			list = append(list, e.Name()+" "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return list
}

func expectNone(t testing.TB, tag string) {
	t.Helper()
	if left := tagged(tag); len(left) > 0 {
		t.Errorf("still alive: %q", left)
	}
}

// pipe returns a reader of the job's output, and the other end, which the caller closes after it has started the job.
func pipe(t testing.TB) (*bufio.Reader, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if err := r.SetReadDeadline(time.Now().Add(watchdog)); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(r), w
}

// line reads one line.
func line(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("read a line: %v (got %q)", err, text)
	}
	return strings.TrimSuffix(text, "\n")
}
