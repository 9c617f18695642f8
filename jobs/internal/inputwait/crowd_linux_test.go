package inputwait_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// If there is more than a probe examines, nothing is exact.
func TestProbeLimit(t *testing.T) {
	t.Run("threads", func(t *testing.T) {
		const code = `
import sys, threading, time
threading.stack_size(65536)
threading.Thread(target=sys.stdin.readline).start()
held = threading.Lock(); held.acquire()
for i in range(300): threading.Thread(target=held.acquire, daemon=True).start()
print("ready", flush=True)
held.acquire()
`
		onTerminal(t, "python3", "-c", code).waits("ready", listening, line, likely)
	})
	t.Run("processes", func(t *testing.T) {
		onTerminal(t, "bash", "-c", "for i in {1..520}; do sleep 600 & done; echo ready; read z </dev/tty").waits("ready", listening, line, likely)
	})
}

// The cost of a probe is bounded, however many files a process has open.
func TestCost(t *testing.T) {
	const enough = 60 * time.Millisecond // of processor time; it took seconds before it was bounded
	for name, code := range map[string]string{
		"sockets to another": `
import os, select, socket
e = select.epoll()
pairs = [socket.socketpair() for i in range(400)]
for a, _ in pairs: e.register(a, 1)
if os.fork() == 0: select.select([], [], [])
for _, b in pairs: b.close()
`,
		"pipes to another": `
import os, select
e = select.epoll()
pairs = [os.pipe() for i in range(400)]
for r, _ in pairs: e.register(r, 1)
if os.fork() == 0: select.select([], [], [])
for _, w in pairs: os.close(w)
`,
		"nested epolls": `
import os, select
e = select.epoll()
leaves = [select.epoll() for i in range(300)]
middle = [select.epoll() for i in range(300)]
for m in middle:
    try:
        for l in leaves: m.register(l, 1)
        e.register(m, 1)
    except OSError: pass
`,
	} {
		t.Run(name, func(t *testing.T) {
			j := onTerminal(t, "python3", "-u", "-c", code+"e.register(0, 1)\nprint('ready')\ne.poll()")
			j.waits("ready", listening, line, likely)
			least := int64(time.Hour)
			for range 3 {
				before := processorTime()
				j.prober.Look(time.Millisecond)
				least = min(least, processorTime()-before)
			}
			t.Log(time.Duration(least))
			if least > int64(enough) {
				t.Errorf("a look takes %v of a processor's time", time.Duration(least))
			}
		})
	}
}

// A descriptor is examined once, however often it occurs in a poll.
func TestTheSameAgain(t *testing.T) {
	const code = `
import ctypes, resource, struct
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
print('ready', flush=True)
ctypes.CDLL(None).poll(struct.pack('ihh', 0, 1, 0) * 20000, 20000, -1)
`
	j := onTerminal(t, "python3", "-c", code)
	j.waits("ready", reading, line, exact)
	j.prober.Look(0)
	if n := inputwait.Work(j.prober); n > 1000 {
		t.Errorf("a look does %d system calls", n)
	}
}

// The input is found among many sources.
func TestManySources(t *testing.T) {
	const many = "import os, resource, select\nresource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))\n"
	for name, code := range map[string]string{
		"epoll":   "e = select.epoll(); fs = [os.dup(0) for i in range(2000)]; [e.register(f, 0) for f in fs[:-1]]; e.register(fs[-1], 1)",
		"poll":    "v = os.eventfd(0); e = select.poll(); [e.register(os.dup(v), 1) for i in range(1500)]; e.register(0, 1)",
		"another": "v = os.eventfd(0); e = select.poll(); [e.register(os.dup(v), 1) for i in range(1500)]; e.register(os.dup(0), 1)",
	} {
		t.Run(name, func(t *testing.T) {
			onTerminal(t, "python3", "-u", "-c", many+code+"\nprint('ready')\ne.poll()").waits("ready", reading, line, exact)
		})
	}
}

// A program that passes the largest possible count to select does not have more files open because of that.
func TestSelectOfMany(t *testing.T) {
	const code = `
import ctypes
print('ready', flush=True)
ctypes.CDLL(None).select(65536, b'\x01' + bytes(8191), None, None, None)
`
	onTerminal(t, "python3", "-c", code).waits("ready", reading, line, exact)
}

// A running thread next to a waiting one is also detected in other processes.
func TestThreadRunsElsewhere(t *testing.T) {
	const code = `
import threading
def burn():
    while True: pass
threading.Thread(target=burn).start()
print("ready", flush=True)
`
	j := onTerminal(t, "bash", "-c", `exec 3< <(exec python3 -c "$0"); read -u 3 x; echo $x; read z </dev/tty`, code)
	j.waits("ready", listening, line, likely)
}

// A probe that relies on the last one detects that another process has begun to run.
func TestCachedProbeExpires(t *testing.T) {
	const code = `
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: 0)
print("pid", os.getpid(), flush=True)
signal.pause()
while True: pass
`
	j := onTerminal(t, "bash", "-c", `python3 -c "$0" & read z </dev/tty`, code)
	j.waits("\n", reading, line, exact)
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(j.printed(), "pid ")))
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; pause() { // Until it has reached pause.
		v := j.prober.Look(time.Hour)
		if v.Confidence == exact && inputwait.Rests(j.prober) > 0 {
			break
		}
		if time.Since(start) > deadline {
			t.Fatalf("no look relies on the last one: %+v", v)
		}
	}
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // so that it gets a processor
	if v := j.prober.Look(time.Hour); v.Confidence != likely || v.State != listening {
		t.Errorf("somebody runs, and it is %+v", v)
	}
}
