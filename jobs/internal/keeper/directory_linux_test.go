package keeper_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// held opens a directory for reference only (O_PATH).
func held(t *testing.T, dir string) *os.File {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), dir)
	t.Cleanup(func() { _ = f.Close() }) // Nothing can be written by it.
	return f
}

// leads counts the descriptors of a process that refer to a path below a directory.
func leads(t *testing.T, pid int, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name())); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// The command starts in the given Directory, even if its name refers to something else by then, and neither the command
// nor the keeper has it open then.
func TestDirectoryIsHeld(t *testing.T) {
	pool := newPool(t)
	base := t.TempDir()
	name := base + "/name"
	if err := errors.Join(os.Mkdir(name, 0o755), os.Mkdir(base+"/other", 0o755)); err != nil {
		t.Fatal(err)
	}
	dir := held(t, name)
	if err := errors.Join(os.Rename(name, base+"/moved"), os.Symlink("other", name)); err != nil {
		t.Fatal(err)
	}
	long := "LONG=" + strings.Repeat("x", 100_000) // more than fits in a packet, so that there is one more descriptor
	for what, limits := range map[string]keeper.Limits{"plain": {}, "by the limiter": {OpenFiles: 64}} {
		for _, env := range [][]string{{"PATH=/usr/bin:/bin"}, {"PATH=/usr/bin:/bin", long}} {
			out, w := pipe(t)
			cmd := shell("/bin/pwd -P; read x")
			cmd.Dir, cmd.Directory, cmd.Stdout, cmd.Env, cmd.Limits = name, dir, w, env, limits
			in, theirs, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin = in
			k := start(t, pool, cmd)
			_, _ = w.Close(), in.Close()
			if got := line(t, out); got != base+"/moved" {
				t.Errorf("%s: it is in %s", what, got)
			}
			if n := leads(t, k.PID(), base); n != 0 {
				t.Errorf("%s: the command holds %d descriptors", what, n)
			}
			if n := leads(t, k.Process(), base); n != 0 {
				t.Errorf("%s: the keeper holds %d descriptors", what, n)
			}
			_ = theirs.Close()
			expect(t, k, keeper.Exited)
			finish(t, k)
		}
	}
	if n := leads(t, os.Getpid(), base); n != 1 {
		t.Errorf("%d descriptors lead there, and the test has one", n)
	}
}

// A removed directory can still be entered, as the kernel has it. A file cannot be entered, and the error names it.
func TestDirectoryThatIsGone(t *testing.T) {
	pool := newPool(t)
	base := t.TempDir()
	file, gone := base+"/file", base+"/gone"
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(gone, 0o755)); err != nil {
		t.Fatal(err)
	}
	dir := held(t, gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	k := start(t, pool, keeper.Command{Path: "/bin/true", Dir: gone, Directory: dir})
	expect(t, k, keeper.Exited)
	finish(t, k)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = pool.Start(keeper.Command{Path: "/bin/true", Dir: "/name", Directory: f})
	var se *keeper.StartError
	if !errors.As(err, &se) || se.Stage != keeper.StageChdir || se.Errno != syscall.ENOTDIR || se.Path != "/name" {
		t.Errorf("a file: %+v", err)
	}
}
