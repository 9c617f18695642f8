package keeper

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	for _, test := range []struct {
		text string
		want procStat
		ok   bool
	}{
		{"7 (sh) S 1 2 3 34816 5 6 7 8 9 10 11 12 13 14 15 16 4 18 19000 20", procStat{7, 1, 2, 3, "sh", 'S', 34816, 4, 19000, false, false, false}, true},
		{"7 (a) Z) (b) Z 1 2 3 0 5 6 7 8 9 10 11 12 13 14 15 16 1 18 1 20", procStat{7, 1, 2, 3, "a) Z) (b", 'Z', 0, 1, 1, false, false, false}, true},
		{"7 (x y\n) R 1 2 3 0 5 6 7 8 9 10 11 12 13 14 15 16 1 18 1 20", procStat{7, 1, 2, 3, "x y\n", 'R', 0, 1, 1, false, false, false}, true},
		{"7 (sh) R 1 2 3 0 5 4194368 7 8 9 10 11 12 13 14 15 16 1 18 1 20 21 22 23 24 25 26 27 28 29 0 16384", procStat{7, 1, 2, 3, "sh", 'R', 0, 1, 1, true, true, false}, true},
		{"7 (sh) R 1 2 3 0 5 4194304 7 8 9 10 11 12 13 14 15 16 1 18 1 20 21 22 23 24 25 26 27 28 29 16384 8192", procStat{7, 1, 2, 3, "sh", 'R', 0, 1, 1, false, false, false}, true},
		{"", procStat{}, false},
		{"7 (sh", procStat{}, false},
		{"7 (sh) S 1 2", procStat{}, false},
		{"x (sh) S 1 2 3 0 5 6 7 8 9 10 11 12 13 14 15 16 1 18 1 20", procStat{}, false},
	} {
		got, err := parseStat([]byte(test.text))
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%q gave %+v, %v", test.text, got, err)
		}
	}
}

func TestReadOwnStat(t *testing.T) {
	st, err := readStat(os.Getpid())
	if err != nil || st.ppid != os.Getppid() || !st.alive() || st.threads < 1 {
		t.Errorf("%+v, %v", st, err)
	}
	if _, err := readStat(1 << 30); err == nil {
		t.Error("a process that there is not has a stat")
	}
}

// Both ways of listing a tree find the same processes, parents first.
func TestWalk(t *testing.T) {
	tree := map[int][]int{1: {2, 3}, 2: {4}, 3: {5, 6, 2}, 4: {1}}
	list, err := walk(1, func(pid int) ([]int, error) { return tree[pid], nil })
	if got := fmt.Sprint(list, err); got != "[{2 1} {3 1} {4 2} {5 3} {6 3}] <nil>" {
		t.Errorf("got %s", got)
	}
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = p.Kill(), wait(p) }()
	found := func(list []node) bool {
		for _, n := range list {
			if n == (node{p.Pid, os.Getpid()}) {
				return true
			}
		}
		return false
	}
	byParent, err := scanParents()
	if err != nil {
		t.Fatal(err)
	}
	scanned, _ := walk(os.Getpid(), func(pid int) ([]int, error) { return byParent[pid], nil })
	listed, err := descendants(os.Getpid())
	if err != nil || !found(listed) || !found(scanned) {
		t.Errorf("child %d is in one list, or none: %v, %v, %v", p.Pid, listed, err, scanned)
	}
	if !newKin(os.Getpid()).has(p.Pid) || newKin(p.Pid).has(os.Getpid()) || newKin(os.Getpid()).has(os.Getppid()) {
		t.Error("a kin does not know parents from children")
	}
	// As a deeper process, signalled by a pidfd, it is refused if it is not below.
	if err := newKin(p.Pid).signal(node{os.Getpid(), 0}, 0); err != unix.ESRCH {
		t.Errorf("a stranger was signalled: %v", err)
	}
	if err := newKin(os.Getppid()).signal(node{p.Pid, os.Getpid()}, 0); err != nil {
		t.Errorf("a grandchild was not signalled: %v", err)
	}
}

