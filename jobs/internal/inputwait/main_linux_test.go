package inputwait_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain checks that the tests leave no goroutine, no descriptor and no process behind.
func TestMain(m *testing.M) {
	// The programs must not inherit descriptors that the test process inherited: they might wait for a pipe among them.
	for _, fd := range descriptors() {
		unix.CloseOnExec(fd)
	}
	// Orphans of the programs become children of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "orphans are not seen:", err)
	}
	before := openFiles()
	code := m.Run()
	if code == 0 {
		code = leftovers(before)
	}
	os.Exit(code)
}

func leftovers(before int) int {
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		return 1
	}
	if now := openFiles(); now > before {
		fmt.Fprintln(os.Stderr, "descriptors are left:", now-before)
		return 1
	}
	for start := time.Now(); ; pause() {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case err == unix.ECHILD:
			return 0
		case err == nil && pid == 0 && time.Since(start) > deadline:
			fmt.Fprintln(os.Stderr, "processes are left")
			return 1
		}
	}
}

// openFiles counts this process's descriptors, without those of Go's poller.
func openFiles() (n int) {
	for _, fd := range descriptors() {
		if link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && !strings.HasPrefix(link, "anon_inode:[event") {
			n++
		}
	}
	return n
}

// descriptors returns this process's descriptors above stderr.
func descriptors() (all []int) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			all = append(all, fd)
		}
	}
	return all
}
