package proc

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTerminalSize(t *testing.T) {
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = term.Close(), slave.Close() }()
	for _, size := range [][2]int{{80, 24}, {1, 1}, {65535, 65535}} {
		if err := term.Resize(size[0], size[1]); err != nil {
			t.Error(err)
		}
		ws, err := unix.IoctlGetWinsize(int(slave.Fd()), unix.TIOCGWINSZ)
		if err != nil || int(ws.Col) != size[0] || int(ws.Row) != size[1] {
			t.Errorf("size %+v, %v, want %v", ws, err, size)
		}
	}
	for _, size := range [][2]int{{0, 24}, {80, 0}, {-1, -1}, {65536, 24}} {
		if err := term.Resize(size[0], size[1]); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("resize to %v: %v", size, err)
		}
		if _, _, err := OpenTerminal(size[0], size[1]); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("open with %v: %v", size, err)
		}
	}
}

func TestAttrs(t *testing.T) {
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = term.Close(), slave.Close() }()
	want := Attrs{Canonical: true, Echo: true, Signals: true, CRToNL: true, EOF: 4, Intr: 3, Quit: 28, Susp: 26, Kill: 21, Erase: 127,
		Shown: EchoAttrs{Flow: true, Extended: true, Caret: true, EraseBack: true, KillLine: true, KillErases: true,
			Process: true, NLToCRNL: true, Start: 17, Stop: 19, Literal: 22, Reprint: 18, WordErase: 23}}
	if got, err := term.Attrs(); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	tio, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	tio.Lflag &^= unix.ECHO | unix.ISIG
	tio.Cc[unix.VINTR], tio.Cc[unix.VEOL] = 0, 'x'
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, tio); err != nil {
		t.Fatal(err)
	}
	want.Echo, want.Signals, want.Intr, want.EOL = false, false, 0, 'x'
	if got, err := term.Attrs(); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// The limit is that of the kernel: it drops the next byte.
func TestCanonicalLineLimit(t *testing.T) {
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = term.Close(), slave.Close() }()
	for _, extra := range []int{0, 1, 100} {
		line := append(make([]byte, CanonicalLineLimit+extra), '\n')
		for i := range CanonicalLineLimit + extra {
			line[i] = 'x'
		}
		if _, err := term.Sink().Write(line); err != nil {
			t.Fatal(err)
		}
		n := within(t, func() int {
			n, err := slave.Read(make([]byte, 2*len(line)))
			if err != nil {
				t.Error(err)
			}
			return n
		})
		if n != CanonicalLineLimit+1 {
			t.Errorf("%d bytes too many: %d arrived", extra, n)
		}
	}
}

func TestForegroundGroup(t *testing.T) {
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = term.Close(), slave.Close() }()
	if group, err := term.ForegroundGroup(); group != 0 || err != nil {
		t.Errorf("without a session: %d, %v", group, err)
	}
	pid, err := syscall.ForkExec("/bin/cat", []string{"cat"}, &syscall.ProcAttr{
		Files: []uintptr{slave.Fd(), slave.Fd(), slave.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if group, err := term.ForegroundGroup(); group != pid || err != nil {
		t.Errorf("got %d, %v, want %d", group, err, pid)
	}
	_ = term.Close() // The hang-up ends it: by the signal, or because its read fails just before.
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.Signal() != syscall.SIGHUP && ws.ExitStatus() != 1 {
		t.Errorf("cat: %v, %v", ws, err)
	}
}

func TestCloseTerminal(t *testing.T) {
	term, _ := openTerminal(t)
	reading, writing := make(chan result, 1), fill(t, term.Sink())
	go func() { reading <- read(term.Source(), make([]byte, 8))() }()
	awaitPoll(t)
	for range 2 {
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	}
	if r := within(t, func() result { return <-reading }); r != (result{err: os.ErrClosed}) {
		t.Errorf("read: %+v", r)
	}
	if r := within(t, func() result { return <-writing }); r.n <= 0 || r.err != os.ErrClosed {
		t.Errorf("write: %+v", r)
	}
	_, attrsErr := term.Attrs()
	_, groupErr := term.ForegroundGroup()
	for _, err := range []error{term.Resize(80, 24), attrsErr, groupErr} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	}
}

// Closing one half leaves the other, and the terminal, open.
func TestCloseHalf(t *testing.T) {
	term, slave := openTerminal(t)
	_ = term.Source().Close()
	if res := within(t, write(term.Sink(), []byte("x"))); res != (result{n: 1}) {
		t.Errorf("write: %+v", res)
	}
	_ = term.Sink().Close()
	if n, err := slave.Read(make([]byte, 8)); n != 1 || err != nil {
		t.Errorf("the slave: %d, %v", n, err)
	}
	if _, err := term.Attrs(); err != nil {
		t.Errorf("the terminal: %v", err)
	}
	_ = term.Close()
	if _, err := term.Attrs(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the terminal when closed: %v", err)
	}
}

// Resize must not put the master into blocking mode, since Close would not end Read then.
func TestResizeKeepsPoller(t *testing.T) {
	term, _ := openTerminal(t)
	if err := term.Resize(100, 50); err != nil {
		t.Fatal(err)
	}
	done := make(chan result, 1)
	go func() { done <- read(term.Source(), make([]byte, 8))() }()
	awaitPoll(t)
	_ = term.Close()
	if r := within(t, func() result { return <-done }); r.err != os.ErrClosed {
		t.Errorf("read: %+v", r)
	}
}

func TestOpenTerminalLeavesNothingBehind(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	before := openFiles()
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old) }()
	for extra := range 8 {
		limit := unix.Rlimit{Cur: uint64(lowestFree(t) + extra), Max: old.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		term, slave, err := OpenTerminal(80, 24)
		if err == nil {
			_, _ = term.Close(), slave.Close()
		} else if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("with %d descriptors: %v, want EMFILE", extra, err)
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
		if extra == 0 && err == nil {
			t.Error("a terminal without a descriptor")
		}
	}
	for fd, link := range openFiles() {
		if before[fd] == "" && strings.Contains(link, "/pt") {
			t.Errorf("descriptor %s is left: %s", fd, link)
		}
	}
}

// lowestFree returns the descriptor that the next open would get.
func lowestFree(t *testing.T) int {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	return int(f.Fd())
}
