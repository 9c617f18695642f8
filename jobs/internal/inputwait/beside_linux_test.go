package inputwait_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// If one thread reads and another waits for something else in any way, the process listens.
func TestBesideAReader(t *testing.T) {
	const head = `
import ctypes, fcntl, os, pty, select, signal, socket, struct, subprocess, sys, tempfile, threading, time
libc = ctypes.CDLL(None)
def timer(seconds, nanoseconds):
    f = libc.timerfd_create(1, 0)
    libc.timerfd_settime(f, 0, struct.pack('4q', seconds, nanoseconds, seconds, nanoseconds), None)
    return f
def beside(f, *args): threading.Thread(target=f, args=args, daemon=True).start()
a = socket.create_server(('127.0.0.1', 0))
beside(sys.stdin.readline)
print('ready')
`
	for _, test := range []struct{ name, code string }{
		{"a terminal of its own", "m, s = pty.openpty(); os.read(m, 1)"},
		{"an inotify", "os.read(libc.inotify_init(), 100)"},
		{"a timer, again and again", "t = timer(0, 300000000)\nwhile True: os.read(t, 8)"},
		{"a child's output", "subprocess.run(['sleep', '60'], stdout=subprocess.PIPE)"},
		{"a child's end", "subprocess.run(['sleep', '60'])"},
		{"a lock of a file", "f = tempfile.TemporaryFile(); g = os.open('/proc/self/fd/%d' % f.fileno(), os.O_RDWR); fcntl.flock(f, fcntl.LOCK_EX); fcntl.flock(g, fcntl.LOCK_EX)"},
		{"the input and a socket", "select.select([0, a], [], [])"},
		{"the input and a socket, first", "beside(select.select, [0, a], [], []); signal.pause()"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onTerminal(t, "python3", "-u", "-c", head+test.code).waits("ready", listening, line, likely)
		})
	}
}

// If one thread reads, and another waits only for a time, as for the timers of an event loop, or polls the input
// periodically, the process reads, but that is not exact.
func TestSiblingThreadWithTimeout(t *testing.T) {
	const head = `
import ctypes, os, select, struct, sys, threading
libc = ctypes.CDLL(None)
threading.Thread(target=sys.stdin.readline, daemon=True).start()
print('ready')
`
	for _, test := range []struct{ name, code string }{
		{"select with a short time", "while True: select.select([], [], [], .5)"},
		{"poll with a short time", "while True: select.poll().poll(500)"},
		{"select with a long time", "while True: select.select([], [], [], 20)"},
		{"an epoll with a timer", `
t = libc.timerfd_create(1, 0)
libc.timerfd_settime(t, 0, struct.pack('4q', 0, 300000000, 0, 300000000), None)
e = select.epoll()
e.register(t, 1)
while True: e.poll(); os.read(t, 8)`},
		{"select for input", "while True: select.select([0], [], [], .3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onTerminal(t, "python3", "-u", "-c", head+test.code).waits("ready", reading, line, likely)
		})
	}
}

// A wait in another thread does not count if only the program itself can end it, or if it never ends.
func TestHarmlessSiblingThread(t *testing.T) {
	const head = `
import os, select, signal, sys, threading
threading.Thread(target=sys.stdin.readline, daemon=True).start()
print('ready')
`
	for _, test := range []struct{ name, code string }{
		{"a signal", "signal.pause()"},
		{"an eventfd", "os.read(os.eventfd(0), 8)"},
		{"a pipe of its own", "r, w = os.pipe(); os.read(r, 1)"},
		{"poll of an eventfd", "select.select([os.eventfd(0)], [], [])"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onTerminal(t, "python3", "-u", "-c", head+test.code).waits("ready", reading, line, exact)
		})
	}
}

// The same for programs with the threads of the Go runtime.
func TestBesideGo(t *testing.T) {
	need(t, "go")
	for _, test := range []struct {
		name  string
		state inputwait.State
		code  string
	}{
		{"a ticker", reading, "for range time.Tick(300 * time.Millisecond) {}"},
		{"a child", listening, `_ = exec.Command("sleep", "60").Run()`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			code := `package main
import ("fmt"; "os"; "os/exec"; "time")
var _, _ = exec.Command, time.Tick
func main() { go os.Stdin.Read(make([]byte, 1)); fmt.Println("ready"); ` + test.code + "}\n"
			source, program := filepath.Join(dir, "program.go"), filepath.Join(dir, "program")
			if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			onTerminal(t, program).waits("ready", test.state, line, likely)
		})
	}
}
