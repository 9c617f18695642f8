package front

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Both ways to keep descriptors from other programs do the same.
func TestCloseOnExec(t *testing.T) {
	for name, act := range map[string]func(first int) error{
		"by the kernel": CloseOnExec,
		"one by one":    func(first int) error { return closeOnExec("/proc/self/fd", first) },
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		fds := []uintptr{r.Fd(), w.Fd()}
		for _, fd := range fds {
			if _, err := unix.FcntlInt(fd, unix.F_SETFD, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := act(int(fds[1])); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, want := range []int{0, unix.FD_CLOEXEC} {
			if got, err := unix.FcntlInt(fds[i], unix.F_GETFD, 0); err != nil || got != want {
				t.Errorf("%s: the flags of %d from %d on are %d, %v", name, fds[i], fds[1], got, err)
			}
		}
		_, _ = r.Close(), w.Close()
	}
}
