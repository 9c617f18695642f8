package proc

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// watchdog is the time limit for operations that normally take milliseconds.
const watchdog = 30 * time.Second

// TestMain checks that the tests leak no goroutine and no descriptor.
func TestMain(m *testing.M) {
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
	for fd, link := range openFiles() {
		if before[fd] == "" && link != "anon_inode:[eventpoll]" && link != "anon_inode:[eventfd]" {
			fmt.Fprintln(os.Stderr, "a descriptor is left:", fd, link)
			return 1
		}
	}
	return 0
}

// openFiles returns this process's descriptors and their files. Without /proc it returns none.
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

// within runs f, and panics if f does not return in time.
func within[T any](t *testing.T, f func() T) T {
	t.Helper()
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case v := <-done:
		return v
	case <-time.After(watchdog):
		panic(t.Name() + " hangs")
	}
}
