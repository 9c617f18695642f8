package inputwait

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Signals cut a directory read short; that is not the end of the list.
func TestNumbersUnderSignals(t *testing.T) {
	const files = 500
	for range files {
		fd, err := unix.Dup(0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, thread := os.Getpid(), unix.Gettid()
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				_ = unix.Tgkill(self, thread, unix.SIGURG) // which the Go runtime uses itself
			}
		}
	}()
	defer func() { close(done); <-stopped }()
	var r reader
	p, err := r.open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for i := range 500 {
		if list, _ := p.numbers(nil, "fd", maxFiles); len(list) < files {
			t.Fatalf("list %d has %d", i, len(list))
		}
	}
}

func TestNumbersBound(t *testing.T) {
	var r reader
	p, err := r.open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	all, more := p.numbers(nil, "fd", maxFiles)
	if more {
		t.Error("there are more than all")
	}
	if list, more := p.numbers(nil, "fd", len(all)); len(list) != len(all) || more {
		t.Errorf("%d of %d, and more: %v", len(list), len(all), more)
	}
	if list, more := p.numbers(nil, "fd", 1); len(list) != 1 || !more {
		t.Errorf("1 of %d is %d, and more: %v", len(all), len(list), more)
	}
}

// A read of a long list returns no more than a page, however large the buffer is.
func TestLongList(t *testing.T) {
	r := reader{text: make([]byte, 1<<16)}
	p, err := r.open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	want, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	if got, err := p.file(1<<16, part{name: "smaps"}); err != nil || len(got) < min(len(want), 1<<16)/2 {
		t.Errorf("%d of %d, %v", len(got), len(want), err)
	}
}
