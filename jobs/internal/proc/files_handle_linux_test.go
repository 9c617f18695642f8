package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// handles is an opener as on the systems that can only ask an open file for its path.
var handles = opener{flags: unix.O_NONBLOCK | unix.O_NOCTTY, real: func(f *os.File) (path string, err error) {
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { path, err = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd))) })
	}
	return path, err
}}

func TestHandleInput(t *testing.T) {
	y := newYard(t)
	fifo := y.in + "/fifo"
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{y.in + "/file", y.out + "/link"}, {y.out + "/file", y.in + "/link"}} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Fatal(err)
		}
	}
	y.put(y.out+"/file", "outside")
	for _, test := range []struct {
		path string
		want error
	}{
		{y.in + "/file", nil},
		{y.out + "/link", nil}, // The target of a link counts.
		{y.in + "/link", errOutside},
		{y.out + "/file", errOutside},
		{y.in + "/none", fs.ErrNotExist},
		{y.in, syscall.EISDIR},
		{fifo, ErrNotRegular},
		{"/dev/zero", ErrNotRegular},
		{os.DevNull, nil},
	} {
		f, err := opened(t, func() (*os.File, error) { return handles.openInput(test.path, inside(y.in, nil)) })
		if !errors.Is(err, test.want) || (test.want == nil) != (f != nil) {
			t.Errorf("%s: %v, want %v", test.path, err, test.want)
		}
		if f != nil {
			_ = f.Close()
		}
	}
}

// If a file is replaced between the check and the open, the new one is checked too.
func TestHandleSwapped(t *testing.T) {
	y := newYard(t)
	path, fifo := y.in+"/file", y.in+"/fifo"
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0) // Without a reader, opening it for writing would fail.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	swapping := handles
	swapping.real = func(f *os.File) (string, error) {
		return handles.real(reader) // as if the fifo had been opened
	}
	if _, err := swapping.openOutput(path, inside(y.out, nil)); !errors.Is(err, errOutside) {
		t.Errorf("what was opened lies elsewhere: %v", err)
	}
}

func TestHandleOutput(t *testing.T) {
	y := newYard(t)
	if err := os.Symlink("made", y.in+"/nowhere"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(y.out+"/made", y.in+"/away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", y.in+"/loop"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, makes string
		want        error
	}{
		{y.in + "/new", y.in + "/new", nil},
		{y.in + "/nowhere", y.in + "/made", nil},
		{y.in + "/away", "", errOutside},
		{y.out + "/new", "", errOutside},
		{y.in + "/none/new", "", fs.ErrNotExist},
		{y.in + "/loop", "", syscall.ELOOP},
		{y.in + "/", "", syscall.EISDIR},
	} {
		f, err := handles.openOutput(test.path, inside(y.in, nil))
		if !errors.Is(err, test.want) || (test.want == nil) != (f != nil) {
			t.Errorf("%s: %v, want %v", test.path, err, test.want)
			continue
		}
		if f == nil {
			continue
		}
		_ = f.Close()
		if _, err := os.Lstat(test.makes); err != nil {
			t.Errorf("%s: %v", test.path, err)
		}
	}
	if made, _ := filepath.Glob(y.out + "/*made*"); len(made) > 0 {
		t.Errorf("made outside: %s", strings.Join(made, " "))
	}
}

func TestHandleEmpty(t *testing.T) {
	y := newYard(t)
	f, err := handles.openOutput(y.in+"/file", inside(y.in, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if text, _ := os.ReadFile(y.in + "/file"); string(text) != "inside" {
		t.Errorf("opening has left %q", text)
	}
	if err := emptyFile(f); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(y.in + "/file"); len(text) > 0 {
		t.Errorf("emptied, it has %q", text)
	}
}

func opened(t *testing.T, open func() (*os.File, error)) (*os.File, error) {
	type result struct {
		f   *os.File
		err error
	}
	r := within(t, func() result { f, err := open(); return result{f, err} })
	return r.f, r.err
}
