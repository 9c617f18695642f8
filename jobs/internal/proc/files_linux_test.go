package proc

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var errOutside = errors.New("outside")

// inside returns an Allow that accepts the files in a directory. On its first call it first calls meanwhile, which
// changes something between the check of a file and its opening.
func inside(dir string, meanwhile func()) Allow {
	return func(real string) error {
		if meanwhile != nil {
			meanwhile()
			meanwhile = nil
		}
		if !strings.HasPrefix(real, dir+"/") {
			return errOutside
		}
		return nil
	}
}

// A yard has a directory in which files are allowed, and one in which they are not.
type yard struct {
	t       *testing.T
	in, out string
}

func newYard(t *testing.T) *yard {
	y := &yard{t, t.TempDir(), t.TempDir()}
	y.put(y.in+"/file", "inside")
	y.put(y.out+"/file", "outside")
	return y
}

func (y *yard) put(file, content string) { y.ok(os.WriteFile(file, []byte(content), 0o600)) }

func (y *yard) ok(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatal(err)
	}
}

// swap returns a function that replaces a file by a symlink.
func (y *yard) swap(name, to string) func() {
	return func() {
		_ = os.Remove(name) // It may not be there.
		y.ok(os.Symlink(to, name))
	}
}

func (y *yard) text(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// OpenInput opens the file that was checked, even if its path leads to another file by then.
func TestInputIsWhatWasLookedAt(t *testing.T) {
	y := newYard(t)
	y.swap(y.in+"/link", "file")()
	for _, name := range []string{"link", "file"} {
		f, err := OpenInput(y.in+"/"+name, inside(y.in, y.swap(y.in+"/"+name, y.out+"/file")))
		y.ok(err)
		b, err := io.ReadAll(f)
		if string(b) != "inside" || err != nil {
			t.Errorf("%s: read %q, error %v", name, b, err)
		}
		y.ok(f.Close())
		if f, err := OpenInput(y.in+"/"+name, inside(y.in, nil)); err != errOutside {
			t.Errorf("%s, swapped: %v, %v", name, f, err)
		}
		y.put(y.in+"/x", "inside")
		y.ok(os.Rename(y.in+"/x", y.in+"/file"))
	}
}

func TestOutputIsWhatWasLookedAt(t *testing.T) {
	for name, c := range map[string]struct {
		file      string
		meanwhile func(*yard) func()
		err       error  // the error of OpenOutput
		inside    string // the content of the original file afterwards
	}{
		"a file": {"/file", func(y *yard) func() {
			return func() { y.ok(os.Rename(y.in+"/file", y.in+"/got")); y.swap(y.in+"/file", y.out+"/file")() }
		}, nil, "written"},
		"a new file":             {"/got", nil, nil, "written"},
		"made by another":        {"/got", func(y *yard) func() { return func() { y.put(y.in+"/got", "x") } }, nil, "written"},
		"a symlink instead":      {"/got", func(y *yard) func() { return y.swap(y.in+"/got", y.out+"/file") }, errOutside, "outside"},
		"one that leads nowhere": {"/got", func(y *yard) func() { return y.swap(y.in+"/got", y.out+"/new") }, errOutside, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			var meanwhile func()
			if c.meanwhile != nil {
				meanwhile = c.meanwhile(y)
			}
			f, err := OpenOutput(y.in+c.file, inside(y.in, meanwhile))
			if err != c.err {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err == nil {
				y.ok(Empty(f))
				_, err = f.WriteString("written")
				y.ok(err)
				y.ok(f.Close())
			}
			if got := y.text(y.in + "/got"); !strings.Contains(got, c.inside) {
				t.Errorf("inside there is %q, want %q", got, c.inside)
			}
			if got := y.text(y.out + "/file"); got != "outside" {
				t.Errorf("outside there is %q", got)
			}
			if _, err := os.Lstat(y.out + "/new"); err == nil {
				t.Error("a file was made outside")
			}
		})
	}
}

// If a directory is moved away before the file in it is created, the file is created in the moved directory.
func TestOutputInAMovedDirectory(t *testing.T) {
	y := newYard(t)
	y.ok(os.Mkdir(y.in+"/dir", 0o700))
	f, err := OpenOutput(y.in+"/dir/new", inside(y.in, func() {
		y.ok(os.Rename(y.in+"/dir", y.in+"/moved"))
		y.ok(os.Symlink(y.out, y.in+"/dir"))
	}))
	y.ok(err)
	y.ok(f.Close())
	if _, err := os.Stat(y.in + "/moved/new"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(y.out + "/new"); err == nil {
		t.Error("a file was made outside")
	}
}

// Files are refused if opening them could block, or could affect a device.
func TestOpensOnlyRegularFiles(t *testing.T) {
	y := newYard(t)
	y.ok(unix.Mkfifo(y.in+"/fifo", 0o600))
	y.ok(os.Symlink("a", y.in+"/b"))
	y.ok(os.Symlink("b", y.in+"/a"))
	long := y.in + "/l0"
	y.ok(os.Symlink("nowhere", long))
	for i := range 45 {
		next := y.in + "/l" + string(rune('A'+i))
		y.ok(os.Symlink(filepath.Base(long), next))
		long = next
	}
	anything := func(string) error { return nil }
	for file, want := range map[string]error{
		y.in + "/fifo": ErrNotRegular, "/dev/zero": ErrNotRegular, "/dev/tty": ErrNotRegular, y.in: syscall.EISDIR,
		y.in + "/a": syscall.ELOOP, long: syscall.ELOOP, "/proc/self/comm": ErrOfServer, y.in + "/file/": syscall.ENOTDIR,
	} {
		if f, err := OpenInput(file, anything); err != want {
			t.Errorf("OpenInput %s: %v, %v; want %v", file, f, err, want)
		}
		if f, err := OpenOutput(file, anything); err != want {
			t.Errorf("OpenOutput %s: %v, %v; want %v", file, f, err, want)
		}
	}
	if f, err := OpenInput("/dev/null", inside(y.in, nil)); err != nil {
		t.Errorf("the null device: %v", err)
	} else {
		y.ok(f.Close())
	}
}

// The server's open files and its working directory cannot be reached by the links of /proc: these lead to something
// else in the job.
func TestProcLinksOfServer(t *testing.T) {
	y := newYard(t)
	f, err := os.OpenFile(y.in+"/file", os.O_RDWR, 0)
	y.ok(err)
	defer f.Close()
	before, err := os.ReadFile(f.Name())
	y.ok(err)
	held := procFD(int(f.Fd()))
	y.ok(os.Symlink(held, y.in+"/link"))
	anything := func(string) error { return nil }
	for _, name := range []string{held, y.in + "/link", "/dev/fd/" + filepath.Base(held), "/proc/self/cwd/new", "/proc/self/exe", "/proc/self/root" + y.in + "/file"} {
		if _, err := OpenInput(name, anything); err != ErrOfServer {
			t.Errorf("OpenInput %s: %v", name, err)
		}
		if _, err := OpenOutput(name, anything); err != ErrOfServer {
			t.Errorf("OpenOutput %s: %v", name, err)
		}
		if _, err := findWithout(name, 0); err != ErrOfServer {
			t.Errorf("without the kernel's help, %s: %v", name, err)
		}
	}
	if after, err := os.ReadFile(f.Name()); err != nil || string(after) != string(before) {
		t.Errorf("the file is %q, %v", after, err)
	}
}

func TestTextFile(t *testing.T) {
	for _, size := range []int{0, 1, 1 << 20} {
		text := strings.Repeat("x", size)
		f, err := TextFile(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if string(b) != text || err != nil {
			t.Errorf("read %d bytes of %d, error %v", len(b), size, err)
		}
		if _, err := f.WriteString("x"); !errors.Is(err, syscall.EBADF) {
			t.Errorf("a write: %v", err)
		}
		if w, err := os.OpenFile(procFD(int(f.Fd())), os.O_RDWR, 0); err == nil {
			if _, err := w.WriteString("x"); !errors.Is(err, syscall.EPERM) {
				t.Errorf("a write to the file opened anew: %v", err)
			}
			if err := w.Truncate(0); size > 0 && !errors.Is(err, syscall.EPERM) {
				t.Errorf("cutting it: %v", err)
			}
			_ = w.Close() // Nothing was written.
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
