package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// This is the helper of TestWaiting: shelld-waits MODE. A mode that waits writes the time to the file reads just before
// the system call that waits, and after it has read.
func init() { programs["shelld-waits"] = waits }

func waits() {
	mode := os.Args[1]
	if do := waitsBusy[mode]; do != nil {
		do()
	}
	do := waitsModes[mode]
	if do == nil {
		fmt.Fprintf(os.Stderr, "shelld-waits: nothing is known of %q\n", mode)
		os.Exit(3)
	}
	for {
		if do() == 0 {
			os.Exit(0)
		}
	}
}

var waitsLog = -1

func noted(what string) {
	if waitsLog < 0 {
		fd, err := unix.Open("reads", unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
		if err != nil {
			panic(err)
		}
		waitsLog = fd
	}
	if _, err := unix.Write(waitsLog, fmt.Appendf(nil, "%s %d\n", what, int64(monotonic()))); err != nil {
		panic(err)
	}
}

// readNoted waits with ready, or in the read itself, and returns the number of bytes read.
func readNoted(fd int, ready func()) int {
	var buf [4096]byte
	noted("before")
	if ready != nil {
		ready()
	}
	n, err := unix.Read(fd, buf[:])
	noted("after")
	if err != nil {
		panic(err)
	}
	return n
}

func say(text string) {
	if _, err := unix.Write(1, []byte(text)); err != nil {
		panic(err)
	}
}

func work(d time.Duration) {
	for end := monotonic() + d; monotonic() < end; {
	}
}

// setFlags changes a terminal's local modes.
func setFlags(off uint32) {
	t, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		panic(err)
	}
	t.Lflag &^= off
	if err := unix.IoctlSetTermios(0, unix.TCSETSF, t); err != nil {
		panic(err)
	}
}

func pollNoted(fds []unix.PollFd, timeout int) {
	for {
		if n, err := unix.Poll(fds, timeout); n > 0 && err == nil {
			return
		}
	}
}

func terminalIn(events int16) unix.PollFd { return unix.PollFd{Fd: 0, Events: events} }

var waitsModes = map[string]func() int{
	"line":   func() int { say("name? "); return readNoted(0, nil) },
	"silent": func() int { return readNoted(0, nil) },
	"secret": func() int { setFlags(unix.ECHO); say("\nPIN: "); return readNoted(0, nil) },
	"key":    func() int { setFlags(unix.ECHO | unix.ICANON); say("press a key"); return readNoted(0, nil) },
	"tty": func() int {
		fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			panic(err)
		}
		defer unix.Close(fd)
		say("at the terminal: ")
		return readNoted(fd, nil)
	},
	"later":      func() int { say("soon: "); time.Sleep(300 * time.Millisecond); return readNoted(0, nil) },
	"much later": func() int { say("later: "); time.Sleep(1200 * time.Millisecond); return readNoted(0, nil) },
	"works":      func() int { say("after this: "); work(300 * time.Millisecond); return readNoted(0, nil) },
	"in parts": func() int {
		for _, c := range "a prompt in parts: " {
			say(string(c))
			time.Sleep(7 * time.Millisecond)
		}
		return readNoted(0, nil)
	},
	"after much": func() int {
		for range 2000 {
			say("a line of output that nobody reads\r\n")
		}
		say("all of it? ")
		return readNoted(0, nil)
	},
	"poll": func() int {
		say("poll: ")
		return readNoted(0, func() { pollNoted([]unix.PollFd{terminalIn(unix.POLLIN)}, -1) })
	},
	"poll, 2 s": func() int {
		say("poll: ")
		return readNoted(0, func() { pollNoted([]unix.PollFd{terminalIn(unix.POLLIN)}, 2000) })
	},
	"select": func() int {
		say("select: ")
		return readNoted(0, func() {
			var set unix.FdSet
			set.Set(0)
			for {
				if n, err := unix.Select(1, &set, nil, nil, nil); n > 0 && err == nil {
					return
				}
			}
		})
	},
	"epoll": func() int {
		say("epoll: ")
		fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			panic(err)
		}
		defer unix.Close(fd)
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, 0, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
			panic(err)
		}
		return readNoted(0, func() {
			for {
				if n, err := unix.EpollWait(fd, make([]unix.EpollEvent, 1), -1); n > 0 && err == nil {
					return
				}
			}
		})
	},
	"descriptor 9": func() int {
		if err := unix.Dup3(0, 9, 0); err != nil {
			panic(err)
		}
		say("nine: ")
		return readNoted(9, nil)
	},
	"other thread": func() int {
		say("in another thread: ")
		done := make(chan int)
		go func() { runtime.LockOSThread(); done <- readNoted(0, nil) }()
		return <-done
	},
}

// waitsBusy contains modes that never wait, or not only for the terminal. Each runs forever.
var waitsBusy = map[string]func(){
	"works, thread reads": func() {
		go func() { runtime.LockOSThread(); readForEver() }()
		for {
			work(time.Second)
		}
	},
	"sleeps, thread reads": func() {
		go func() { runtime.LockOSThread(); readForEver() }()
		for {
			nap(3600)
		}
	},
	"terminal and socket": func() {
		fds := []unix.PollFd{terminalIn(unix.POLLIN), {Fd: int32(listener()), Events: unix.POLLIN}}
		for {
			pollNoted(fds, -1)
		}
	},
	"server with keys": func() {
		fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			panic(err)
		}
		for _, in := range []int{0, listener()} {
			if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, in, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(in)}); err != nil {
				panic(err)
			}
		}
		say("Local: http://localhost:5173/  press h to show help\r\n")
		for {
			_, _ = unix.EpollWait(fd, make([]unix.EpollEvent, 1), -1) // Interrupted, it waits again.
		}
	},
	"key poll, 50 ms": func() {
		setFlags(unix.ECHO | unix.ICANON)
		for {
			_, _ = unix.Poll([]unix.PollFd{terminalIn(unix.POLLIN)}, 50) // No key is pressed.
			work(2 * time.Millisecond)
		}
	},
	"progress, poll 0": func() {
		for n := 0; ; n++ {
			say(fmt.Sprintf("\r%3d%% [y/N]? ", n%100))
			_, _ = unix.Poll([]unix.PollFd{terminalIn(unix.POLLIN)}, 0)
			time.Sleep(20 * time.Millisecond)
		}
	},
	"poll without POLLIN": func() {
		for {
			_, _ = unix.Poll([]unix.PollFd{terminalIn(0)}, -1)
		}
	},
	"output of select": func() {
		say("Password: ")
		for {
			var set unix.FdSet
			set.Set(0)
			_, _ = unix.Select(1, nil, nil, &set, &unix.Timeval{Sec: 5})
		}
	},
	"reads a pipe": func() {
		var fds [2]int
		if err := unix.Pipe2(fds[:], 0); err != nil {
			panic(err)
		}
		say("Continue? [y/N] ")
		for {
			_, _ = unix.Read(fds[0], make([]byte, 1))
		}
	},
	"input unread": func() { // It neither polls nor reads: typed input would stay unread.
		say("> ")
		for {
			nap(3600)
		}
	},
}

func readForEver() {
	for {
		_, _ = unix.Read(0, make([]byte, 1))
	}
}

// nap blocks the thread itself, as a program without a runtime would.
func nap(seconds int64) { _ = unix.Nanosleep(&unix.Timespec{Sec: seconds}, nil) }

func listener() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		panic(err)
	}
	return int(f.Fd())
}
