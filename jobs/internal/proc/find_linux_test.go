package proc

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Without the kernel's help, findWithout returns the same files and refuses the same paths as findFD.
func TestFindWithout(t *testing.T) {
	y := newYard(t)
	for _, dir := range []string{"/x/y", "/x/b", "/a", "/a/b", "/shut"} {
		y.ok(os.MkdirAll(y.in+dir, 0o700))
	}
	for link, to := range map[string]string{
		"/a/link": "../x/y", "/abs": y.in + "/x//y/", "/self": "/proc/self", "/loop": "loop", "/nowhere": "missing", "/tofile": "file", "/tofile2": "file/", "/up": "..",
	} {
		y.ok(os.Symlink(to, y.in+link))
	}
	before := "l0"
	for i := 1; i <= 42; i++ {
		y.ok(os.Symlink(before, y.in+"/l"+strconv.Itoa(i)))
		before = "l" + strconv.Itoa(i)
	}
	y.ok(os.Symlink("x", y.in+"/l0"))
	y.ok(os.Chmod(y.in+"/shut", 0))
	paths := []string{"/", "/.", "/..", "/../..", "/proc", "/proc/sys", "/proc/self", "/proc/self/", "/proc/self/task", "/proc/self/cwd", "/proc/self/root", "/proc/self/root" + "/tmp", "/proc/mounts", "/dev/fd", "/dev/stdin", "/proc/self/exe/x"}
	for _, p := range []string{"", "/", "/a/link/../b", "/a/link/..", "/a/link/.", "/a/link", "/a/link/", "/abs", "/abs/../b", "/self", "/self/cwd", "/self/root" + "/tmp", "/self/fd/0", "/loop", "/loop/x", "/nowhere", "/nowhere/x",
		"/tofile", "/tofile/", "/tofile2", "/tofile/.", "/tofile/..", "/file", "/file/", "/file/x", "/missing", "/missing/..", "/shut", "/shut/", "/up/up", "/l39", "/l40", "/l41", "/" + strings.Repeat("n", 256), "//a///b//"} {
		paths = append(paths, y.in+p)
	}
	for _, path := range paths {
		for _, flags := range []int{0, unix.O_DIRECTORY} {
			want, wantErr := found(findFD(path, flags))
			got, gotErr := found(findWithout(path, flags))
			if got != want || gotErr != wantErr {
				t.Errorf("%s, flags %#x: %s, %v; the kernel says %s, %v", path, flags, got, gotErr, want, wantErr)
			}
		}
	}
	if held := holds(t, y.in); held != 0 {
		t.Errorf("%d descriptors are left", held)
	}
}

// found returns the path of a descriptor, and closes it.
func found(fd int, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	return os.Readlink(procFD(fd))
}

func holds(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// withoutProc is the environment variable that is set for the test binary that runs without /proc.
const withoutProc = "PROC_TEST_WITHOUT_PROC"

// If /proc is missing, the error says so, and not that the directory or the file is missing.
func TestWithoutProc(t *testing.T) {
	if dir := os.Getenv(withoutProc); dir != "" {
		lookWithoutProc(t, dir)
		return
	}
	y := newYard(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestWithoutProc$", "-test.v")
	cmd.Env = append(os.Environ(), withoutProc+"="+y.in)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 || strings.Contains(string(out), "--- SKIP") {
		t.Skipf("/proc cannot be taken away: %v %s", err, out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func lookWithoutProc(t *testing.T, dir string) {
	if err := unix.Mount("none", "/proc", "tmpfs", 0, ""); err != nil {
		t.Skip(err)
	}
	_, err := OpenDirectory(dir)
	_, in := OpenInput(dir+"/file", inside(dir, nil))
	_, out := OpenOutput(dir+"/file", inside(dir, nil))
	_, fresh := OpenOutput(dir+"/new", inside(dir, nil))
	for what, err := range map[string]error{"directory": err, "input": in, "output": out, "new output": fresh} {
		if !errors.Is(err, ErrNoProc) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := OpenDirectory(dir + "/missing"); err != unix.ENOENT {
		t.Errorf("one that is missing: %v", err)
	}
	os.Exit(map[bool]int{true: 1}[t.Failed()]) // The checks at the end of TestMain need /proc.
}

// If the path cannot be examined, Stays returns an error and does not report that the directory is gone.
func TestStays(t *testing.T) {
	dir := t.TempDir() + "/dir"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if stays, err := d.Stays(); !stays || err != nil {
		t.Errorf("it is there: %v, %v", stays, err)
	}
	d.real = "/" + strings.Repeat("n", 256)
	if stays, err := d.Stays(); stays || !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("what cannot be looked at: %v, %v", stays, err)
	}
	d.real = dir
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	if stays, err := d.Stays(); stays || err != nil {
		t.Errorf("it was moved: %v, %v", stays, err)
	}
}
