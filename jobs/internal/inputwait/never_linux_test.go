package inputwait_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// These programs do not wait for input, although their output looks as if they did.
func TestProgramsThatDoNot(t *testing.T) {
	python := func(code string) []string { return []string{"python3", "-u", "-c", code} }
	for _, test := range []struct {
		name   string
		prompt string
		args   []string
	}{
		{"sleep", "go on? [y/N] ", []string{"dash", "-c", "printf 'go on? [y/N] '; sleep 5"}},
		{"tail -f", "go on? ", []string{"bash", "-c", `f=$(mktemp); printf 'go on? ' >$f; exec 5<$f; rm $f; exec tail -f /dev/fd/5`}},
		{"before it reads", "name? ", python("import time; print('name? ', end=''); time.sleep(5); input()")},
		{"computes", "name? ", python("print('name? ', end='')\nwhile True: pass")},
		{"polls without waiting", "50% ", python("import select,time\nprint('50% ')\nwhile True: select.select([0],[],[],0); time.sleep(.01)")},
		{"polls for errors", "> ", python("import select\np=select.poll(); p.register(0,0); print('> ', end=''); p.poll()")},
		{"polls for what is urgent", "> ", python("import select\np=select.poll(); p.register(0,select.POLLPRI); print('> ', end=''); p.poll()")},
		{"polls for a half that is closed", "> ", python("import select\np=select.poll(); p.register(0,select.POLLRDHUP); print('> ', end=''); p.poll()")},
		{"the same in an epoll", "> ", python("import select\np=select.epoll(); p.register(0,select.EPOLLRDHUP|select.EPOLLPRI); print('> ', end=''); p.poll()")},
		{"select for what is exceptional", "> ", python("import select\nprint('> ', end=''); select.select([],[],[0])")},
		{"polls for room elsewhere", "> ", python("import select,socket\na,b=socket.socketpair(); p=select.poll(); p.register(a,1); print('> ', end=''); p.poll()")},
		{"serves", "> ", python("import http.server\nprint('> ', end='')\nhttp.server.HTTPServer(('127.0.0.1',0),http.server.SimpleHTTPRequestHandler).serve_forever()")},
		{"node timer", "> ", []string{"node", "-e", "process.stdout.write('> '); setInterval(()=>{}, 50)"}},
		{"child sleeps", "$ ", []string{"bash", "-c", "printf '$ '; sleep 60; :"}},
		{"waits for a fifo", "> ", []string{"bash", "-c", `mkfifo "$0"; printf '> '; cat "$0"; :`, filepath.Join(t.TempDir(), "fifo")}},
		{"getpid in a loop", "> ", python("import os\nprint('> ', end='')\nwhile True: os.getppid()")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onTerminal(t, test.args...).never(test.prompt, 700*time.Millisecond)
		})
	}
}

// A short timeout may be the timer of an event loop; the program then computes when it expires.
func TestShortTimeout(t *testing.T) {
	poll := `
import os, select, sys
print('> ', end='', flush=True)
while True:
    select.select([0], [], [], %s)
    %s
`
	t.Run("and idle", func(t *testing.T) {
		j := onTerminal(t, "python3", "-c", fmt.Sprintf(poll, "0.1", "pass"))
		j.waits("> ", listening, line, likely)
		if quiet := j.quiet(); quiet < 200*time.Millisecond {
			t.Errorf("believed after %v", quiet)
		}
	})
	t.Run("and busy", func(t *testing.T) {
		onTerminal(t, "python3", "-c", fmt.Sprintf(poll, "0.05", "sum(range(2000000))")).never("> ", 700*time.Millisecond)
	})
	t.Run("a timer that prints", func(t *testing.T) {
		j := onTerminal(t, "python3", "-c", fmt.Sprintf(poll, "0.18", "print('.', flush=True)"))
		j.never("> ", 700*time.Millisecond)
	})
	t.Run("a second", func(t *testing.T) {
		onTerminal(t, "python3", "-c", fmt.Sprintf(poll, "3", "pass")).waits("> ", reading, line, likely)
	})
	t.Run("read -t", func(t *testing.T) {
		onTerminal(t, "bash", "-c", "read -t 30 -p 'go? ' x").waits("go? ", reading, line, likely)
	})
}

// A program that waits for input and other things listens.
func TestListening(t *testing.T) {
	for _, test := range []struct{ name, code string }{
		{"poll with a socket", "import select,socket\na=socket.create_server(('127.0.0.1',0))\nselect.select([0,a],[],[])"},
		{"epoll with a socket", "import select,socket\na=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ne=select.epoll(); e.register(0,1); e.register(a,1); e.poll()"},
		{"the end of a socket", "import select,socket\na=socket.create_server(('127.0.0.1',0)); b=socket.create_connection(a.getsockname()); p=select.poll(); p.register(0,1); p.register(b,select.POLLRDHUP); p.poll()"},
		{"what is urgent of a socket", "import select,socket\na=socket.create_server(('127.0.0.1',0)); b=socket.create_connection(a.getsockname()); select.select([0],[],[b])"},
		{"what is urgent of a terminal", "import pty,select\nm,s=pty.openpty(); p=select.epoll(); p.register(0,1); p.register(m,select.EPOLLPRI); p.poll()"},
		{"half a pair of sockets", "import os,select,socket\na,b=socket.socketpair()\nif os.fork()==0: a.close(); b.recv(1)\nb.close()\nselect.select([0,a],[],[])"},
		{"a pipe to a child", "import select,subprocess\np=subprocess.Popen(['sleep','60'],stdout=subprocess.PIPE)\nselect.select([0,p.stdout],[],[])"},
		{"an inotify", "import ctypes,select; f=ctypes.CDLL(None).inotify_init(); select.select([0,f],[],[])"},
		{"a child's end", "import os,select,subprocess\np=subprocess.Popen(['sleep','60'])\nselect.select([0,os.pidfd_open(p.pid)],[],[])"},
		{"reader thread, main sleeps", "import sys,threading,time\nthreading.Thread(target=sys.stdin.readline,daemon=True).start()\ntime.sleep(60)"},
		{"reader thread, main computes", "import sys,threading\nthreading.Thread(target=sys.stdin.readline,daemon=True).start()\nwhile True: pass"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := onTerminal(t, "python3", "-u", "-c", "print('ready')\n"+test.code)
			j.waits("ready", listening, line, likely)
		})
	}
}