// A list that cannot be read is an error. The missing list of a process that has ended is not.
func TestWalkUnreadable(t *testing.T) {
	lists := func(unread map[int]error) func(int) ([]int, error) {
		tree := map[int][]int{1: {2, 3}, 3: {4}}
		return func(pid int) ([]int, error) { return tree[pid], unread[pid] }
	}
	for _, test := range []struct {
		unread map[int]error
		want   error
	}{
		{map[int]error{1: unix.EMFILE}, unix.EMFILE},
		{map[int]error{1: unix.ENOENT}, unix.ENOENT},
		{map[int]error{3: unix.EMFILE}, unix.EMFILE},
		{map[int]error{3: unix.ENOENT, 4: unix.EPERM}, nil},
	} {
		if _, err := walk(1, lists(test.unread)); err != test.want {
			t.Errorf("%v: got %v", test.unread, err)
		}
	}
}

// The children of this process can be listed when no descriptor is left to open a file.
func TestChildrenWithoutDescriptors(t *testing.T) {
	own := openOwnChildren()
	defer own.close()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	// It prints its pid from inside its new session: before that its session may be one that began outside this PID
	// namespace, whose number is 0 here.
	out, err := exec.Command("sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000 >/dev/null' </dev/null 2>/dev/null &").Output()
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = unix.Kill(orphan, unix.SIGKILL) // It is a child of this process that was not reaped.
		_, _ = unix.Wait4(orphan, nil, 0, nil)
	}()
	restore := withoutDescriptors(t)
	kids, unread := childrenOf(os.Getpid())
	st, statErr := readStat(orphan)
	_, elseErr := readStat(os.Getppid())
	listed, err := own.list()
	restore()
	if unread == nil || isNotThere(unread) {
		t.Errorf("a list that cannot be opened is %v, %v", kids, unread)
	}
	if statErr != nil || !st.hidden || st.pgid != orphan || st.sid != orphan || st.ppid != os.Getpid() || !st.alive() {
		t.Errorf("the child is %+v, %v", st, statErr)
	}
	if elseErr == nil || isNotThere(elseErr) {
		t.Errorf("of another process the error is %v", elseErr)
	}
	if !slices.Contains(listed, orphan) || err != nil {
		t.Errorf("listed are %v, %v", listed, err)
	}
}

// withoutDescriptors makes this process unable to open files until restore.
func withoutDescriptors(t *testing.T) (restore func()) {
	t.Helper()
	var had unix.Rlimit
	err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &had)
	if err == nil {
		err = unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: had.Max}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &had, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func wait(p *os.Process) error {
	_, err := p.Wait()
	return err
}

func TestDescribe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	stdin, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = stdin.Close(), release.Close() }()
	mark := fdLink("self", fmt.Sprint(w.Fd()))
	// Its output proves that its arguments are in place: execve closes the descriptors before it sets them.
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "echo; read x", strings.Repeat("é", 200), ""}, &os.ProcAttr{Files: []*os.File{stdin, w}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = p.Kill(), wait(p) }()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	st, err := readStat(p.Pid)
	if err != nil {
		t.Fatal(err)
	}
	got := describe(st, []string{mark})
	if got.PID != p.Pid || got.PPID != os.Getpid() || got.Comm != "sh" || !got.HoldsTerminal {
		t.Errorf("got %+v", got)
	}
	if !strings.HasPrefix(got.Command, "sh -c echo; read x éé") || len(got.Command) > maxCommand || strings.ToValidUTF8(got.Command, "") != got.Command {
		t.Errorf("command %q", got.Command)
	}
	if describe(st, []string{"pipe:[1]"}).HoldsTerminal || describe(st, nil).HoldsTerminal {
		t.Error("it holds what it does not")
	}
	if kernel, err := readStat(2); err == nil && !strings.HasPrefix(commandLine(kernel), "[") {
		t.Errorf("a kernel thread's command is %q", commandLine(kernel))
	}
}

func TestMissingInterpreter(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"missing": "#!/no/such arg\n", "space": "#! \t/no/such\n", "there": "#!/bin/sh\n", "none": "#!\n", "plain": "x",
		"relative": "#!no/such\n", "long": "#!/" + strings.Repeat("x", 300),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	elf, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(elf), "/lib64/ld-linux", "/lib64/no-suchx", 1)
	if err := os.WriteFile(filepath.Join(dir, "elf"), []byte(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"missing": "/no/such", "space": "/no/such", "there": "", "none": "", "plain": "", "relative": "no/such",
		"fifo": "", "nothing": "", ".": "", "long": "/" + strings.Repeat("x", 253),
	} {
		if got := missingInterpreter(name, dir); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := missingInterpreter(filepath.Join(dir, "elf"), "/"); broken != string(elf) && !strings.HasPrefix(got, "/lib64/no-such") {
		t.Errorf("elf: %q", got)
	}
}