// A source by which only the program itself can wake itself up is not another source.
func TestOwnSources(t *testing.T) {
	for _, test := range []struct{ name, code string }{
		{"a pipe of its own", "r,w=os.pipe(); select.select([0,r],[],[])"},
		{"a fifo open both ways", "n=tempfile.mktemp(); os.mkfifo(n); f=os.open(n,os.O_RDWR); os.unlink(n); select.select([0,f],[],[])"},
		{"a pair of sockets", "import socket; a,b=socket.socketpair(); select.select([0,a],[],[])"},
		{"asyncio", "import asyncio,sys; l=asyncio.new_event_loop(); l.add_reader(0,print); l.run_forever()"},
		{"an eventfd", "f=os.eventfd(0); select.select([0,f],[],[])"},
		{"a nested epoll", "e=select.epoll(); e.register(0,1); g=select.epoll(); g.register(e,1); h=select.epoll(); h.register(g,1); h.poll()"},
		{"/dev/tty", "f=os.open('/dev/tty',os.O_RDONLY); select.select([f],[],[])"},
		{"many descriptors", "fs=[os.eventfd(0) for i in range(200)]; p=select.poll(); [p.register(f,1) for f in fs+[0]]; p.poll()"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onTerminal(t, "python3", "-u", "-c", "import os,select,tempfile\nprint('ready')\n"+test.code).waits("ready", reading, line, exact)
		})
	}
}

// A written line is consumed before the program counts as waiting again.
func TestConsumed(t *testing.T) {
	j := onTerminal(t, "cat")
	j.waits("", reading, line, exact)
	// Half a line does not count as unread, since the program cannot read it yet.
	j.write("half")
	j.waits("half", reading, line, exact)
	j.write("\n")
	for i := range 2000 {
		for start := time.Now(); !echoed(j.printed(), i); {
			if v := j.look(); v.Waiting && !echoed(j.printed(), i) {
				t.Fatalf("line %d: it waits before it has answered: %+v", i, v)
			}
			if time.Since(start) > deadline {
				t.Fatalf("line %d is not answered", i)
			}
		}
		j.write("half\n")
	}
}

func echoed(printed string, line int) bool { return len(printed) >= (line+1)*len("half\r\nhalf\r\n") }

func TestBlocked(t *testing.T) {
	// The output is not read.
	j := unread(t, "bash", "-c", "exec yes")
	v := j.await("blocked", func(v inputwait.Verdict) bool { return v.Blocked })
	if v.Waiting {
		t.Errorf("it waits as well: %+v", v)
	}
}

// Typed input may stop the output. A thread that then reads is not the whole job.
func TestBlockedAndRead(t *testing.T) {
	const code = `
import os, sys, termios, threading
attributes = termios.tcgetattr(0)
print('ready', flush=True)
termios.tcflow(1, termios.TCOOFF)
threading.Thread(target=os.write, args=(1, b'more'), daemon=True).start()
os.read(0, 1)
`
	j := onTerminal(t, "python3", "-c", code)
	v := j.await("blocked", func(v inputwait.Verdict) bool { return v.Blocked })
	for start := time.Now(); !v.Waiting; v = j.look() {
		if pause(); time.Since(start) > deadline {
			t.Fatalf("it is never listening: %+v", v)
		}
	}
	if v.State != listening || v.Confidence != likely || !v.Blocked {
		t.Errorf("%+v", v)
	}
}

// An edge-triggered epoll also asks for room for output, and the process is not blocked because of that.
func TestNotBlocked(t *testing.T) {
	const code = `
import select
e = select.epoll()
e.register(0, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
print('ready', flush=True)
while not e.poll()[0][1] & select.EPOLLIN: pass
`
	if v := onTerminal(t, "python3", "-c", code).waits("ready", reading, line, exact); v.Blocked {
		t.Errorf("%+v", v)
	}
}

func TestStopped(t *testing.T) {
	t.Run("itself", func(t *testing.T) {
		j := onTerminal(t, "bash", "-c", "kill -STOP $$; cat")
		if v := j.await("stopped", func(v inputwait.Verdict) bool { return v.Stopped }); v.Waiting {
			t.Errorf("it waits as well: %+v", v)
		}
	})
	t.Run("wanted to read in the background", func(t *testing.T) {
		j := onTerminal(t, "bash", "-c", "set -m; cat </dev/tty & wait; sleep 60")
		j.await("stopped", func(v inputwait.Verdict) bool { return v.Stopped && !v.Waiting })
	})
	t.Run("and continued", func(t *testing.T) {
		j := onTerminal(t, "python3", "-c", "import select; p=select.poll(); p.register(0,1); print('> ', flush=True); p.poll(60000)")
		j.waits("> ", reading, line, likely)
		j.signal(syscall.SIGSTOP)
		j.await("stopped", func(v inputwait.Verdict) bool { return v.Stopped && !v.Waiting })
		j.signal(syscall.SIGCONT)
		j.waits("> ", reading, line, likely)
	})
}
